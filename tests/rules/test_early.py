"""Rules of early launches (R8.4), and of versions whose writers need no order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.model.errors import BadProtocol
from streamorder.model.memory import Idempotent, conflict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streamorder.model.objects import Stream

    # The fixtures' types: test modules cannot import conftest.
    World = Any


def early(w: World, name: str, stream: Stream, how: bool | str = True) -> object:
    """Launch a kernel that may start before the one before it is done."""
    return w.gpu.launch(name, stream, early=how)


# (rule and case, program, facts under both contracts or under each)
ROWS: list[tuple[str, Callable[[World], object], Sequence[str] | Mapping[str, Sequence[str]]]] = [
    (
        "R8.4 may start before the one before it is done; HIP has no such launch",
        lambda w: [w.k("K1", w.n1), early(w, "K2", w.n1)],
        {"cuda": ["K2 not after K1", "K2 on n1 (early)"], "hip": ["K2 after K1", "K2 on n1"]},
    ),
    (
        "R8.4 early=False says nothing",
        lambda w: [w.k("K1", w.n1), early(w, "K2", w.n1, False)],
        ["K2 after K1", "K2 on n1", "consulted -"],
    ),
    (
        "R8.4 one that waits for the one before it is after that, whatever U6 says",
        lambda w: [w.k("K1", w.n1), early(w, "K2", w.n1, "waits"), w.k("K3", w.n1)],
        {"cuda": ["K2 after K1", "K3 after K1 K2", "consulted U6"], "hip": ["K2 after K1"]},
    ),
    (
        "R8.4 only the one before it: what came before that one it is after",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n1), early(w, "K3", w.n1)],
        {"cuda": ["K3 after K1", "K3 not after K2"], "hip": ["K3 after K1 K2"]},
    ),
    (
        "R8.4 on the NULL stream too, which waits for blocking streams and not for itself",
        lambda w: [w.k("K0", w.b1), w.k("K1", w.N), early(w, "K2", w.N)],
        {"cuda": ["K2 after K0", "K2 not after K1"], "hip": ["K2 after K0 K1"]},
    ),
    (
        "R8.4 early ones in a row start as soon as the first could",
        lambda w: [
            w.k("K0", w.n1),
            w.k("K1", w.n1),
            early(w, "K2", w.n1),
            early(w, "K3", w.n1),
        ],
        {
            "cuda": ["K2 after K0", "K3 after K0", "K3 not after K1 K2", "K2 not after K1"],
            "hip": ["K3 after K0 K1 K2"],
        },
    ),
    (
        "R8.4 U6 the middle one does not wait: does the third's wait reach the first?",
        lambda w: [w.k("K1", w.n1), early(w, "K2", w.n1), early(w, "K3", w.n1, "waits")],
        {
            "cuda +U6": ["K3 after K2 K1", "K2 not after K1"],
            "cuda -U6": ["K3 after K2", "K3 not after K1"],
            "hip": ["K3 after K2 K1", "consulted -"],
        },
    ),
    (
        "R8.4 the middle one waits: the third is after both",
        lambda w: [w.k("K1", w.n1), early(w, "K2", w.n1, "waits"), early(w, "K3", w.n1, "waits")],
        {"cuda": ["K3 after K2 K1", "consulted U6"], "hip": ["K3 after K2 K1"]},
    ),
    (
        "R8.4 a launch that is not early waits for all of them",
        lambda w: [
            w.k("K1", w.n1),
            early(w, "K2", w.n1),
            early(w, "K3", w.n1),
            w.k("K4", w.n1),
            w.gpu.memcpy_async(w.P, w.D, w.n1),
        ],
        {"cuda": ["K4 after K1 K2 K3", "P<-D after K4", "K3 not after K2"], "hip": ["K4 after K3"]},
    ),
    (
        "R8.4 an event and a stream's wait cover early ones",
        lambda w: [
            w.k("K1", w.n1),
            early(w, "K2", w.n1),
            w.e1.record(w.n1),
            w.n2.wait(w.e1),
            w.k("K3", w.n2),
            w.n1.synchronize(),
        ],
        {"cuda": ["K3 after K1 K2", "done K1 K2", "K2 not after K1"], "hip": ["done K1 K2"]},
    ),
    (
        "R8.4 other streams have their own",
        lambda w: [w.k("K1", w.n1), w.k("K2", w.n2), early(w, "K3", w.n2), w.k("K4", w.n1)],
        {
            "cuda": ["K3 not after K1 K2", "K4 after K1", "K4 not after K3"],
            "hip": ["K3 after K2", "K3 not after K1"],
        },
    ),
    (
        "R8.4 nothing is started before the host's call",
        lambda w: [w.k("K1", w.n1), w.n1.synchronize(), w.k("K2", w.n1), early(w, "K3", w.n1)],
        {"cuda": ["K3 after K1", "K3 not after K2"], "hip": ["K3 after K1 K2"]},
    ),
    # --- an early launch is early with respect to the kernel before it in its stream only --
    (
        "R8.4 R3.5 an event that the stream waited for is waited for",
        lambda w: [w.k("K1", w.n2), w.e1.record(w.n2), w.n1.wait(w.e1), early(w, "K2", w.n1)],
        {"cuda": ["K2 after K1", "K2 on n1 (early)"], "hip": ["K2 after K1"]},
    ),
    (
        "R8.4 R3.5 between two kernels as well",
        lambda w: [
            w.k("K1", w.n2),
            w.e1.record(w.n2),
            w.k("K2", w.n1),
            w.n1.wait(w.e1),
            early(w, "K3", w.n1),
            early(w, "K4", w.n1, "waits"),
        ],
        {
            "cuda +U6": ["K3 after K1", "K4 after K1 K2 K3"],
            "cuda -U6": ["K3 after K1", "K3 not after K2", "K4 after K1 K3", "K4 not after K2"],
            "hip": ["K3 after K1"],
        },
    ),
    (
        "R8.4 R1.3 on a blocking stream the NULL stream's work is waited for",
        lambda w: [w.k("K1", w.N), early(w, "K2", w.b1)],
        {"cuda": ["K2 after K1", "K2 on b1 (early)"], "hip": ["K2 after K1"]},
    ),
    (
        "R8.4 R1.3 and on the NULL stream that of the blocking ones",
        lambda w: [w.k("K1", w.b1), early(w, "K2", w.N), w.k("K3", w.b2)],
        {"cuda": ["K2 after K1", "K3 after K2"], "hip": ["K2 after K1"]},
    ),
    (
        "R8.4 what is before it is no kernel: a copy is waited for",
        lambda w: [w.gpu.memcpy_async(w.D, w.P, w.n1), early(w, "K", w.n1)],
        {"cuda": ["K after D<-P", "K on n1 (early)"], "hip": ["K after D<-P"]},
    ),
    (
        "R8.4 R8.2 nor a wait for a cell",
        lambda w: [w.gpu.wait_value(w.n1, w.gpu.cell("F"), 1), early(w, "K", w.n1)],
        {"cuda": ["K after F>=1", "K on n1 (early)"], "hip": ["K after F>=1"]},
    ),
    (
        "R8.4 R5.1 nor a graph",
        lambda w: [graph(w).launch(w.n1), early(w, "K", w.n1)],
        {"cuda": ["K after A", "K on n1 (early)"], "hip": ["K after A"]},
    ),
]


def graph(w: World) -> Any:
    """A graph of one kernel."""
    with w.gpu.capture(w.n2, "g") as made:
        w.k("A", w.n2)
    return made


@pytest.mark.parametrize(("program", "facts"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS])
def test_rule(
    check: Callable[..., None],
    program: Callable[[World], object],
    facts: Sequence[str] | Mapping[str, Sequence[str]],
) -> None:
    """The facts hold, and the contracts differ exactly where a row says so."""
    check(program, facts)


@pytest.mark.parametrize("how", ["wait", 2, None, "early"])
def test_how(world: World, how: object) -> None:
    """`early` is True, False or "waits", and nothing else."""
    with pytest.raises(BadProtocol) as refused:
        world.gpu.launch("K", world.n1, early=how)
    assert str(refused.value) == f"early is True, False or 'waits', not {how!r}"


def test_unhashable_how(world: World) -> None:
    """Nor something without a hash."""
    with pytest.raises(BadProtocol):
        world.gpu.launch("K", world.n1, early=[True])


# --- idempotent versions --------------------------------------------------------------------------


def test_idempotent_conflicts() -> None:
    """Two writes of one equal version need no order; every other pair with a write does."""
    one, equal, other = Idempotent(1), Idempotent(1), Idempotent(2)
    assert not conflict(one, equal)
    assert conflict(one, other)
    assert conflict(one, True)
    assert conflict(True, one)
    assert conflict(one, False)
    assert conflict(False, one)
    assert conflict(True, True)
    assert not conflict(False, False)


def test_idempotent_versions(world: World) -> None:
    """A kernel, a host store and a fill write the version itself; a read finds that version."""
    gpu, same = world.gpu, world.gpu.idempotent(1)
    world.k("K", world.n1, (), {world.D: same, world.E: 1})
    gpu.write(world.P, 1, idempotent=True)
    assert world.rec.holds("K writes D=1 E=1")
    assert world.rec.calls[-1] == ["write P=1"]
    assert same == gpu.idempotent(1) != gpu.idempotent(2)
    assert hash(same) == hash(gpu.idempotent(1))
    assert same != 1


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda w: w.gpu.idempotent([1]), "a version must be hashable, not [1]"),
        (lambda w: w.gpu.idempotent(w.D), "a version is a number or a string, not D"),
        (
            lambda w: w.gpu.idempotent(w.gpu.read(w.P)),
            "a version is a number or a string, not <data read from P>",
        ),
        (lambda w: w.gpu.write(w.P, [1], idempotent=True), "a version must be hashable, not [1]"),
    ],
)
def test_idempotent_misuse(world: World, misuse: Callable[[World], object], message: str) -> None:
    """What cannot be a version cannot be an idempotent one."""
    with pytest.raises(BadProtocol) as refused:
        misuse(world)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "misuse",
    [
        lambda w: w.k("K", w.n1, {w.D: w.gpu.idempotent(1)}),
        lambda w: w.gpu.read(w.P, expect=w.gpu.idempotent(1)),
        lambda w: w.gpu.idempotent(w.gpu.idempotent(1)),
    ],
    ids=["a kernel expects it", "the host expects it", "of itself"],
)
def test_idempotent_is_for_writes(world: World, misuse: Callable[[World], object]) -> None:
    """A reader that expects such a version could never find it: it must be refused."""
    with pytest.raises(BadProtocol):
        misuse(world)
