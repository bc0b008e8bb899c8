"""Plan equivalence: the host's plan, and what is on the device after it was published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .publishing import way

if TYPE_CHECKING:
    from .torch_runtime import TorchRuntime

SHAPES = ((8175,), (6992, 6896, 2495), (4096,) * 4, (1,), (2048, 512, 128, 31))
WAYS = ("unpatched", "staged-five", "staged")


def compare_plans(runtime: TorchRuntime, heads: int = 16) -> dict[str, Any]:
    """Publish each plan in each way, twice in turn, and read every array back."""
    from .plan_inputs import plan_sizes
    from .planner import plan_lengths

    torch = runtime.torch
    cu_count = torch.cuda.get_device_properties(0).multi_processor_count
    longest = max(max(lengths) for lengths in SHAPES)
    shapes = plan_sizes(max(map(len, SHAPES)), heads, longest, cu_count=cu_count)
    stream = runtime.stream(blocking=False)
    rows = []
    with torch.cuda.stream(stream):
        publishers = {name: way(name, runtime, shapes) for name in WAYS}
        for lengths in SHAPES * 2:
            plan = plan_lengths(lengths, cu_count=cu_count, num_heads_k=heads, buffers=shapes)
            for name, publisher in publishers.items():
                arrays = publisher.publish(plan)
                runtime.synchronize()
                same = {
                    part: arrays[part].cpu().numpy().tobytes() == plan[part].tobytes()
                    for part in plan
                }
                nbytes = sum(array.nbytes for array in plan.values())
                rows.append(
                    {
                        "lengths": list(lengths),
                        "way": name,
                        "identical": all(same.values()),
                        "differing": [part for part, equal in same.items() if not equal],
                        "nbytes": nbytes,
                    }
                )
    return {"rows": rows, "heads": heads, "cu_count": cu_count}
