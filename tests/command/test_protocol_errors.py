"""Errors in protocols: one line that begins with the protocol's own file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = """\
import random
import time

from streamorder import Gpu, protocol

COUNT = 0
CALLS = []
STATE = {"n": 0}
KEPT = []


@protocol()
def bad(gpu: Gpu) -> None:
    s, e, d = gpu.stream("s"), gpu.event("e"), gpu.device("d", parts=("x", "y"))
    p, v = gpu.pinned("p"), gpu.pageable("v")
"""

SINGLE = {
    "unknown part": "gpu.launch('k', s, reads={d.z: 1})",
    "unknown part by key": "gpu.memset(d['z'], 0)",
    "unknown part in expect": "gpu.launch('k', s, reads=d.expect(('x', 'z'), 1))",
    "stream of another Gpu": "gpu.launch('k', Gpu(1).null_stream)",
    "host writes device memory": "gpu.write(d, 1)",
    "host reads device memory": "gpu.read(d.x)",
    "kernel on pageable memory": "gpu.launch('k', s, reads=[v])",
    "no stream": "gpu.launch('k', None)",
    "event for stream": "gpu.launch('k', e)",
    "copy of different parts": "gpu.memcpy(d, p)",
    "read as a condition": "if gpu.read(p): pass",
    "read as a number": "int(gpu.read(p))",
    "read compared": "gpu.read(p) == 1",
    "read as an index": "[1, 2][gpu.read(p)]",
    "read as a version": "gpu.write(p, gpu.read(p))",
    "unhashable version": "gpu.write(p, [1])",
    "protocol raises": "raise ValueError('no')",
    "missing key": "{}['absent']",
    "undefined name": "gpu.launch(kernel, s)",
    "unknown method": "gpu.launch_kernel('k', s)",
    "wrong number of arguments": "gpu.launch('k')",
    "steps that are not called": "for n in gpu.steps: pass",
    "capture without with": "gpu.capture(s).launch(s)",
    "misspelt call": "gpu.memcpy_asinc(d, d, s)",
    "call of another API": "s.wait_stream(s)",
    "one stream for several": "gpu.free_async(d, s, used_by=s)",
    "options in a list": "gpu.choose(['real', 'dummy'])",
    "assertion": "assert e.query is None, 'said so'",
    "recursion": "again = lambda: again(); again()",
    "destroyed stream": "s.destroy(); gpu.launch('k', s)",
    "NULL destroyed": "gpu.null_stream.destroy()",
    "no options": "gpu.choose()",
    "a name that is no string": "gpu.stream(3)",
    "two parts of one name": "gpu.device('f', parts=('a', 'a'))",
    "part that is a method": "gpu.device('f', parts=('expect',))",
    "mutable item": "gpu.queue().put([1])",
    "capacity": "gpu.queue(0)",
    "thread of no function": "gpu.thread(3)",
    "operation of nothing": "gpu.concurrent(None, None)",
}
"""One statement each, on the first line after the head."""

UNLOCATED = {
    "released by a non-holder": "gpu.lock().release()",
    "wait without a reason": "gpu.sync_allowed('').__enter__()",
}
"""Likewise, but raised from afar: by a later call of the checker, by the standard library."""

FIRST = HEAD.count("\n") + 1

NOT_REPEATABLE = {
    "random number": "gpu.write(p, random.random())",
    "time": "gpu.write(p, time.perf_counter_ns())",
    "global counter": "CALLS.append(1)\ngpu.write(p, len(CALLS))",
    "another call the second time": "CALLS.append(1)\ngpu.synchronize() if len(CALLS) % 2 else 0",
    "one call more the second time": "CALLS.append(1)\nif len(CALLS) % 2 == 0: gpu.synchronize()",
    "another object": "gpu.event(str(random.random())).record(s)",
}

SHARED = {
    "nonlocal": """
n = 0
def worker():
    nonlocal n
    n += 1
    s.synchronize()
gpu.thread(worker).join()
""",
    "list": """
kept = []
def worker():
    kept.append(1)
    s.synchronize()
gpu.thread(worker).join()
""",
    "late variable": """
threads = []
for i in range(2):
    threads.append(gpu.thread(lambda: gpu.launch(f"k{i}", s)))
for thread in threads:
    thread.join()
""",
    "attribute": """
class Box: pass
box = Box()
box.n = 0
def worker():
    box.n += 1
    s.synchronize()
gpu.thread(worker).join()
""",
    "global dict": """
def worker():
    STATE["n"] += 1
    s.synchronize()
gpu.thread(worker).join()
""",
    "global variable": """
def worker():
    global COUNT
    COUNT += 1
    s.synchronize()
gpu.thread(worker).join()
""",
    "iterator": """
work = iter(range(4))
def worker():
    for n in work: gpu.launch(f"k{n}", s)
gpu.thread(worker).join()
""",
    "generator": """
work = (n for n in range(4))
def worker():
    for n in work: gpu.launch(f"k{n}", s)
gpu.thread(worker).join()
""",
    "written by the main thread": """
ready = [False]
def worker():
    if ready[0]: s.synchronize()
thread = gpu.thread(worker)
ready[0] = True
thread.join()
""",
}


def indented(body: str) -> str:
    """A body as the rest of the protocol."""
    return "".join(f"    {line}\n" for line in body.strip("\n").splitlines())


@pytest.fixture
def said(refuse: Callable[..., str], write: Callable[[str, str], str]) -> Callable[[str], str]:
    """`said(body)`: the error of a protocol with this body."""
    made: list[str] = []

    def of(body: str) -> str:
        made.append(f"bad{len(made)}.py")
        write(made[-1], HEAD + indented(body))
        line = refuse("check", f"{made[-1]}:bad", "--contract", "cuda")
        return line.replace(made[-1], "bad.py")

    return of


@pytest.mark.parametrize(
    ("group", "page"),
    [(SINGLE, "calls"), (SHARED, "shared-state")],
    ids=["calls", "shared state"],
)
def test_texts(
    group: dict[str, str], page: str, said: Callable[[str], str], snapshot: Callable[..., None]
) -> None:
    """What each mistake says."""
    lines = [f"# {mistake}\n{said(body)}" for mistake, body in group.items()]
    snapshot("".join(lines), f"errors-{page}")


@pytest.mark.parametrize("branching", [False, True], ids=["alone", "after a choice"])
@pytest.mark.parametrize("mistake", [*SINGLE, *UNLOCATED])
def test_the_line(mistake: str, branching: bool, said: Callable[[str], str]) -> None:
    """The error begins with the line of the protocol, with one host schedule and with several."""
    body = {**SINGLE, **UNLOCATED}[mistake]
    line = said(f"gpu.choose(1, 2)\n{body}" if branching else body)
    assert line.startswith(f"streamorder: bad.py:{FIRST + branching}: ")


@pytest.mark.parametrize("mistake", NOT_REPEATABLE)
def test_both_traces_are_told_apart(mistake: str, said: Callable[[str], str]) -> None:
    """The sentence names two calls that differ."""
    line = said(NOT_REPEATABLE[mistake])
    found = re.search(r"second trace issues (.*) where the first issued (.*);", line)
    assert found, line
    assert found[1] != found[2]


@pytest.mark.parametrize("mistake", SHARED)
def test_shared_state_is_refused_at_the_thread(mistake: str, said: Callable[[str], str]) -> None:
    """The line is the one that starts the thread."""
    number = int(said(SHARED[mistake]).split(":")[2])
    line = (HEAD + indented(SHARED[mistake])).splitlines()[number - 1]
    assert "gpu.thread(" in line


def test_an_event_of_another_gpu(
    refuse: Callable[..., str], write: Callable[[str, str], str]
) -> None:
    """What is kept from the check under another contract is refused, and it is what is named."""
    body = "KEPT.append(gpu.event('kept'))\nKEPT[0].record(s)"
    write("bad.py", HEAD + indented(body))
    line = refuse("check", "bad.py", "--contract", "cuda,hip")
    assert line.startswith(f"streamorder: bad.py:{FIRST + 1}: event kept belongs to another Gpu")


def test_an_error_of_several_lines(said: Callable[[str], str]) -> None:
    """A protocol's exception is told in one line."""
    assert said("raise ValueError('one\\ntwo')").startswith(f"streamorder: bad.py:{FIRST}: ")


def test_an_error_in_a_host_thread(said: Callable[[str], str]) -> None:
    """The line is the thread's own."""
    body = "def worker():\n    gpu.write(d, 1)\ngpu.thread(worker).join()"
    assert said(body).startswith(f"streamorder: bad.py:{FIRST + 1}: ")


def test_an_error_in_a_helper(said: Callable[[str], str]) -> None:
    """The line is the innermost one of the protocol's own code."""
    body = "def helper(buffer):\n    gpu.write(buffer, 1)\nhelper(d)"
    assert said(body).startswith(f"streamorder: bad.py:{FIRST + 1}: ")


@pytest.mark.parametrize("engine", ["order", "machine"])
def test_the_order_of_a_set_is_no_mistake(
    engine: str, command: Callable[..., Any], write: Callable[[str, str], str]
) -> None:
    """Within one process it is the same in every trace."""
    write("good.py", HEAD + indented("for name in {'a', 'b', 'c'}: gpu.launch(name, s)"))
    assert command("check", "good.py:bad", "--engine", engine).code == 0
