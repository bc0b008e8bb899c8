"""What a kernel does with a plan that points outside the tensors: it counts, and leaves it alone.

A stale or torn plan may name rows, queries or partial tiles that this batch does not have. AITER's
kernels would write there. These do not carry out such an item at all, never clamp it to something
that exists, and say so: each kind of fault has a count and the lowest item (or merge) that had it.
What the item should have written keeps its poison, so the output is wrong as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import triton
import triton.language as tl

if TYPE_CHECKING:
    import torch

RANGE = tl.constexpr(0)
ROW = tl.constexpr(1)
QUERIES = tl.constexpr(2)
KEYS = tl.constexpr(3)
HEAD = tl.constexpr(4)
PARTIAL = tl.constexpr(5)
MERGE = tl.constexpr(6)
MERGED_QUERIES = tl.constexpr(7)
MERGED_PARTIAL = tl.constexpr(8)

SAID = {
    0: ("thread group", "names work items past the end of work_info"),
    1: ("work item", "names a batch row that is not there"),
    2: ("work item", "names queries that are not there, or more than a tile of them"),
    3: ("work item", "names keys that are not there"),
    4: ("work item", "names a head that is not there"),
    5: ("work item", "writes a partial tile that is not there"),
    6: ("merge", "names partials past the end of reduce_partial_map"),
    7: ("merge", "writes queries that are not there, or more than a tile of them"),
    8: ("merge", "reads a partial tile that is not there"),
}
"""What each kind is called: its subject, and what that does."""

NEVER = 2**31 - 1


class Fault(NamedTuple):
    """`times` subjects of one kind pointed outside the tensors; the lowest is number `first`."""

    kind: int
    times: int
    first: int

    def __str__(self) -> str:
        subject, does = SAID[self.kind]
        return f"{subject} {self.first} {does} ({self.times} in all)"


def _report(faults: tl.tensor, kind: tl.tensor, subject: tl.tensor) -> None:
    tl.atomic_add(faults + kind * 2, 1)
    tl.atomic_min(faults + kind * 2 + 1, subject)


report = triton.jit(_report)


def no_faults(device: torch.device) -> torch.Tensor:
    """Return the int32 counter that kernels report to: [kinds, 2], a count and a lowest subject."""
    import torch

    counter = torch.empty(len(SAID), 2, dtype=torch.int32, device=device)
    clear_faults(counter)
    return counter


def clear_faults(counter: torch.Tensor) -> None:
    """Forget what was reported, in the current stream."""
    counter[:, 0].zero_()
    counter[:, 1].fill_(NEVER)


def read_faults(counter: torch.Tensor) -> list[Fault]:
    """Return what was reported; waits for the current stream."""
    return [Fault(kind, *pair) for kind, pair in enumerate(counter.tolist()) if pair[0]]
