"""Repairs as text for a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..model.repair.additions import KINDS
from ..model.repair.offers import instructions
from ..model.repair.places import source
from ..model.repair.redundant import leaves_out
from .colour import Paint
from .text import coloured

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.repair import Offer, Repairs
    from ..model.repair.additions import Addition
    from ..model.repair.inserts import Said
    from ..model.repair.price import Price, Stall
    from ..model.repair.redundant import Redundant
    from ..model.verdict import Verdict

PLAIN = Paint(False)


def repairs_text(found: Repairs, paint: Paint = PLAIN) -> str:
    """Everything about one protocol: its verdict, the repairs, what is redundant."""
    lines = [f"{paint.bold(found.name)}: {verdicts(found.verdicts, paint)}"]
    for number, offer in enumerate(found.offers, 1):
        lines += offer_text(number, offer, paint)
    if found.refuted and not found.offers:
        lines += nothing_found(found, paint)
    if found.spent:
        lines.append(paint.yellow(f"  note: {found.spent}"))
    lines += redundant_text(found, paint)
    return "\n".join(lines)


def verdicts(found: Iterable[Verdict], paint: Paint) -> str:
    """Verdicts, contracts with the same one together."""
    by_word: dict[str, list[Verdict]] = {}
    for verdict in found:
        covers = "" if verdict.steps is None else f" ({verdict.steps} steps)"
        by_word.setdefault(verdict.verdict + covers, []).append(verdict)
    said = []
    for word, alike in by_word.items():
        names = " and ".join(verdict.contract for verdict in alike)
        said.append(f"{coloured(alike[0].outcome, paint, word)} under {names}")
    return ", ".join(said)


def offer_text(number: int, offer: Offer, paint: Paint) -> list[str]:
    """One repair: what it is, what to write where, what it costs, what it was decided to be."""
    counted = Counter(KINDS[kind] for kind in offer.kinds)
    kinds = " + ".join(f"{n} × {kind}" if n > 1 else kind for kind, n in counted.items())
    lines = [f"  {number}. {paint.bold(kinds)} ({stall_word(offer, paint)})"]
    lines += edits_text(offer.additions, paint)
    for additions in offer.others:
        lines.append(f"     or: {in_one_line(additions)}")
    lines.append(f"     {verdicts(offer.verdicts, paint)}; {offer.confirmed}")
    lines.append(f"     {price_text(offer)}")
    lines += [f"     {line}" for line in new_stalls(offer)]
    for one in offer.redundant:
        lines.append(f"     then redundant: {one.where} {one.call}{for_download(one)}")
    return lines


def stall_word(offer: Offer, paint: Paint) -> str:
    """Whether the host stalls more than before."""
    if offer.stalls:
        return paint.yellow("host stall")
    return paint.yellow("the host may stall") if offer.may_stall else paint.green("no host stall")


def edits_text(additions: tuple[Addition, ...], paint: Paint) -> list[str]:
    """What to write where, under the source line that it is about."""
    lines: list[str] = []
    for said in instructions(additions):
        if said.where is None:
            lines.append(f"     {paint.green(said.code)}")
            continue
        lines.append(f"     {said.side} {said.where}: {paint.green(said.code)}")
        text = source(said.where)
        if text:
            lines.append(paint.dim(f"       | {text}"))
    return lines


def in_one_line(additions: tuple[Addition, ...]) -> str:
    """The edits of additions, one after another."""
    return "; ".join(edit_in_words(said) for said in instructions(additions))


def edit_in_words(said: Said) -> str:
    """An edit with its place."""
    return said.code if said.where is None else f"{said.side} {said.where} {said.code}"


def price_text(offer: Offer) -> str:
    """The host's stalls a step, before and after; what of the device's work may overlap."""
    counts = {
        name: f"{offer.before[name].per_step} → {after.per_step}"
        for name, after in offer.prices.items()
    }
    return f"host stalls a step: {by_contract(counts)}; {by_contract(overlaps(offer))}"


def overlaps(offer: Offer) -> dict[str, str]:
    """How many pairs of operations may overlap, under each contract."""
    return {
        name: f"{after.free} of {after.pairs} pairs of operations may overlap"
        for name, after in offer.prices.items()
    }


def by_contract(said: dict[str, str]) -> str:
    """What is said under each contract, once where it is the same."""
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{words} under {name}" for name, words in said.items())


def new_stalls(offer: Offer) -> list[str]:
    """The stalls that the repair adds, one line each."""
    said: dict[str, None] = {}
    for name, after in offer.prices.items() if offer.stalls else ():
        said.update(dict.fromkeys(map(stall_text, added(after.stalls, offer.before[name]))))
    for name, after in offer.prices.items() if offer.may_stall else ():
        said.update(dict.fromkeys(map(perhaps_text, added(after.may_stall, offer.before[name]))))
    return list(said)


def added(after: Iterable[Stall], before: Price) -> list[Stall]:
    """The stalls at lines where the host stalled less before, for sure or perhaps."""
    known = {stall.where: stall.per_step for stall in (*before.may_stall, *before.stalls)}
    return [stall for stall in after if stall.per_step > known.get(stall.where, 0)]


def stall_text(stall: Stall) -> str:
    """A stall: where, in which call, for how recent work."""
    recent = {None: "", 0: ", for work of the same step", 1: ", for work of the step before"}
    ago = recent.get(stall.lag, f", for work of {stall.lag} steps before")
    return f"the host stalls at {stall.where} in {stall.call}{ago}"


def perhaps_text(stall: Stall) -> str:
    """A copy that may wait: where, and by which rule."""
    return f"the copy at {stall.where} may wait: its memory is not pinned (R2.6)"


def nothing_found(found: Repairs, paint: Paint) -> list[str]:
    """What was tried in vain."""
    tried = ", ".join(f"{KINDS[kind]} ({count})" for kind, count in found.tried.items())
    lines = [paint.red(f"  no repair was found among {found.decided} programs decided")]
    if tried:
        lines.append(f"     tried: {tried}")
    elif not found.spent:
        lines.append("     no addition applies here: the order of the calls is at fault")
    return lines


def redundant_text(found: Repairs, paint: Paint) -> list[str]:
    """The protocol's own synchronisation that orders nothing."""
    return [f"  {paint.yellow('redundant')}: {said(one, found)}" for one in found.redundant]


def said(one: Redundant, found: Repairs) -> str:
    """A redundant synchronisation, and why."""
    what = f"{one.where} {one.call}"
    if one.download is not None:
        return what + for_download(one) + needed_by(one, found)
    if not found.refuted:
        return f"{what} orders nothing: without it the protocol still holds"
    rest = ", and each repair is one" if found.offers else ""
    return f"{what} orders nothing: without it the same is wrong{rest}"


def for_download(one: Redundant) -> str:
    """What a wait serves that cannot be left out by itself."""
    return f" orders nothing but its own download, {one.download}" if one.download else ""


def needed_by(one: Redundant, found: Repairs) -> str:
    """The repairs after which a wait that serves a download has to be where it is for more."""
    numbers = [
        str(number)
        for number, offer in enumerate(found.offers, 1)
        if all(other.where != one.where for other in offer.redundant)
        and not any(leaves_out(edit, one) for a in offer.additions for edit in a.edits)
    ]
    if not numbers:
        return ""
    verb = "repairs {} need" if len(numbers) > 1 else "repair {} needs"
    return f" ({verb.format(' and '.join(numbers))} it)"
