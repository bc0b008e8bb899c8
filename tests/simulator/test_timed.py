"""Timed runs: what they take, what competes, and that the machine can go every way they went."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import CUDA, HIP, BadProtocol, catalogue
from streamorder.model.contract import contract_named
from streamorder.sim.conform import NoPath, accepted
from streamorder.sim.timed import Costs, Hardware, Timed, Watch, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu

ROWS = [
    pytest.param(name, contract, id=f"{name}-{contract}")
    for name, entry in catalogue().items()
    for contract in entry.expects
]
HARDWARE = (Hardware(), Hardware(queues=2, copy_engines=1, kernels=1), Hardware(queues=4))
UNITS = 1e-6


def run(body: Callable[..., None], steps: int, contract: Any, costs: Costs, **kept: Any) -> Any:
    """A run with its trace; at most a second of simulated time, for what never ends."""
    rng = random.Random(7)  # noqa: S311
    return simulate(
        body,
        steps,
        contract,
        lambda: Timed(costs, choose=lambda c: rng.randrange(options_of(c)), trace=True, **kept),
        until=1,
    )


def options_of(cursor: Any) -> int:
    """How many options a choice has."""
    return cursor.call[1]


@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2, 3))])
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_the_machine_accepts_a_run(
    name: str, contract: str, seed: int, drawn: Callable[..., Costs]
) -> None:
    """Whatever things cost and compete for, a run is a path of the machine, to the end; where the
    run is stuck, so is the machine, or only the hardware queues are in its way.
    """
    body, promised = catalogue()[name].bind({}), contract_named(contract)
    hardware = HARDWARE[(seed + len(name)) % len(HARDWARE)]
    sim = run(body, 3, promised, drawn(seed), hardware=hardware)
    walk = accepted(body, 3, promised.readings()[0], sim.clock.trace)
    done = not sim.blocked and not sim.pending
    assert walk.machine.finished(walk.state) == done
    assert done or hardware.queues or not walk.machine.enabled(walk.state)


def test_of_random_programs(kit: Any, drawn: Callable[..., Costs]) -> None:
    """The same for random programs of every profile; what a run finds wrong the machine finds."""
    counts: Counter[str] = Counter()
    for seed in range(60):
        profile = ("mixed", "graphs", "memory", "signals", "wide", "threads")[seed % 6]
        program = kit.draw(seed, profile)
        contract = kit.engines.CONTRACTS[seed % 4]
        body, seen = kit.body(program, contract), Seen()
        try:
            sim = run(body, program.steps, contract, drawn(seed), watch=seen)
        except BadProtocol:
            continue
        walk = accepted(body, program.steps, contract.readings()[0], sim.clock.trace)
        found = [(repr(w.region), w.expected, repr(w.found)) for w in walk.wrongs]
        assert found == [(repr(w.region), w.expected, repr(w.found)) for w in seen.wrongs]
        counts.update(runs=1, finished=not sim.pending and not sim.blocked, wrong=bool(found))
    assert counts["runs"] >= 55
    assert counts["finished"] >= 40
    assert counts["wrong"] >= 3


def test_a_trace_that_cannot_be_is_refused() -> None:
    """A copy that is done before it was issued, or a wait that returns too early."""
    body = catalogue()["fp8-prefill/staged"].bind({"slots": 1})
    sim = run(body, 2, CUDA, Costs())
    trace = list(sim.clock.trace)
    at = next(i for i, happening in enumerate(trace) if happening[0] == "op")
    for wrong in (trace[at:] + trace[:at], [h for h in trace if h[0] == "host"]):
        with pytest.raises(NoPath, match="the machine cannot go on"):
            accepted(body, 2, CUDA.readings()[0], wrong)


class Fixed(Costs):
    """Two units a call, ten a kernel, four a copy; three from the end of a wait to its return."""

    def call(self, cursor: Any) -> float:
        """Host time."""
        del cursor
        return 2 * UNITS

    def returning(self, cursor: Any) -> float:
        """Host time after a wait."""
        del cursor
        return 3 * UNITS

    def op(self, op: Any) -> float:
        """Device time."""
        return {"kernel": 10, "copy": 4}.get(op.kind, 0) * UNITS


class Seen(Watch):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.ops: list[Any] = []
        self.met: list[tuple[str, str]] = []
        self.wrongs: list[Any] = []
        self.stalls: list[float] = []
        self.began = 0.0

    def ran(self, op: Any) -> None:
        """An operation has ended."""
        self.ops.append(op)

    def wrong(self, who: Any, wrong: Any) -> None:
        """A wrong version."""
        del who
        self.wrongs += wrong

    def overlap(self, running: Any, other: Any, region: Any) -> None:
        """A hazard is met."""
        self.met.append((running.label, repr(region)))
        del other


def spans(seen: Seen) -> list[tuple[Any, ...]]:
    """Each operation with when it was issued, started and ended, in units."""
    return [
        (op.kernel or op.kind, *(round(t / UNITS) for t in (op.issued, op.started, op.ended)))
        for op in seen.ops
    ]


def test_times_by_hand() -> None:
    """One stream, two kernels and a wait: each time as counted by hand."""

    def body(gpu: Gpu) -> None:
        stream = gpu.stream("s")
        gpu.launch("a", stream)
        gpu.launch("b", stream)
        stream.synchronize()
        gpu.launch("c", stream)

    seen = Seen()
    sim = run(body, 1, CUDA, Fixed(), watch=seen)
    # Calls at 2, 4 and 6; the wait ends with b at 22 and returns at 25; c is launched at 27.
    assert spans(seen) == [("a", 2, 2, 12), ("b", 4, 12, 22), ("c", 27, 27, 37)]
    assert not sim.pending


@pytest.mark.parametrize(
    ("hardware", "b", "copy"),
    [
        (Hardware(), (4, 4, 14), (6, 6, 10)),
        (Hardware(kernels=1), (4, 12, 22), (6, 6, 10)),
        (Hardware(queues=1), (4, 12, 22), (6, 22, 26)),
        (Hardware(queues=2), (4, 4, 14), (6, 12, 16)),
    ],
)
def test_what_competes(hardware: Hardware, b: tuple[int, ...], copy: tuple[int, ...]) -> None:
    """Three streams: kernels that share the device, or streams that share a hardware queue."""

    def body(gpu: Gpu) -> None:
        streams = [gpu.stream(f"s{i}") for i in range(3)]
        gpu.launch("a", streams[0])
        gpu.launch("b", streams[1])
        gpu.memcpy_async(gpu.device("to"), gpu.pinned("from"), streams[2])

    seen = Seen()
    run(body, 1, CUDA, Fixed(), watch=seen, hardware=hardware)
    assert {name: times for name, *times in map(list, spans(seen))} == {
        "a": [2, 2, 12],
        "b": list(b),
        "copy": list(copy),
    }


def test_hazards_are_met_where_accesses_overlap() -> None:
    """`direct` under HIP: the copies of step 1 run while the kernels of step 0 do; staged never."""
    met = {}
    for variant in ("direct", "staged"):
        seen = Seen()
        run(
            catalogue()[f"fp8-prefill/{variant}"].bind({}),
            4,
            HIP,
            Fixed(),
            watch=seen,
            hazards=True,
        )
        met[variant] = seen
    assert met["direct"].met
    assert met["direct"].wrongs
    assert {kernel for kernel, _region in met["direct"].met} <= {
        "launch(prefill, compute)",
        "launch(reduce, compute)",
    }
    assert not met["staged"].met
    assert not met["staged"].wrongs


def test_threads_locks_and_queues_take_their_time() -> None:
    """A bounded queue holds its producer up; a lock is handed on in turn."""
    order: list[str] = []

    def body(gpu: Gpu) -> None:
        queue, lock = gpu.queue(capacity=1), gpu.lock()
        stream = gpu.stream("s")

        def consume() -> None:
            for _ in range(3):
                queue.get()
                with lock:
                    gpu.launch("use", stream)
                    stream.synchronize()

        thread = gpu.thread(consume)
        for n in range(3):
            queue.put(n)
        thread.join()

    class Noting(Watch):
        def called(self, cursor: Any) -> None:
            order.append(f"{cursor.thread}:{cursor.call[0]}")

    sim = run(body, 1, CUDA, Fixed(), watch=Noting())
    assert not sim.blocked
    assert order.count("1:get") == order.count("0:put") == 3
    # The third item has room only once the second was taken, after the first was used.
    assert order.index("0:join") > len(order) - 2
    last_put = len(order) - 1 - order[::-1].index("0:put")
    assert last_put > order.index("1:synchronize_stream")
    accepted(body, 1, CUDA.readings()[0], sim.clock.trace)


def test_a_step_loop_of_ones_own() -> None:
    """`steps` may be an iterable that looks at the simulation: here it ends by the clock."""
    clock = Timed(Fixed())

    def until_late() -> Any:
        step = 0
        while clock.env.now < 100 * UNITS:
            yield step
            step += 1

    def body(gpu: Gpu) -> None:
        stream = gpu.stream("s")
        for _n in gpu.steps():
            gpu.launch("kernel", stream)
            stream.synchronize()

    simulate(body, until_late(), CUDA, lambda: clock)
    # Each step: two to launch, ten to run, three to return, all but the launch's two hidden.
    assert clock.env.now == pytest.approx(105 * UNITS, rel=0.1)


def test_errors_keep_their_line() -> None:
    """A mistake of the protocol, met by SimPy's process, is raised as it is."""

    def body(gpu: Gpu) -> None:
        stream = gpu.stream("s")
        stream.destroy()
        gpu.launch("late", stream)

    with pytest.raises(BadProtocol, match=r"test_timed.py:\d+: stream 's' was destroyed earlier"):
        run(body, 1, CUDA, Costs())
