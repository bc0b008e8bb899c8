"""`streamorder repair`: what it offers, in text and as JSON, and its exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = """
from streamorder import Gpu, protocol


@protocol()
def late(gpu: Gpu) -> None:
    stream = gpu.stream("compute")
    host, device = gpu.pinned("host"), gpu.device("device")
    for n in gpu.steps():
        gpu.write(host, n)
        gpu.memcpy_async(device, host, stream)
        gpu.launch("kernel", stream, reads={device: n})
"""


def test_direct(command: Callable[..., Any], snapshot: Callable[[str, str], None]) -> None:
    """The copy on the stream, events both ways, and host waits."""
    done = command("repair", "fp8-prefill/direct")
    assert (done.code, done.err) == (0, "")
    snapshot(done.out, "repair-direct")


def test_item_after(command: Callable[..., Any], snapshot: Callable[[str, str], None]) -> None:
    """A wait that orders nothing but its own download."""
    done = command("repair", "fp8-prefill/direct-item-after", "--most", "1")
    snapshot(done.out, "repair-direct-item-after")


def test_synchronize_first(
    command: Callable[..., Any], snapshot: Callable[[str, str], None]
) -> None:
    """Refuted under one contract only; the mend makes a device wait redundant."""
    done = command("repair", "fp8-prefill/synchronize-first")
    snapshot(done.out, "repair-synchronize-first")


def test_file(
    command: Callable[..., Any],
    write: Callable[[str, str], str],
    snapshot: Callable[[str, str], None],
) -> None:
    """A user's own file: source lines beside the instructions."""
    done = command("repair", write("late.py", FILE))
    assert done.code == 0
    snapshot(done.out, "repair-file")


def test_no_repair(command: Callable[..., Any], snapshot: Callable[[str, str], None]) -> None:
    """Where nothing helps, it says so, and exits 1."""
    done = command("repair", "corpus/C54-late-output/retry-for-ever")
    assert done.code == 1
    snapshot(done.out, "repair-none")


def test_nothing_to_repair(
    command: Callable[..., Any], snapshot: Callable[[str, str], None]
) -> None:
    """A protocol that holds: its redundant waits, if any."""
    done = command("repair", "fp8-prefill/staged", "corpus/C37-pool-by-stream/launch-blocking")
    assert done.code == 0
    snapshot(done.out, "repair-holds")


def test_budget(command: Callable[..., Any], snapshot: Callable[[str, str], None]) -> None:
    """A budget that ended is told, and exits 3; it does not say that nothing applies."""
    done = command("repair", "corpus/C22-wrong-stream/downloads", "--checks", "1")
    assert done.code == 3
    assert "no addition applies" not in done.out
    snapshot(done.out, "repair-budget")


def test_json(command: Callable[..., Any], snapshot: Callable[[str, str], None]) -> None:
    """The same as data."""
    done = command("repair", "corpus/C16-cpu-operator/stream-wait", "--format", "json")
    assert done.code == 0
    [found] = json.loads(done.out)
    assert found["repairs"][0]["verdicts"] == {"cuda": "PROVED", "hip": "PROVED"}
    snapshot(done.out, "json-repair")
