"""`streamorder explain` and `audit` as text: pages that a person reads, kept as snapshots."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENTRIES = {
    "stale-read": ["fp8-prefill/direct", "--contract", "cuda"],
    "slot-reuse": ["fp8-prefill/staged-no-wait", "--contract", "hip"],
    "last-copy": ["fp8-prefill/synchronize-first", "--contract", "cuda"],
    "choose": ["fp8-prefill/staged-stuck-slot", "--contract", "cuda"],
    "holds": ["fp8-prefill/staged", "--contract", "cuda,hip"],
    "undetermined": ["fp8-prefill/pageable-slots", "--contract", "cuda-hmm"],
}
PROGRAMS = {
    "torn": "races.py:torn",
    "two-edges": "races.py:two_mistakes",
    "race": "races.py:unread_writes",
    "query": "races.py:unheeded_query",
    "threads": "races.py:two_threads",
    "off-by-one": "races.py:off_by_one",
    "deadlock": "other.py:lock_order",
    "full-queue": "other.py:full_queue",
    "version-in-order": "other.py:other_buffer",
    "overlap-lost": "other.py:overlap_lost",
    "late-download": "by_contract.py:late_download_cuda",
}

LATE = "    gpu.launch('k', s)\n    s.synchronize()\n"


@pytest.mark.parametrize("page", ENTRIES)
def test_an_entry(page: str, command: Callable[..., Any], snapshot: Callable[..., None]) -> None:
    """Every missing edge with its picture; an entry that is as expected exits 0."""
    code, out, err = command("explain", *ENTRIES[page])
    assert (code, err) == (0, "")
    snapshot(out, f"explain-{page}")


@pytest.mark.parametrize("page", PROGRAMS)
def test_a_program(
    page: str, programs: Path, command: Callable[..., Any], snapshot: Callable[..., None]
) -> None:
    """The same for a user's own file, which has no expectations and exits 1."""
    assert programs.is_dir()
    code, out, err = command("explain", PROGRAMS[page], "--contract", "cuda")
    assert (code, err) == (1, "")
    snapshot(out, f"explain-{page}")


def test_a_read_of_nothing(programs: Path, command: Callable[..., Any]) -> None:
    """Where nobody writes, the sentence says so in words."""
    assert programs.is_dir()
    out = command("explain", "other.py:never_written", "--contract", "cuda").out
    assert "finds nothing" in out
    assert "None" not in out


def test_a_call_in_two_phases_is_not_two_calls(programs: Path, command: Callable[..., Any]) -> None:
    """CUDA's blocking upload waits, then stages: one call, which a picture does not count twice."""
    assert programs.is_dir()
    out = command("explain", "by_contract.py:late_upload_cuda", "--contract", "cuda").out
    assert "×" not in out


def test_every_line_is_of_a_reasonable_width(command: Callable[..., Any]) -> None:
    """Rows of a picture without a mark keep to the terminal's width."""
    out = command("explain", "*").out
    rows = [line for line in out.splitlines() if line[:10].strip().isdigit()]
    assert rows
    assert max(map(len, rows)) <= 110


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("fp8-prefill/staged", 0),
        ("fp8-prefill/direct", 1),
        ("fp8-prefill/direct-item-after", 1),
        ("fp8-prefill/planner-on-device", 0),
    ],
)
def test_audit(
    name: str, code: int, command: Callable[..., Any], snapshot: Callable[..., None]
) -> None:
    """Host waits by source line; an undeclared one makes it exit 1."""
    done = command("audit", name)
    assert (done.code, done.err) == (code, "")
    snapshot(done.out, f"audit-{name.rpartition('/')[2]}")


def test_audit_of_several(command: Callable[..., Any]) -> None:
    """Globs, contracts, steps and parameters work as they do for `check`."""
    words = ["fp8-prefill/staged*", "--contract", "cuda,hip", "--steps", "6", "--slots", "3"]
    done = command("audit", *words)
    assert done.code == 0
    assert done.out.count(" under cuda: ") == done.out.count(" under hip: ") == 7


CUT = """
def body(gpu):
    stream = gpu.stream("s")
    with gpu.sync_allowed("why"):
        {}
    for n in gpu.steps():
        gpu.launch("k", stream)
        if sum(gpu.choose(0, 1) for _ in range(4)) == 4 and n == 0:
            stream.synchronize()
"""


@pytest.mark.parametrize(
    ("before", "said"),
    [("pass", "undetermined, no host wait found: "), ("early()", "all of these declared, undet")],
)
def test_an_audit_that_ends_early(
    before: str,
    said: str,
    command: Callable[..., Any],
    write: Callable[[str, str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The wait is in one of the last schedules: where those are not reached it is no pass."""
    early = "gpu.launch('k', stream), stream.synchronize()"
    write("cut.py", CUT.format(before.replace("early()", early)))
    words = ("audit", "cut.py:body", "--contract", "cuda")
    done = command(*words, "--steps", "3")
    assert (done.code, said in done.out) == (3, True)
    assert "1,001 host schedules listened to, more to come" in done.out
    (found,) = json.loads(command(*words, "--steps", "3", "--format", "json").out)
    assert (found["undeclared"], bool(found["reason"])) == (0, True)
    done = command(*words, "--steps", "1")
    assert (done.code, "more to come" in done.out) == (1, False)
    monkeypatch.setattr("streamorder.model.audit.SECONDS", 0.0)
    done = command(*words, "--steps", "1")
    assert (done.code, "0 host schedules listened to, more to come" in done.out) == (3, True)


def test_an_audit_lists_lines_in_order(
    command: Callable[..., Any], write: Callable[[str, str], str]
) -> None:
    """Line 9 comes before line 10."""
    write("late.py", "def body(gpu):\n    s = gpu.stream('s')\n" + LATE * 5)
    rows = command("audit", "late.py:body", "--contract", "hip").out.splitlines()[1:]
    numbers = [int(row.split()[0].rpartition(":")[2]) for row in rows]
    assert numbers == [4, 6, 8, 10, 12]


def test_list(command: Callable[..., Any], snapshot: Callable[..., None]) -> None:
    """Protocols, contracts and engines; with names, the protocols only."""
    code, out, err = command("list")
    assert (code, err) == (0, "")
    snapshot(out, "list")
    some = command("list", "*/staged", "*/direct").out.splitlines()
    assert some[0] == "protocols"
    assert [line.split()[0] for line in some[1:]] == ["fp8-prefill/direct", "fp8-prefill/staged"]
