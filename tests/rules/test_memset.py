"""Rules of fills: R2.10."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.contract import CUDA, HIP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamorder.model.memory import Buffer, Region

    # The fixtures' types: test modules cannot import conftest.
    World = Any
    Recorder = Any

NO_WAIT = "issue"
WAIT = "issue, await"
BY_CPU = "await K, write"

# target: blocking fill under CUDA, HIP; asynchronous fill under CUDA, HIP
TARGETS: dict[str, tuple[str, str, str, str]] = {
    "D": (NO_WAIT, NO_WAIT, NO_WAIT, NO_WAIT),
    "DD": (NO_WAIT, NO_WAIT, NO_WAIT, NO_WAIT),
    "DD.a": (NO_WAIT, NO_WAIT, NO_WAIT, NO_WAIT),
    "DD.b": (NO_WAIT, WAIT, NO_WAIT, NO_WAIT),
    "DE.b": (NO_WAIT, NO_WAIT, NO_WAIT, NO_WAIT),
    "DE.a": (NO_WAIT, WAIT, NO_WAIT, NO_WAIT),
    "P": (WAIT, BY_CPU, NO_WAIT, BY_CPU),
    "PP": (WAIT, BY_CPU, NO_WAIT, BY_CPU),
    "PP.b": (WAIT, BY_CPU, NO_WAIT, BY_CPU),
    "M": (WAIT, WAIT, NO_WAIT, NO_WAIT),
    "MM": (WAIT, WAIT, NO_WAIT, NO_WAIT),
    "MM.b": (WAIT, WAIT, NO_WAIT, NO_WAIT),
}


def found(w: World, target: str) -> Buffer | Region:
    """The buffer or the part of one, by its name."""
    buffer, _, part = target.partition(".")
    return getattr(w, buffer)[part] if part else getattr(w, buffer)


def fits(record: Recorder, steps: str, target: str, stream: str) -> None:
    """Check the last call's steps, and the fill's place and accesses."""
    whole = target in {"DD", "PP", "MM"}
    written = [f"{target}.a=7", f"{target}.b=7"] if whole else [f"{target}=7"]
    op = f"{target}=7"
    known = {
        NO_WAIT: [f"issue {op}"],
        WAIT: [f"issue {op}", "await " + " ".join(sorted([op, "K"]))],
        BY_CPU: ["await K", "write " + " ".join(written)],
    }
    assert record.calls[-1] == known[steps]
    if steps != BY_CPU:
        assert record.ops[op] == (stream, {"K"}, (), tuple(written))


@pytest.mark.parametrize("target", TARGETS)
def test_blocking(run: Callable[..., Recorder], target: str) -> None:
    """R2.10: an operation of the NULL stream, or a fill by the CPU after draining it."""

    def program(w: World) -> None:
        w.k("other", w.n1)
        w.k("K", w.b1)
        w.gpu.memset(found(w, target), 7)

    of_cuda, of_hip, _, _ = TARGETS[target]
    for reading in (CUDA.readings(CUDA.uncertain)[0], CUDA.readings(CUDA.uncertain)[-1]):
        record = run(program, reading, CUDA.uncertain)
        fits(record, of_cuda, target, "NULL")
        assert record.front.consulted == set()
    fits(run(program, HIP), of_hip, target, "NULL")


@pytest.mark.parametrize("stream", ["n1", "b1", "N"])
@pytest.mark.parametrize("target", TARGETS)
def test_async(run: Callable[..., Recorder], target: str, stream: str) -> None:
    """R2.10: an operation of the stream; HIP drains that stream and fills pinned memory by CPU."""

    def program(w: World) -> None:
        w.k("other", w.n2)
        w.k("K", getattr(w, stream))
        w.gpu.memset_async(found(w, target), 7, getattr(w, stream))

    _, _, of_cuda, of_hip = TARGETS[target]
    on = "NULL" if stream == "N" else stream
    for reading in (CUDA.readings(CUDA.uncertain)[0], CUDA.readings(CUDA.uncertain)[-1]):
        fits(run(program, reading), of_cuda, target, on)
    fits(run(program, HIP), of_hip, target, on)


ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    (
        "R2.10 a fill of device memory is unordered with a non-blocking stream both ways",
        lambda w: [w.k("K1", w.n1, (), {w.D: 1}), w.gpu.memset(w.D, 0), w.k("K2", w.n1, {w.D: 0})],
        ["D=0 not after K1", "K2 not after D=0", "pending D=0"],
    ),
    (
        "R2.10 a fill of pinned memory on a stream: HIP's host is blocked",
        lambda w: [w.k("K", w.n1), w.gpu.memset_async(w.P, 7, w.n1), w.gpu.read(w.P)],
        {"cuda": ["pending P=7 K", "P=7 after K"], "hip": ["done K", "call: read P"]},
    ),
    (
        "R2.10 on a blocking stream the host waits for the NULL stream's work too",
        lambda w: [w.k("K1", w.N), w.k("K2", w.b2), w.gpu.memset_async(w.P, 7, w.b1)],
        {"cuda": ["pending K1", "P=7 after K1"], "hip": ["done K1", "pending K2"]},
    ),
    (
        "R2.10 HIP's blocking fill of the interior is done on return",
        lambda w: [w.gpu.memset(w.DD.b, 7), w.k("K", w.n1)],
        {"cuda": ["K not after DD.b=7"], "hip": ["K after DD.b=7"]},
    ),
    (
        "R2.10 its asynchronous fill of the interior is not",
        lambda w: [w.gpu.memset_async(w.DD.b, 7, w.n2), w.k("K", w.n1)],
        ["K not after DD.b=7", "pending DD.b=7"],
    ),
    (
        "R2.10 a fill of device memory and the blocking streams",
        lambda w: [w.k("K1", w.b1), w.gpu.memset(w.D, 0), w.k("K2", w.b2)],
        ["D=0 after K1", "K2 after D=0 K1"],
    ),
]


@pytest.mark.parametrize(("program", "facts"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_rule(
    check: Callable[..., None],
    program: Callable[[World], object],
    facts: Sequence[str] | Mapping[str, Sequence[str]],
) -> None:
    """The facts hold, and the contracts differ exactly where a row says so."""
    check(program, facts)
