"""The one shape of attention for which AITER has persistent prefill kernels (`qh192`, `vh128`)."""

from __future__ import annotations

QK_DIM = 192
"""Elements of a query or key of one head."""

V_DIM = 128
"""Elements of a value, hence of an output, of one head."""

TILE = 256
"""Queries of a tile, and rows of a partial tile: the plan's `qlen_granularity`."""
