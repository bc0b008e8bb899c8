"""Repairs of one protocol: found, decided again for good, priced, ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..check import Limits, check
from ..contract import DEFAULT, Contract, contract_named
from ..decide_states import decide_states
from ..errors import StreamorderError
from ..protocol import Protocol, protocol
from ..verdict import Outcome
from .additions import KINDS, family
from .price import Price, price
from .redundant import Before, Redundant, in_every, redundant
from .rewrite import Unfit
from .search import ORDER, Finder, Set, edits_of
from .trial import Trials

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..verdict import Verdict
    from .additions import Addition
    from .edits import Edit
    from .inserts import Said
    from .program import Traced

CHECKS, SECONDS = 600, 20.0
"""How many programs are decided at most for one protocol, and how long."""

OFFERED = 6
"""How many repairs are offered at most."""

ALIKE = 2
"""How many other places are named for a repair of one kind."""

LIMITS = Limits(seconds=1.5)
"""What may be spent on each verdict of a repair; a proof that takes longer leaves HOLDS."""

MACHINE_STATES, MACHINE_SECONDS, MACHINE_STEPS = 20_000, 1.0, 3
"""What the second engine may spend on each repair that is offered."""


class Offer(NamedTuple):
    """A repair that was decided and may be offered.

    `verdicts` are those of the repaired protocol under every contract; `prices` its host stalls,
    `before` those of the protocol as it is; `redundant` the protocol's own synchronisation that the
    repair makes redundant; `confirmed` how far the second engine came; `others` are repairs of the
    same kind at other places, which were decided as well.
    """

    additions: tuple[Addition, ...]
    verdicts: tuple[Verdict, ...]
    prices: dict[str, Price]
    before: dict[str, Price]
    redundant: tuple[Redundant, ...] = ()
    confirmed: str = ""
    others: tuple[tuple[Addition, ...], ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its additions."""
        return tuple(addition.kind for addition in self.additions)

    @property
    def stalls(self) -> bool:
        """Whether the host stalls more than before, under some contract."""
        return any(
            self.prices[name].per_step > self.before[name].per_step
            or self.prices[name].weight > self.before[name].weight + 1e-9
            for name in self.prices
        )

    @property
    def may_stall(self) -> bool:
        """Whether the host may stall more than before, under some contract."""
        return any(
            self.prices[name].most_per_step > self.before[name].most_per_step
            for name in self.prices
        )

    @property
    def stalling(self) -> int:
        """0 where the host does not stall more than before, 1 where it may, 2 where it does."""
        return 2 if self.stalls else int(self.may_stall)

    @property
    def weight(self) -> float:
        """The host's stalls, where they are worst."""
        return max((found.weight for found in self.prices.values()), default=0.0)

    @property
    def ordered(self) -> float:
        """Which share of the device's operations cannot overlap, where that is most."""
        return max((found.ordered for found in self.prices.values()), default=0.0)

    def instructions(self) -> list[Said]:
        """What to write where, in order."""
        return instructions(self.additions)

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "additions": additions_as_data(self.additions),
            "host_stall": self.stalls,
            "may_stall": self.may_stall,
            "verdicts": {verdict.contract: verdict.verdict for verdict in self.verdicts},
            "host_stalls_per_step": {
                name: {"before": self.before[name].per_step, "after": found.per_step}
                for name, found in self.prices.items()
            },
            "stalls": {
                name: [stall.as_data() for stall in found.stalls]
                for name, found in self.prices.items()
            },
            "stalls_that_may_be": {
                name: [stall.as_data() for stall in found.may_stall]
                for name, found in self.prices.items()
            },
            "unordered_pairs": {
                name: {"before": self.before[name].free, "after": found.free, "of": found.pairs}
                for name, found in self.prices.items()
            },
            "makes_redundant": [one.as_data() for one in self.redundant],
            "confirmed": self.confirmed,
            "alike": [additions_as_data(additions) for additions in self.others],
        }


def instructions(additions: tuple[Addition, ...]) -> list[Said]:
    """What to write where, in order."""
    return [said for addition in additions for edit in addition.edits for said in edit.said()]


def additions_as_data(additions: tuple[Addition, ...]) -> list[dict[str, Any]]:
    """Additions as plain data."""
    return [
        {
            "kind": addition.kind,
            "words": KINDS[addition.kind],
            "edits": [as_data(said) for said in instructions((addition,))],
        }
        for addition in additions
    ]


def as_data(said: Said) -> dict[str, Any]:
    """An instruction as plain data."""
    where = said.where
    return {
        "side": said.side,
        "file": where.file if where else None,
        "line": where.line if where else None,
        "code": said.code,
    }


class Repairs(NamedTuple):
    """What can be said of one protocol's repair.

    - `verdicts` are those of the protocol as it is; `offers` the repairs, the best first;
    - `redundant` lists its synchronisation that orders nothing that matters;
    - `decided` counts the programs that the search decided, `tried` the sets of additions by kind;
    - `spent` says why the search ended early, None when it came to its end.
    """

    name: str
    contracts: tuple[str, ...]
    steps: int
    verdicts: tuple[Verdict, ...]
    offers: tuple[Offer, ...]
    redundant: tuple[Redundant, ...]
    decided: int
    tried: dict[str, int]
    spent: str | None

    @property
    def refuted(self) -> bool:
        """Whether the protocol is refuted under some contract."""
        return any(verdict.outcome is Outcome.REFUTED for verdict in self.verdicts)

    @property
    def exit_code(self) -> int:
        """0 when there is nothing to repair or a repair is offered; 3 when the budget ended before
        one was found, or the protocol is undetermined; else 1.
        """
        if self.offers:
            return 0
        if self.refuted:
            return 3 if self.spent else 1
        return max(verdict.outcome.exit_code for verdict in self.verdicts)

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "name": self.name,
            "verdicts": {verdict.contract: verdict.verdict for verdict in self.verdicts},
            "repairs": [offer.as_data() for offer in self.offers],
            "redundant": [one.as_data() for one in self.redundant],
            "programs_decided": self.decided,
            "tried": self.tried,
            "spent": self.spent,
        }


def repair(
    target: Protocol | Callable[..., None],
    contracts: Sequence[str | Contract] = DEFAULT,
    *,
    steps: int | None = None,
    most: int = OFFERED,
    prove: bool = True,
    checks: int = CHECKS,
    seconds: float = SECONDS,
    **parameters: Any,
) -> Repairs:
    """Minimal repairs of a protocol that hold under every one of some contracts.

    Args:
        target: a protocol, or a plain function `f(gpu, ...)`.
        contracts: names or contracts; by default CUDA's and HIP's.
        steps: how often the step loop runs while repairs are searched; by default enough to refute.
            What is offered is decided for every number of steps where that can be.
        most: how many repairs to offer.
        prove: whether to try a proof for every number of steps, of the protocol and of each offer.
        checks: how many edited programs may be decided.
        seconds: how long the search may take.
        parameters: the protocol's own, such as `slots=3`.

    Raises:
        BadInput: the protocol or an argument is wrong.
    """
    target = target if isinstance(target, Protocol) else protocol()(target)
    promised = [contract_named(c) if isinstance(c, str) else c for c in contracts]
    verdicts = tuple(
        check(target, c, steps=steps, prove=prove, limits=LIMITS, **parameters) for c in promised
    )
    size = max([4, *(verdict.steps or 0 for verdict in verdicts)]) if steps is None else steps
    trials = Trials(target.bind(parameters), promised, size, checks=checks, seconds=seconds)
    if steps is None:
        trials.shorten()
    return Workshop(target.name, trials, verdicts, prove=prove).repairs(most)


class Workshop:
    """Everything that is known of one protocol while it is repaired."""

    def __init__(
        self, name: str, trials: Trials, verdicts: tuple[Verdict, ...], *, prove: bool
    ) -> None:
        self.name = name
        self.trials = trials
        self.verdicts = verdicts
        self.prove = prove
        self.before = self.prices(frozenset())

    def repairs(self, most: int) -> Repairs:
        """Find, decide and rank repairs; list what is redundant."""
        trouble = self.trials.trouble(frozenset())
        finder = None if trouble is None else Finder(self.trials, trouble)
        found = [] if finder is None else finder.repairs()
        spent = None if finder is None or finder.complete or not self.trials.over else self.spent()
        decided = self.trials.count
        offers = self.offers(found, most)
        self.trials.more(SECONDS)
        idle = self.idle(frozenset(), self.verdicts)
        offers = [self.completed(offer) for offer in offers]
        after = [(edits_of(frozenset(offer.additions)), offer.redundant) for offer in offers]
        return Repairs(
            self.name,
            tuple(contract.name for contract in self.trials.contracts),
            self.trials.steps,
            self.verdicts,
            tuple(offers),
            tuple(in_every(idle, after)),
            decided,
            {} if finder is None else finder.tried,
            spent,
        )

    def spent(self) -> str:
        """Why the search ended early."""
        return (
            f"the search ended early: {self.trials.count} programs decided and more to try; "
            "other repairs may exist"
        )

    # --- offers ---

    def offers(self, found: list[Set], most: int) -> list[Offer]:
        """The repairs that hold for good, the best first; those of one kind are one offer."""
        ranked = sorted(undominated([self.priced(additions) for additions in found]), key=rank)
        held: dict[tuple[str, ...], Offer] = {}
        for offer in ranked:
            kinds = tuple(sorted(map(family, offer.kinds)))
            known = held.get(kinds)
            if (known is None and len(held) == most) or (known and len(known.others) == ALIKE):
                continue
            verdicts = self.decided(offer.additions)
            if not all(map(good, verdicts)):
                continue
            if known is None:
                held[kinds] = offer._replace(verdicts=verdicts)
            else:
                held[kinds] = known._replace(others=(*known.others, offer.additions))
        return list(held.values())

    def priced(self, additions: Set) -> Offer:
        """A repair with its price."""
        ordered = tuple(sorted(additions, key=lambda a: (ORDER[a.kind], repr(a.edits))))
        return Offer(ordered, (), self.prices(edits_of(additions)), self.before)

    def prices(self, edits: frozenset[Any]) -> dict[str, Price]:
        """The host's stalls under each contract."""
        program = self.trials.program(edits)
        return {c.name: price(program, c, self.trials.steps) for c in self.trials.contracts}

    def decided(self, additions: tuple[Addition, ...]) -> tuple[Verdict, ...]:
        """The verdicts of the protocol with additions: proofs where they can be had."""
        return self.decided_with(edits_of(frozenset(additions)))

    def decided_with(self, edits: frozenset[Edit]) -> tuple[Verdict, ...]:
        """The verdicts of the protocol with edits."""
        target = Protocol(self.trials.program(edits), self.name, {}, {})
        return tuple(self.verdict(target, contract) for contract in self.trials.contracts)

    def verdict(self, target: Protocol, contract: Contract) -> Verdict:
        """A proof if it can be had, or as many steps as it takes; as many as were tried where these
        are too many. What is undetermined for another reason stays so, and is no repair.
        """
        found = check(target, contract, prove=self.prove, limits=LIMITS)
        early = (found.reason or "").startswith("the search ended early")
        if found.outcome is Outcome.UNDETERMINED and early:
            found = check(target, contract, steps=self.trials.steps, limits=LIMITS)
        return found

    def completed(self, offer: Offer) -> Offer:
        """An offer with what it makes redundant, and what the second engine says."""
        edits = edits_of(frozenset(offer.additions))
        idle = self.idle(edits, offer.verdicts)
        return offer._replace(redundant=idle, confirmed=self.confirmed(edits))

    def idle(self, edits: frozenset[Edit], verdicts: tuple[Verdict, ...]) -> tuple[Redundant, ...]:
        """The synchronisation that orders nothing in the protocol with edits."""
        findings = self.trials.findings(edits)
        if findings is None:
            return ()
        alone = all(v.outcome is Outcome.PROVED or v.executions <= 1 for v in verdicts)
        sure = self.for_good if alone else lambda _edits: True
        return tuple(redundant(self.trials, self.traced(), Before(edits, findings, sure)))

    def for_good(self, edits: frozenset[Edit]) -> bool:
        """Whether the protocol with edits also holds beyond the steps that are tried."""
        return not self.trials.over and all(map(good, self.decided_with(edits)))

    def confirmed(self, edits: frozenset[Any]) -> str:
        """Whether the machine agrees, on a few steps."""
        program = self.trials.program(edits)
        states = 0
        for contract in self.trials.contracts:
            try:
                found = decide_states(
                    program, MACHINE_STEPS, contract.readings()[0], (),
                    max_states=MACHINE_STATES, seconds=MACHINE_SECONDS,
                )  # fmt: skip
            except (StreamorderError, Unfit) as why:
                return f"machine: {why}"
            if found.spent:
                return f"machine: {found.spent}"
            if not found.holds:
                return f"machine: refuted under {contract.name} with {MACHINE_STEPS} steps"
            states += found.states
        return f"machine: holds, {MACHINE_STEPS} steps, {states} states"

    def traced(self) -> Traced:
        """The calls of the protocol as it is."""
        traced = self.trials.traced(frozenset())
        assert traced is not None
        return traced


def good(verdict: Verdict) -> bool:
    """Whether it holds."""
    return verdict.outcome in {Outcome.PROVED, Outcome.HOLDS}


def rank(offer: Offer) -> tuple[Any, ...]:
    """What makes a repair better than another."""
    kinds = sorted(ORDER[kind] for kind in offer.kinds)
    edits = sum(len(addition.edits) for addition in offer.additions)
    weight = round(offer.weight, 3)
    return offer.stalling, len(offer.additions), weight, offer.ordered, kinds, edits


def undominated(offers: list[Offer]) -> list[Offer]:
    """Without those that do what another one does and something more."""
    return [offer for offer in offers if not any(more_than(offer, other) for other in offers)]


def more_than(offer: Offer, other: Offer) -> bool:
    """Whether an offer has all kinds of additions of another one, and more."""
    left = [family(kind) for kind in offer.kinds]
    for kind in map(family, other.kinds):
        if kind not in left:
            return False
        left.remove(kind)
    return bool(left) and offer.stalling >= other.stalling
