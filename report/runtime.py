"""What a runtime makes of a verdict, as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.runtime import EXPOSED, HIDDEN, NO_HANG, UNDECIDED
from ..model.verdict import Outcome, combined_exit_code
from ..model.waits_for import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..model.profiles import Entry, Reading
    from ..model.runtime import Findings, Hang, OnRuntime
    from ..model.verdict import Verdict
    from ..model.waits_for import Wait
    from .colour import Paint

HEAD = ("hazard", "maps that show it", "hang", "maps that hang", "by what is not followed")
"""The columns of a sweep, after the value."""


def runtime_lines(
    verdict: Verdict, found: OnRuntime, paint: Paint, *, evidence: bool
) -> Iterator[str]:
    """The profile, what it makes of hazards and of progress, and what that rests on."""
    with_ = "".join(f" {name}={value}" for name, value in found.env.items())
    yield f"  on {paint.bold(found.profile)}{with_}: {coloured(word_for(verdict, found), paint)}"
    yield from (f"     {line}" for line in findings_lines(verdict, found.found, paint))
    if evidence or matters(verdict, found):
        yield from (f"     {line}" for line in disagreements(verdict, found))
    if evidence:
        yield from (paint.dim(f"     {line}") for entry in found.entries for line in shown(entry))


def word_for(verdict: Verdict, found: OnRuntime) -> str:
    """The profile's answer in a few words."""
    hazard, hang = found.found.hazard, found.found.hang
    words = [hazard] if hazard else []
    if hang is not None:
        words.append(
            {UNDECIDED: "whether it hangs is undetermined"}.get(hang.outcome, hang.outcome)
        )
    if words:
        return ", ".join(words)
    if verdict.outcome is Outcome.REFUTED:
        return "refuted as by contract"
    return "safe as by contract"


def worst_there(verdict: Verdict) -> tuple[int, str]:
    """The worst exit code that a runtime, or a value of a sweep, gives a verdict; and what it is
    there.
    """
    code = combined_exit_code(found.exit_code(verdict.outcome) for found in verdict.there)
    for value, found in (("", verdict.runtime), *verdict.sweep):
        if found is not None and found.exit_code(verdict.outcome) == code:
            where = f" (value {value} of the sweep)" if value else ""
            return code, f"on {found.profile}{where}: {word_for(verdict, found)}"
    return code, ""


def coloured(words: str, paint: Paint) -> str:
    """Green for what is safe, red for what shows, yellow between."""
    if words in {"safe as by contract", NO_HANG}:
        return paint.green(words)
    shows = words.startswith((EXPOSED, "hangs", "refuted"))
    return paint.red(words) if shows else paint.yellow(words)


def findings_lines(verdict: Verdict, found: Findings, paint: Paint) -> Iterator[str]:
    """Maps, what hides, and who waits for whom."""
    if found.hazard is not None:
        yield from hazard_lines(found)
    if found.hang is not None:
        yield from hang_lines(found.hang, paint)
    elif verdict.outcome in {Outcome.PROVED, Outcome.HOLDS}:
        yield "a masking only adds order, and nothing here waits for a value: nothing can hang"
    if found.hazard is None and found.hang is None and verdict.outcome is Outcome.REFUTED:
        yield "no order of operations is missing: it is the same on every runtime"


def hazard_lines(found: Findings) -> Iterator[str]:
    """On how many maps a hazard shows, and which pairs of streams hide it by sharing a queue."""
    for choice in found.choices:
        where = f" with {choice.words}" if choice.words else ""
        if choice.shown == choice.maps:
            yield f"shown{where}: {maps_in_words(found, choice.maps)}"
        elif choice.shown:
            yield f"shown{where} on {choice.shown} of {maps_in_words(found, choice.maps)}"
        else:
            yield f"hidden{where}: {maps_in_words(found, choice.maps)}"
    if found.dynamic:
        yield "a stream's queue can change with every operation: no map proves it hidden"
    for pair in found.hidden_by:
        where = f", with {pair.where}" if pair.where else ""
        yield f"hidden where {pair.first} and {pair.second} share a queue{where}"
    if found.bounded:
        yield found.bounded
    if found.hazard == HIDDEN:
        yield "nothing is mended: the order that hides it is promised by nobody"


def maps_in_words(found: Findings, maps: int) -> str:
    """So many maps of so many streams to so many queues."""
    lanes = f"{len(found.lanes)} stream{'s' * (len(found.lanes) != 1)}"
    if found.queues is None:
        return f"{lanes}, each with a queue of its own"
    queues = f"{found.queues} queue{'s' * (found.queues != 1)}"
    if maps == 1:
        return f"the one map of {lanes} to {queues}"
    return f"{maps} maps of {lanes} to {queues}"


def hang_lines(hang: Hang, paint: Paint) -> Iterator[str]:
    """On how many maps it hangs, on which, and the cycle."""
    maps = f"{hang.maps} map{'s' * (hang.maps != 1)}"
    if hang.outcome == NO_HANG:
        yield f"no map of streams to queues makes it hang ({hang.maps} tried)"
    elif hang.where is not None:
        yield f"it hangs on {hang.shown} of {maps}, such as: {hang.where}"
        yield from (paint.red(line) for line in cycle_lines(hang.cycle))
    if hang.reason:
        yield hang.reason
    yield "assumed: hardware queues make progress independently of one another (R1.2)"


def cycle_lines(cycle: Sequence[Wait]) -> Iterator[str]:
    """Who waits for whom, each on a line, and why below it."""
    for number, wait in enumerate(cycle, 1):
        last = number == len(cycle)
        whom = wait.whom if wait.whom == NOBODY else "the first" if last else "the next"
        yield f"  {number}. {wait.who}"
        yield f"     waits for {whom}: {wait.why}"


def matters(verdict: Verdict, found: OnRuntime) -> bool:
    """Whether what is not followed would answer otherwise."""
    other = found.against
    return other is not None and word_for(verdict, found._replace(found=other)) != word_for(
        verdict, found
    )


def disagreements(verdict: Verdict, found: OnRuntime) -> Iterator[str]:
    """Where source and observation disagree: what is followed, what the other would make of it."""
    for entry in found.entries:
        if entry.against is not None:
            kinds = f"{entry.follows.kind} and {entry.against.kind}"
            yield f"{entry.about}: {kinds} disagree, the profile follows the first"
            yield from (f"  {line}" for line in (said(entry.follows), said(entry.against)))
    if found.against is not None:
        other = word_for(verdict, found._replace(found=found.against))
        shows = [one.words for one in found.against.choices if one.shown and one.words]
        yield f"by the second: {other}" + (f", shown with {' or '.join(shows)}" if shows else "")


def said(reading: Reading) -> str:
    """A reading with its evidence."""
    return f"{reading.kind}: {reading.says} ({reading.where})"


def shown(entry: Entry) -> Iterator[str]:
    """An entry with its evidence."""
    yield f"{entry.about}: {entry.follows.says}"
    yield f"  {entry.follows.kind}: {entry.follows.where}"
    if entry.against is not None:
        yield f"  against {said(entry.against)}"


def sweep_lines(verdict: Verdict, paint: Paint) -> Iterator[str]:
    """A table: one line a value."""
    rows = [(value, *cells(verdict, found)) for value, found in verdict.sweep]
    first = verdict.sweep[0][1]
    head = ("value", *HEAD)
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    yield f"  on {paint.bold(first.profile)}:"
    yield paint.dim("  " + "  ".join(map(str.ljust, head, widths)).rstrip())
    for row in rows:
        line = "  ".join(map(str.ljust, row, widths)).rstrip()
        yield "  " + line


def cells(verdict: Verdict, found: OnRuntime) -> tuple[str, ...]:
    """One value's line, without the value."""
    here = found.found
    shows = sum(choice.shown for choice in here.choices)
    maps = sum(choice.maps for choice in here.choices)
    hang = here.hang
    return (
        here.hazard or "-",
        f"{shows} of {maps}" if here.choices else "-",
        hang.outcome if hang else "-",
        f"{hang.shown} of {hang.maps}" if hang else "-",
        word_for(verdict, found._replace(found=found.against)) if found.against else "-",
    )
