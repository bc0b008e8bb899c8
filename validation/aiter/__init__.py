"""AITER's own persistent attention on AMD GPUs: found, checked, and called so that it is right.

- `library.py`: find AITER, or say in one line why it cannot run here
- `calling.py`: arguments go by name, in the order of the function at hand
- `prefill.py`: the FP8 prefill planner into pinned memory, forward and reduce kernel
- `decode.py`: the decode planner on the stream, and the decode kernel

Facts about AITER are those of ROCm/aiter commit e4048607a535 unless another is named. Nothing here
has run on an AMD GPU: tests run it against functions with AITER's signatures (docs/aiter.md).
"""

from __future__ import annotations

from .library import DECODE, PREFILL, Aiter, find_aiter

__all__ = ["DECODE", "PREFILL", "Aiter", "find_aiter"]
