"""Reference kernels in Triton: FP8 prefill attention that runs a plan as AITER's kernels do.

    batch = Batch.random([8175], heads=16, device="cuda")      # FP8 queries, keys, values
    plan = batch.plan(cu_count=256)                            # numpy, on the host
    arrays = plan_to_device(plan, "cuda")                      # or your own int32 tensors
    prefill = Prefill(batch, partial_tiles=partial_tiles(plan))
    prefill.run(arrays)                                        # forward, then reduce
    print(prefill.compare())                                   # matches the float32 reference

- `batch.py`: what attention is computed of, and its float32 reference
- `prefill.py`: poisoned outputs, and the launches on the current stream
- `comparison.py`: which rows were not written, or are wrong; what the kernels reported
- `forward.py`, `reduce.py`: the two kernels; `faults.py`: plans that point outside the tensors

They run on NVIDIA and AMD GPUs, and on a CPU where `TRITON_INTERPRET=1` was set before this is
imported.
"""

from __future__ import annotations

from ...model.errors import CannotRunHere

try:
    import torch as _torch
    import triton as _triton
except ModuleNotFoundError as error:
    raise CannotRunHere(
        f"the attention kernels need {error.name}: pip install 'streamorder[gpu]'"
    ) from error

from .batch import Batch, partial_tiles, plan_to_device
from .comparison import Comparison
from .faults import Fault
from .prefill import Prefill, warm_up

__all__ = [
    "Batch",
    "Comparison",
    "Fault",
    "Prefill",
    "partial_tiles",
    "plan_to_device",
    "warm_up",
]

del _torch, _triton
