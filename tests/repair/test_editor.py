"""An edit does to a protocol's calls exactly what it says, at the place that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import protocol
from streamorder.model.catalogue import catalogue
from streamorder.model.host import Host
from streamorder.model.prove import prove_readings
from streamorder.model.repair.changes import MoveTo
from streamorder.model.repair.editor import edited
from streamorder.model.repair.inserts import EventName, Insert
from streamorder.model.repair.places import Span, around
from streamorder.model.repair.search import edits_of
from streamorder.model.trace import described
from streamorder.model.where import Where

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Gpu
    from streamorder.model.repair.edits import Edit


def calls(body: Callable[[Gpu], None], steps: int = 3) -> list[str]:
    """The calls of a program with one schedule, in words."""
    host = Host(body, steps)
    found = []
    node = host.root
    while node.call is not None:
        found.append(described(node.call))
        node = host.child(node)
    return found


def entry(name: str) -> Callable[[Gpu], None]:
    """A catalogue entry with its defaults."""
    return catalogue()[name].bind({})


def with_edits(name: str, additions: Any) -> Callable[[Gpu], None]:
    """A catalogue entry with additions."""
    edits = edits_of(frozenset(additions))
    return edited(entry(name), tuple(sorted(edits, key=repr)))


SAME = [
    # broken; mended as its project did; how the new event is called in the repair
    ("C31-shared-map/forward-edge-only", "both-edges", {"forward_done": "used"}),
    ("C04-page-table/one-buffer", "event-wait", {"table_copied": "copied"}),
    ("C14-accepted-counts/no-wait", "event-wait", {"counts_copied": "arrived"}),
    ("C19-device-copy/null-stream", "kernels-stream", {}),
    ("C22-wrong-stream/downloads", "uploads", {}),
    ("C66-early-launch/wait-left-out", "waits", {}),
]


@pytest.mark.parametrize(("broken", "mended", "names"), SAME, ids=[row[0] for row in SAME])
def test_repaired_calls_are_those_of_the_mended_form(
    broken: str, mended: str, names: dict[str, str], repaired: Callable[[str], Any]
) -> None:
    """Some repair that is offered makes, call for call, what the project's own mend makes."""
    name = f"corpus/{broken}"
    wanted = calls(entry(f"{name.rpartition('/')[0]}/{mended}"))
    made = []
    for offer in repaired(name).offers:
        for additions in (offer.additions, *offer.others):
            found = calls(with_edits(name, additions))
            for new, old in names.items():
                found = [call.replace(new, old) for call in found]
            made.append(found)
    assert wanted in made


# --- places -------------------------------------------------------------------------------------


@protocol()
def parts(gpu: Gpu) -> None:
    """An inner loop, a helper that is called twice, and a step that ends in a loop."""
    stream, other = gpu.stream("s"), gpu.stream("t")
    for _ in gpu.steps():
        for name in ("a", "b"):
            gpu.launch(name, stream)
        helper(gpu, "c")
        helper(gpu, "d")
        for name in ("e", "f"):
            gpu.launch(name, other)


def helper(gpu: Gpu, name: str) -> None:
    """Launch twice."""
    stream = gpu.null_stream
    gpu.launch(f"{name}1", stream)
    gpu.launch(f"{name}2", stream)


FIRST = parts.body.__code__.co_firstlineno
FILE = parts.body.__code__.co_filename
HELPER = helper.__code__.co_firstlineno


def line(offset: int) -> Span:
    """A line of `parts`, counted from its decorator."""
    return around(Where(FILE, FIRST + offset))[0][0]


def loop(offset: int) -> Span:
    """The inner loop around a line of `parts`."""
    return around(Where(FILE, FIRST + offset))[0][1]


def traced(*edits: Edit) -> list[str]:
    """The kernels of one step and of the next one's begin, and what was added."""
    found = calls(edited(parts.bind({}), edits), 2)
    return [call.removeprefix("launch(").partition(",")[0] for call in found]


def mark(span: Span, *, after: bool) -> Insert:
    """A record that can be told."""
    return Insert(span, after, "record", EventName("mark"), "NULL")


def test_without_edits_nothing_changes() -> None:
    """The editing front passes calls on."""
    assert traced() == ["a", "b", "c1", "c2", "d1", "d2", "e", "f"] * 2


@pytest.mark.parametrize(
    ("span", "before", "after"),
    [
        ("line 6", "MaMb", "aMbM"),
        ("loop 6", "Mab", "abM"),
        ("line 10", "MeMf", "eMfM"),
        ("loop 10", "Mef", "efM"),
    ],
)
def test_around_lines_and_loops(span: str, before: str, after: str) -> None:
    """Each execution of a line, or the whole loop once; also where the step ends with it."""
    kind, offset = span.split()
    place = (line if kind == "line" else loop)(int(offset))
    for wanted, late in ((before, False), (after, True)):
        found = "".join(traced(mark(place, after=late))).replace("mark.record(NULL)", "M")
        step = "abc1c2d1d2ef".replace(wanted.replace("M", ""), wanted)
        assert found == step * 2


@pytest.mark.parametrize("offset", [7, 8])
def test_around_a_call_of_a_helper(offset: int) -> None:
    """Before and after all that the helper does for this caller, not for the other one."""
    name = "c" if offset == 7 else "d"
    for late, wanted in ((False, f"M{name}1{name}2"), (True, f"{name}1{name}2M")):
        found = "".join(traced(mark(line(offset), after=late))).replace("mark.record(NULL)", "M")
        assert found == "abc1c2d1d2ef".replace(f"{name}1{name}2", wanted) * 2


def test_inside_a_helper() -> None:
    """A line of a helper is reached by both its callers."""
    span = around(Where(FILE, HELPER + 3))[0][0]
    found = "".join(traced(mark(span, after=True))).replace("mark.record(NULL)", "M")
    assert found == "abc1Mc2d1Md2ef" * 2


def test_a_call_on_another_stream() -> None:
    """Only the line that was named, and only its verb."""
    edit = MoveTo(line(10), "s", ("launch",), "moved")
    found = calls(edited(parts.bind({}), (edit,)), 1)
    assert found[-2:] == ["launch(e, s)", "launch(f, s)"]
    assert found[:2] == ["launch(a, s)", "launch(b, s)"]


# --- threads and proofs -------------------------------------------------------------------------


@protocol()
def two_threads(gpu: Gpu) -> None:
    """The thread's last call is what the other one must wait for."""
    stream, result = gpu.stream("s"), gpu.pinned("result")

    def work() -> None:
        gpu.launch("work", stream, writes={result: 1})

    gpu.thread(work).join()
    gpu.read(result, expect=1)


def test_after_a_threads_last_call() -> None:
    """What comes after it is added before the thread returns."""
    where = Where(FILE, two_threads.body.__code__.co_firstlineno + 6)
    span = around(where)[0][0]
    host = Host(edited(two_threads.bind({}), (mark(span, after=True),)), 1)
    node = host.root
    while node.call is not None and node.call[0] != "thread":
        node = host.child(node)
    node, found = host.spawn(node), []
    while node.call is not None:
        found.append(described(node.call))
        node = host.child(node)
    assert found == ["launch(work, s)", "mark.record(NULL)"]


@protocol()
def late_record(gpu: Gpu) -> None:
    """The last line of a step records; without its wait the next step overwrites."""
    first, second, made = gpu.stream("a"), gpu.stream("b"), gpu.device("made")
    used, filled = gpu.event("used"), gpu.event("filled")
    for n in gpu.steps():
        first.wait(used)
        gpu.launch("make", first, writes={made: n})
        filled.record(first)
        second.wait(filled)
        gpu.launch("use", second, reads={made: n})


def proved(*edits: Edit) -> bool:
    """Whether `late_record` with edits is proved under CUDA."""
    from streamorder import CUDA

    found = prove_readings(edited(late_record.bind({}), edits), CUDA, {}, 5.0)
    return isinstance(found, list)


def test_what_a_step_adds_last_is_seen_by_a_proof() -> None:
    """A record after the last call of a step belongs to that step; without it there is no proof."""
    first = late_record.body.__code__.co_firstlineno
    span = around(Where(FILE, first + 10))[0][0]
    record = Insert(span, True, "record", EventName("used", existing=True), "b")
    assert proved(record)
    assert not proved()
    assert not proved(record._replace(stream="a"))
