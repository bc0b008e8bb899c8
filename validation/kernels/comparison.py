"""What a run of the kernels left in the output, against the float32 reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from .faults import Fault

POISON = 0x7FA5
"""The bits of bf16 that stand for "never written": a NaN that no arithmetic makes."""

TOLERANCE = 1 / 64
"""Greatest deviation of an element, as a share of the largest element of its row.

bf16 rounds an output by up to 1/256 of itself, or 1/128 where it is cut off, as Triton's
interpreter does; the rest is for fp16 weights and for the FP8 dot product's accumulator.
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an output differs from the reference, counted in rows of one query and head.

    `first` is the query and head of the first row that is not right, and `worst` the greatest
    deviation of a written row, as a share of its largest element (`inf` where it is no number).
    """

    rows: int
    unwritten: int
    wrong: int
    worst: float
    first: tuple[int, int] | None
    faults: list[Fault] = field(default_factory=list)

    @property
    def matches(self) -> bool:
        """Every row was written and is right, and the plan fitted the tensors."""
        return not (self.unwritten or self.wrong or self.faults)

    @property
    def _worst(self) -> str:
        share = "not a number" if self.worst == float("inf") else f"{self.worst:.2%}"
        return f"worst deviation {share}"

    def __str__(self) -> str:
        if self.matches:
            return f"matches the reference in {self.rows:,} rows, {self._worst}"
        said = [
            *([f"{self.unwritten:,} not written"] if self.unwritten else []),
            *([f"{self.wrong:,} wrong ({self._worst})"] if self.wrong else []),
        ]
        where = f", first query {self.first[0]} of head {self.first[1]}" if self.first else ""
        rows = f"of {self.rows:,} rows {' and '.join(said)}{where}" if said else "rows are right"
        return "; ".join([f"does not match: {rows}", *map(str, self.faults)])


def poison(output: torch.Tensor) -> None:
    """Mark every element of a bf16 tensor as never written, in the current stream."""
    output.view(torch.int16).fill_(POISON)


def compare(
    output: torch.Tensor, reference: torch.Tensor, faults: list[Fault], tolerance: float = TOLERANCE
) -> Comparison:
    """Compare an output [queries, heads, 128] in bf16 with its reference in float32."""
    untouched = (output.view(torch.int16) == POISON).any(-1)
    size = reference.abs().amax(-1)
    deviation = (output.float() - reference).abs().amax(-1)
    # Written so that NaN is wrong; a row of zeros must be exactly that.
    right = deviation <= tolerance * size
    share = torch.where(deviation == 0, 0.0, deviation / size)
    share = torch.where(share.isnan(), float("inf"), share)
    written = share[~untouched]
    bad = (untouched | ~right).nonzero()
    return Comparison(
        rows=untouched.numel(),
        unwritten=int(untouched.sum()),
        wrong=int((~right & ~untouched).sum()),
        worst=float(written.max()) if written.numel() else 0.0,
        first=(int(bad[0, 0]), int(bad[0, 1])) if len(bad) else None,
        faults=faults,
    )
