"""The simulator visits exactly the states that the machine has.

The two share the front end, and what they visit is counted quite differently: the machine keeps
states and steps from one to the next, the simulator carries out executions of SimPy processes from
the start. Verdict, states, steps between them, hangs, hazards, wrong versions and the memories in
which the program can end must all be equal.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA, HIP, catalogue, check
from streamorder.model.contract import contract_named
from streamorder.model.errors import BadProtocol, BudgetSpent, NotModelled
from streamorder.model.masking import CLASSES, SHARED, Masking

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = [
    pytest.param(name, contract, id=f"{name}-{contract}")
    for name, entry in catalogue().items()
    for contract in entry.expects
]
PREFILL = [(row.values[0], row.values[1]) for row in ROWS if "fp8-prefill" in str(row.values[0])]
PROFILES = ("mixed", "graphs", "memory", "signals", "wide", "threads", "questions", "trio")

# What random programs are made of; each must be in some of those compared.
FEATURES = {
    "null", "blocking", "device", "pinned", "pageable", "managed", "parts", "kernel copies",
    "memcpy", "memcpy_async", "memset", "memset_async", "write", "read", "wait", "poll",
    "query_event", "query_stream", "destroy", "lock", "bounded queue", "choose", "spawn", "join",
    "capture", "fork in graph", "event node", "host_func", "malloc", "free", "malloc_async",
    "free_async", "address reused", "source any", "device 1", "peer copy", "write_value",
    "wait_value", "set_cell", "wait_cell", "post_read", "post_write", "early True", "early waits",
    "idempotent", "per-thread",
}  # fmt: skip


def test_enough_entries() -> None:
    """The whole catalogue, with at least sixty entries, every FP8 prefill one among them."""
    assert len({row.values[0] for row in ROWS}) >= 60
    assert len({name for name, _contract in PREFILL}) >= 18


@pytest.mark.parametrize("steps", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_of_an_entry(name: str, contract: str, steps: int, both: Callable[..., Any]) -> None:
    """Every entry of the catalogue, under the weakest reading of each of its contracts."""
    body = catalogue()[name].bind({})
    machine, simulator = both(body, steps, contract_named(contract).readings()[0])
    assert simulator == machine


@pytest.mark.parametrize(("name", "contract"), PREFILL)
def test_the_verdict_of_check(name: str, contract: str) -> None:
    """`check` says the same by either engine, with two steps: reason, bounds and warnings too."""
    machine, simulator = (
        check(catalogue()[name], contract, steps=2, engine=engine) for engine in ("machine", "sim")
    )
    for field in ("outcome", "reason", "bounds", "warnings", "below_size"):
        assert getattr(simulator, field) == getattr(machine, field)
    if machine.verdict == "HOLDS":
        assert simulator.states == machine.states


@pytest.mark.slow
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_the_verdict_of_check_on_every_entry(name: str, contract: str) -> None:
    """The same with three steps, for all; what it finds is on lines that `order` names."""
    machine, simulator, order = (
        check(catalogue()[name], contract, steps=3, engine=engine)
        for engine in ("machine", "sim", "order")
    )
    assert simulator.outcome is machine.outcome
    pairs = {frozenset((e.first.where, e.second.where)) for e in order.missing_edges}
    kinds = {edge.kind for edge in order.missing_edges}
    for edge in simulator.missing_edges:
        if edge.kind == "deadlock":
            assert "deadlock" in kinds
        elif len(edge.counterexample) and edge.marks:
            assert frozenset((edge.first.where, edge.second.where)) in pairs


def compared(
    kit: Any, both: Callable[..., Any], profile: str, seeds: range, most: int
) -> Counter[str]:
    """Compare random programs, under CUDA's and HIP's readings by turns; what they were made of."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        program = kit.draw(seed, profile)
        contract = kit.engines.CONTRACTS[seed % 4]
        try:
            machine, simulator = both(kit.body(program, contract), program.steps, contract, most)
        except (BadProtocol, BudgetSpent, NotModelled) as error:
            counts[type(error).__name__] += 1
            continue
        assert simulator == machine, f"{profile} {seed} under {contract.name}"
        counts.update(kit.programs.features(program))
        counts["compared"] += 1
        counts["holds" if machine.holds else "refuted"] += 1
        counts["hangs"] += machine.deadlocks > 0
    return counts


def test_of_random_programs(kit: Any, both: Callable[..., Any]) -> None:
    """About a hundred small ones of all profiles, in which every feature occurs."""
    counts: Counter[str] = Counter()
    for profile in PROFILES:
        counts += compared(kit, both, profile, range(18), 150)
    assert counts["compared"] >= 70
    assert counts["BadProtocol"] + counts["NotModelled"] <= 2
    assert min(counts["holds"], counts["refuted"]) >= 22
    assert counts["hangs"] >= 6
    assert FEATURES - set(counts) == set()


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_of_many_random_programs(profile: str, kit: Any, both: Callable[..., Any]) -> None:
    """More than a thousand in all. What a quarter of the programs drawn have, a fifth of those that
    are compared have too: what is too large leaves no feature out.
    """
    counts = compared(kit, both, profile, range(1_000, 1_160), 4_000)
    assert counts["compared"] >= 125
    drawn = Counter(
        feature
        for seed in range(1_000, 1_160)
        for feature in kit.programs.features(kit.draw(seed, profile))
    )
    frequent = [feature for feature, count in drawn.items() if count >= 160 / 4]
    assert len(frequent) >= 10
    assert not {f: counts[f] for f in frequent if counts[f] < counts["compared"] / 5}


@pytest.mark.parametrize(
    "name", ["C20-signal-words/awaited-memset", "C71-full-launch-queue/own-queue"]
)
def test_where_streams_are_serialised(name: str, both: Callable[..., Any]) -> None:
    """R1.2: an unsatisfied wait may begin, and then holds up everything else."""
    body, serial = catalogue()[f"corpus/{name}"].bind({}), CUDA.readings()[0]
    machine, simulator = both(body, 2, serial._replace(streams_progress=False))
    assert simulator == machine
    assert machine.deadlocks
    assert both(body, 2, serial)[1].deadlocks == 0


MASKINGS = {
    "copies after all": Masking(copies_after_all=True),
    "host awaits all": Masking(awaits=CLASSES),
    "two places": Masking(ring=2),
    "first use drains": Masking(first_use_drains=True),
    "shared engines": Masking(copy_limit=0, engines=SHARED),
    "one queue": Masking(queues=((("compute", None), 0), (("NULL", None), 0)), records_queue=True),
}
MASKED = ("fp8-prefill/direct", "fp8-prefill/staged", "corpus/C50-output-thread/event-per-step")


@pytest.mark.parametrize("masking", MASKINGS.values(), ids=MASKINGS)
@pytest.mark.parametrize("name", MASKED)
def test_under_a_masking(name: str, masking: Masking, both: Callable[..., Any]) -> None:
    """What a runtime adds in order and waits: the host may wait before it issues anything."""
    contract = HIP.readings()[0]._replace(masking=masking)
    machine, simulator = both(catalogue()[name].bind({}), 2, contract, full=True)
    assert simulator == machine


@pytest.mark.slow
@pytest.mark.parametrize("masking", MASKINGS.values(), ids=MASKINGS)
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_of_an_entry_under_a_masking(
    name: str, contract: str, masking: Masking, both: Callable[..., Any]
) -> None:
    """The whole catalogue under each, but for what a masking does not model or makes too large."""
    masked = contract_named(contract).readings()[0]._replace(masking=masking)
    try:
        machine, simulator = both(catalogue()[name].bind({}), 2, masked, 4_000, full=True)
    except (NotModelled, BudgetSpent):
        assert any(each in name for each in ("C43", "C66", "C71"))
        return
    assert simulator == machine
