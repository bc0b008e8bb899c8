"""What `cuda-13` makes of asynchronous copies of pageable memory (R2.6, R2.7): an H200 waits in
some, and CUDA's text promises no wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import Outcome, check

if TYPE_CHECKING:
    from streamorder import Gpu

MIB = 1 << 20


def read_early(gpu: Gpu) -> None:
    """The host reads what it has only asked for."""
    s, out, d = gpu.stream("s"), gpu.pageable("out"), gpu.device("d")
    for n in gpu.steps():
        gpu.launch("make", s, writes={d: n})
        gpu.memcpy_async(out, d, s)
        gpu.read(out, n)
        s.synchronize()


def freed_late(gpu: Gpu, nbytes: int | None = None) -> None:
    """The host lets the stream go once the upload's call has returned."""
    s, go = gpu.stream("s"), gpu.cell("go")
    source, d = gpu.pageable("source", nbytes=nbytes), gpu.device("d", nbytes=nbytes)
    gpu.wait_value(s, go, 1)
    gpu.memcpy_async(d, source, s)
    go.set(1)
    s.synchronize()


def test_a_download_is_hidden_where_it_was_observed() -> None:
    """Refuted by contract; on the device the call waits; by the documents alone it may not."""
    verdict = check(read_early, runtime="cuda-13")
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.runtime is not None
    assert verdict.runtime.found.hazard == "hidden"
    assert verdict.runtime.against is not None
    assert verdict.runtime.against.hazard == "exposed"


@pytest.mark.parametrize(
    ("nbytes", "hang"),
    [(64 * 1024, "does not hang"), (4 * MIB, "hangs"), (None, "may hang")],
    ids=["64 KiB", "4 MiB", "of unknown size"],
)
def test_an_upload_hangs_where_the_call_waits(nbytes: int | None, hang: str) -> None:
    """By contract at any size, since any such call may wait; on the device from 4 MiB on."""
    verdict = check(freed_late, runtime="cuda-13", steps=1, nbytes=nbytes)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.runtime is not None
    assert verdict.runtime.found.hang is not None
    assert verdict.runtime.found.hang.outcome == hang
    assert bool(verdict.runtime.found.hang.cycle) == (hang != "does not hang")
    assert verdict.runtime.against is not None
    assert verdict.runtime.against.hang is not None
    assert verdict.runtime.against.hang.outcome == "hangs"
    assert verdict.runtime.against.hang.cycle
