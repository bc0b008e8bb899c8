"""Checking a protocol: from a function to a verdict."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from .contract import Contract, contract_named
from .decision import Decision
from .engines import ENGINES, OTHERS
from .errors import BadInput, NotModelled
from .may_wait import ways_left
from .order import decide
from .protocol import Protocol, protocol
from .reuse import IDLE_LOOP
from .sync import FALSES
from .verdict import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .gpu import Gpu
    from .proof import Proof
    from .verdict import MissingEdge

FIRST_SIZE, LARGEST_SIZE = 4, 64
"""Without a number of steps, a check doubles it from the first size while that reaches slots or
events that were not used twice before, up to the largest."""

PROOF_SECONDS = 10.0
"""How long a check tries to prove what holds before it is content with a bounded verdict."""

DOUBTED = "a proof's search and a bounded run find different things: please report this"

FARTHEST = 64
"""To how many steps a check looks where there is one way through the host's code."""


class Limits(NamedTuple):
    """How much a check may spend before it is UNDETERMINED: host schedules, states, seconds."""

    executions: int = 100_000
    states: int = 2_000_000
    seconds: float = 60.0


class Question(NamedTuple):
    """What is to be decided: a protocol bound to its parameters, an engine and its limits; with
    `until` (on `time.monotonic`) also what hangs past the first thing wrong.
    """

    target: Protocol
    body: Callable[[Gpu], None]
    parameters: dict[str, Any]
    engine: str
    limits: Limits
    until: float | None = None


def check(
    target: Protocol | Callable[..., None],
    contract: str | Contract | None = None,
    *,
    steps: int | None = None,
    engine: str = "order",
    limits: Limits | None = None,
    prove: bool = False,
    runtime: str | None = None,
    env: Mapping[str, str] | None = None,
    sweep: str | None = None,
    **parameters: Any,
) -> Verdict:
    """Decide a protocol under a contract.

    Args:
        target: a protocol, or a plain function `f(gpu, ...)`.
        contract: `cuda`, `hip`, `cuda-hmm`, or a `Contract`; by default the runtime's, else CUDA.
        steps: how often the step loop runs; by default enough to use each slot twice.
        engine: `order` (happens-before), `machine` (explicit states) or `sim` (SimPy).
        limits: what may be spent; past them the verdict is UNDETERMINED.
        prove: without `steps`, try to make a HOLDS a PROVED: for every number of steps. The command
            always tries.
        runtime: also say what a runtime makes of it: `cuda-13`, `rocm-7.2` or `rocm-10`.
        env: environment variables of that runtime, such as `{"GPU_MAX_HW_QUEUES": "1"}`.
        sweep: say it for several values: `queues=1..8`, `ring=2..4` or a variable of `env`.
        parameters: the protocol's own, such as `slots=3`.

    Raises:
        BadInput: the protocol or an argument is wrong.
    """
    target = target if isinstance(target, Protocol) else protocol()(target)
    promised = promised_by(contract, runtime, env, sweep)
    if engine not in ENGINES:
        raise BadInput(f"unknown engine {engine!r}: it is one of {', '.join(ENGINES)}")
    if steps is not None and (type(steps) is not int or steps < 1):
        raise BadInput(f"steps must be a positive whole number, not {steps!r}")
    question = Question(
        target,
        target.bind(parameters),
        {**target.parameters, **parameters},
        engine,
        limits or Limits(),
    )
    started = time.perf_counter()
    size = steps or FIRST_SIZE
    decisions = tried(question, promised, size)
    verdict = concluded(question, promised, size, decisions)
    if steps is None:
        proving = prove and engine == "order"
        verdict, size, decisions = of_any_size(question, promised, verdict, decisions, proving)
    if not verdict.as_expected and question.parameters != target.parameters:
        # What the catalogue states it states for the defaults.
        verdict = verdict._replace(expected=None)
    if steps is not None and verdict.outcome is Outcome.HOLDS and not verdict.as_expected:
        verdict = below_size(question, promised, verdict)
    if runtime is not None:
        size, decisions = for_runtimes(question, promised, verdict, size, decisions)
        verdict = there(question, promised, verdict, decisions, (size, runtime, env or {}, sweep))
    return verdict._replace(seconds=time.perf_counter() - started)


def of_any_size(
    question: Question,
    contract: Contract,
    verdict: Verdict,
    decisions: list[tuple[Contract, Decision]],
    proving: bool,
) -> tuple[Verdict, int, list[tuple[Contract, Decision]]]:
    """The verdict without a number of steps, from that for the first size: of every number if it
    can be proved, else of as many as use everything twice; and the decisions for these.
    """
    if proving and verdict.outcome is Outcome.HOLDS:
        verdict = for_every_size(question, contract, verdict)
    size = FIRST_SIZE
    if verdict.outcome is Outcome.HOLDS:
        size, decisions = grown(question, contract, decisions)
        why, verdict = verdict.unproved, concluded(question, contract, size, decisions)
        verdict = verdict._replace(unproved=why if verdict.outcome is Outcome.HOLDS else None)
    if proving and straight(decisions):
        verdict = looked_further(question, contract, verdict, size)
    return verdict, size, decisions


def for_runtimes(
    question: Question,
    contract: Contract,
    verdict: Verdict,
    size: int,
    decisions: list[tuple[Contract, Decision]],
) -> tuple[int, list[tuple[Contract, Decision]]]:
    """For how many steps runtimes are looked at. Where a hazard shows in more steps only, what one
    makes of fewer says nothing of it; where all is proved, those that use everything twice.
    """
    if verdict.outcome is Outcome.PROVED:
        return grown(question, contract, decisions)
    if verdict.steps is None or verdict.steps == size:
        return size, decisions
    return verdict.steps, tried(question, contract, verdict.steps)


def promised_by(
    contract: str | Contract | None,
    runtime: str | None,
    env: Mapping[str, str] | None,
    sweep: str | None,
) -> Contract:
    """The contract asked for, else the runtime's, else CUDA's; refuses what does not go together,
    before anything is decided.
    """
    if runtime is None:
        if env or sweep:
            raise BadInput(f"--{'env' if env else 'sweep'} needs a --runtime")
        contract = "cuda" if contract is None else contract
        return contract_named(contract) if isinstance(contract, str) else contract
    from .environment import entries_of
    from .profiles import profile_named
    from .sweeps import points

    profile = profile_named(runtime)
    entries_of(profile, env or {})
    swept = {
        variable for _value, variables, _fields in points(profile, sweep) for variable in variables
    }
    for variable in swept.intersection(env or {}):
        raise BadInput(f"--env {variable} and --sweep {sweep} set the same: leave one out")
    name = contract.name if isinstance(contract, Contract) else contract
    if name not in {None, profile.contract.name}:
        raise BadInput(f"{runtime} keeps the contract {profile.contract.name}, not {name}")
    return contract if isinstance(contract, Contract) else profile.contract


def there(
    question: Question,
    contract: Contract,
    verdict: Verdict,
    decisions: list[tuple[Contract, Decision]],
    place: tuple[int, str, Mapping[str, str], str | None],
) -> Verdict:
    """The verdict with what a runtime makes of it."""
    from .runtime import Asked, guarded, on_runtime
    from .sweeps import swept

    size, runtime, env, sweep = place
    deadline = time.monotonic() + question.limits.seconds
    if any(found.stopped for _c, found in decisions):
        question = question._replace(until=deadline)
        decisions = tried(question, contract, size)
    in_order = question._replace(engine="order")
    asked = Asked(
        guarded(lambda promised: by_reading(question, promised, size)),
        guarded(lambda promised: by_reading(in_order, promised, size)),
        contract,
        verdict.outcome,
        may_spin(question, contract, verdict.outcome, size, decisions),
        deadline,
    )
    if sweep is not None:
        return verdict._replace(sweep=swept(asked, runtime, env, sweep))
    return verdict._replace(runtime=on_runtime(asked, runtime, env))


def may_spin(
    question: Question,
    contract: Contract,
    outcome: Outcome,
    size: int,
    decisions: list[tuple[Contract, Decision]],
) -> bool:
    """Whether it waits for values; of a refuted one what no search has come to the end of may."""
    if any(found.spins for _c, found in decisions):
        return True
    if outcome is not Outcome.REFUTED or not any(d.spent or d.stopped for _c, d in decisions):
        return False
    in_order = tried(question._replace(engine="order"), contract, size)
    return any(found.spins or found.spent or found.stopped for _c, found in in_order)


def decided(
    question: Question, contract: Contract, steps: int | None
) -> tuple[int, list[tuple[Contract, Decision]]]:
    """Decide for the steps given, or for as many as it takes to use everything twice."""
    size = steps or FIRST_SIZE
    decisions = by_reading(question, contract, size)
    return (size, decisions) if steps else grown(question, contract, decisions)


def tried(question: Question, contract: Contract, size: int) -> list[tuple[Contract, Decision]]:
    """The decisions for a size; undecided where the protocol uses what is not modelled."""
    try:
        return by_reading(question, contract, size)
    except NotModelled as error:
        return [(contract, not_modelled(error))]


def grown(
    question: Question, contract: Contract, decisions: list[tuple[Contract, Decision]]
) -> tuple[int, list[tuple[Contract, Decision]]]:
    """From decisions for the first size on, as many steps as it takes to use everything twice."""
    size = FIRST_SIZE
    while size < LARGEST_SIZE and all(d.holds and d.once for _c, d in decisions):
        if any(
            d.branches and max(d.executions, d.states // 50) > size * size for _c, d in decisions
        ):
            break
        larger = tried(question, contract, size * 2)
        stuck = [d.once for _c, d in larger] == [d.once for _c, d in decisions]
        stuck &= not any(IDLE_LOOP in d.once for _c, d in larger)
        size, decisions = size * 2, larger
        if stuck:
            break
    return size, decisions


def for_every_size(question: Question, contract: Contract, verdict: Verdict) -> Verdict:
    """A bounded HOLDS made better: proved for every number of steps, or refuted by a larger one.
    Where the two do not agree it is none.
    """
    from .proof import Refuted
    from .prove import prove_readings

    seconds = min(PROOF_SECONDS, question.limits.seconds)
    found = prove_readings(question.body, contract, question.parameters, seconds)
    if isinstance(found, Refuted):
        size = max(1, found.steps)
        refuted = concluded(question, contract, size, tried(question, contract, size))
        if refuted.outcome is not Outcome.HOLDS:
            return refuted
        if found.steps:
            return verdict._replace(outcome=Outcome.UNDETERMINED, reason=DOUBTED)
        found = "with no steps at all it is refuted"
    if isinstance(found, str):
        return verdict._replace(unproved=found)
    return verdict._replace(
        outcome=Outcome.PROVED,
        steps=None,
        certificates=tuple(found),
        bounds=proved_bounds(found),
        warnings=(),
        waits=found[0].waits,
    )


def looked_further(question: Question, contract: Contract, verdict: Verdict, size: int) -> Verdict:
    """The same for more steps than were asked of anything, where that costs next to nothing: one
    way through the host's code. What holds is not said to hold for these, and a proof needs them
    no more than a sum needs to be added twice; a mistake of either would show.
    """
    while size < FARTHEST and verdict.outcome in {Outcome.HOLDS, Outcome.PROVED}:
        size *= 2
        found = concluded(question, contract, size, tried(question, contract, size))
        if found.outcome is Outcome.REFUTED:
            doubted = (DOUBTED,) if verdict.outcome is Outcome.PROVED else ()
            return found._replace(warnings=(*found.warnings, *doubted))
        if found.outcome is not Outcome.HOLDS:
            break
    return verdict


def straight(decisions: list[tuple[Contract, Decision]]) -> bool:
    """Whether there is one way through the host's code."""
    return not any(decision.branches for _contract, decision in decisions)


def proved_bounds(proofs: list[Proof]) -> tuple[str, ...]:
    """What a proof covers."""
    states = max(len(proof.states) for proof in proofs)
    if not states:
        return ("no step loop", "streams of unbounded depth")
    every = f"every number of steps ({states} state{'s' * (states != 1)})"
    return (every, "streams of unbounded depth")


def by_reading(
    question: Question, contract: Contract, steps: int
) -> list[tuple[Contract, Decision]]:
    """One decision for each way of keeping the uncertain promises that some call consults."""
    decisions: dict[Contract, tuple[Contract, Decision]] = {}
    consulted: set[str] = set()
    while True:
        waiting = [r for r in contract.readings(sorted(consulted)) if r not in decisions]
        if not waiting:
            return list(decisions.values())
        for reading in waiting:
            found = once(question, reading, contract.uncertain, steps)
            decisions[reading] = where_calls_wait(question, contract, (reading, found), steps)
            consulted |= decisions[reading][1].consulted


def where_calls_wait(
    question: Question, contract: Contract, found: tuple[Contract, Decision], steps: int
) -> tuple[Contract, Decision]:
    """R2.6, R2.7: what holds where calls return at once that may wait must not hang where some kind
    of them waits, or all; itself where nothing is to be asked, or nothing hangs.
    """
    for way in ways_left(*found):
        waits = once(question, way, contract.uncertain, steps)
        if not waits.holds or waits.spent:
            waits.consulted |= found[1].consulted
            waits.spent = waits.spent or found[1].spent
            if waits.hangs:  # a wait adds no hazard to a program that has none
                waits.hazards = waits.stopped = False
            return way, waits
    return found


def once(
    question: Question, contract: Contract, uncertain: tuple[str, ...], steps: int
) -> Decision:
    """One decision by the engine asked for."""
    limits = question.limits
    if question.engine == "machine":
        from .decide_states import decide_states

        return decide_states(
            question.body,
            steps,
            contract,
            uncertain,
            max_states=limits.states,
            seconds=limits.seconds,
            until=question.until,
        )
    if question.engine in OTHERS:
        other = OTHERS[question.engine]()
        return other(question.body, steps, contract, uncertain, limits)
    return decide(
        question.body, steps, contract, uncertain,
        max_executions=limits.executions, seconds=limits.seconds, until=question.until,
    )  # fmt: skip


def concluded(
    question: Question, contract: Contract, steps: int, decisions: list[tuple[Contract, Decision]]
) -> Verdict:
    """The verdict that the decisions support."""
    outcome, reason = outcome_of(contract, decisions)
    edges = tuple(found_edges(*decisions[0])) if outcome is Outcome.REFUTED else ()
    first = decisions[0][1]
    return Verdict(
        name=question.target.name,
        contract=contract.name,
        outcome=outcome,
        expected=question.target.expects.get(contract.name),
        engine=question.engine,
        steps=steps,
        parameters=question.parameters,
        ops=max(d.ops for _c, d in decisions),
        states=sum(d.states for _c, d in decisions),
        executions=sum(d.executions for _c, d in decisions),
        seconds=0.0,
        waits=first.waits if outcome is Outcome.HOLDS and question.engine == "order" else None,
        missing_edges=edges,
        bounds=tuple(bounds(steps, first)),
        warnings=tuple(warnings(outcome, first) + stalls(question, outcome, steps, decisions[0])),
        reason=reason,
        where=question.target.where,
    )


def outcome_of(
    contract: Contract, decisions: list[tuple[Contract, Decision]]
) -> tuple[Outcome, str | None]:
    """HOLDS or REFUTED when every reading agrees and every search is complete."""
    if not any(d.holds for _c, d in decisions):
        return Outcome.REFUTED, None
    spent = [d.spent for _c, d in decisions if d.holds and d.spent]
    if spent:
        return Outcome.UNDETERMINED, spent[0]
    if all(d.holds for _c, d in decisions):
        return Outcome.HOLDS, None
    fields = sorted({field for _c, d in decisions for field in d.consulted})
    rules = " ".join(" ".join((documented(field)).split()) for field in fields)
    return Outcome.UNDETERMINED, (
        f"it depends on a promise that {contract.name} leaves open ({', '.join(fields)}): {rules}"
    )


def documented(field: str) -> str:
    """What a contract's field says."""
    from .contract import FIELD_TEXTS

    return FIELD_TEXTS[field]


def found_edges(contract: Contract, decision: Decision) -> list[MissingEdge]:
    """Every distinct reason for a refutation, each with its counterexample.

    What waits for cells have seen, clocks may not know: what the machine found of such a program it
    shows by its own path.
    """
    from .reasons import reasons
    from .state_path import hang, hazard
    from .tree import edges_of, record

    assert decision.host is not None
    if decision.edges is not None:
        return decision.edges
    walk = decision.walk
    if walk is not None and decision.hang:
        return [hang(walk, contract)]
    if walk is not None and decision.spins:
        return [hazard(walk)]
    recordings = [record(decision.host, contract, steps) for steps in decision.bad]
    found = reasons(contract, recordings, edges_of(recordings))
    return found or ([hazard(walk)] if walk is not None else [])


def bounds(steps: int, decision: Decision) -> list[str]:
    """What a bounded verdict covers."""
    covered = [f"{steps} step{'s' if steps > 1 else ''}"]
    if decision.threads > 1:
        covered.append(f"{decision.threads} host threads")
    if decision.branches:
        covered.append("every choice and host schedule")
    if decision.bounded_queries:
        covered.append(f"queries that answer false at most {FALSES} times in a row")
    covered.append("streams of unbounded depth")
    if decision.spins:
        covered.append("streams that make progress independently")
    return covered


def warnings(outcome: Outcome, decision: Decision) -> list[str]:
    """What a reader of the verdict must know beside it."""
    said = []
    if outcome is Outcome.HOLDS and decision.once:
        names = ", ".join(decision.once[:4]) + (", ..." if len(decision.once) > 4 else "")
        said.append(
            f"used in one step only: {names}; a missing wait for them cannot show: check more steps"
        )
    if outcome is Outcome.REFUTED and decision.spent:
        said.append(f"more missing edges may exist: {decision.spent}")
    if decision.cut:
        said.append("missing edges were looked for in the first calls only")
    return said


def stalls(
    question: Question, outcome: Outcome, steps: int, decision: tuple[Contract, Decision]
) -> list[str]:
    """R1.2: whether a program that spins may hang where streams do not progress independently."""
    contract, found = decision
    if not found.spins or outcome is not Outcome.HOLDS:
        return []
    serial = contract._replace(streams_progress=False)
    for way in (serial, *ways_left(serial, found)):
        alone = once(question._replace(engine="machine"), way, (), steps)
        if alone.spent:
            return [f"whether it hangs where streams are serialised is undetermined: {alone.spent}"]
        if not alone.holds:
            break
    else:
        return []
    return ["it can hang where a waiting stream holds up the others, which R1.2 allows"]


def not_modelled(error: NotModelled) -> Decision:
    """The decision on a program that uses something that is not modelled: none."""
    found = Decision()
    found.spent = str(error)
    return found


def below_size(question: Question, contract: Contract, verdict: Verdict) -> Verdict:
    """A HOLDS where something else is expected: say whether it only needs more steps."""
    if verdict.expected is None:
        return verdict
    size, decisions = decided(question._replace(engine="order"), contract, None)
    if outcome_of(contract, decisions)[0].value != verdict.expected:
        return verdict
    note = f"below the size where it shows: {verdict.expected.lower()} with {size} steps"
    return verdict._replace(below_size=True, warnings=(*verdict.warnings, note))
