"""The staged path under torch's own check that the host does not wait for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .publishing import way
from .reproducer import BATCH_A, BATCH_B, Reproducer

if TYPE_CHECKING:
    from .torch_runtime import TorchRuntime


def check_sync_free(runtime: TorchRuntime, steps: int = 50, heads: int = 4) -> dict[str, Any]:
    """Publish and run with torch's sync debug mode at `error`; then what it does refuse.

    torch knows of waits that it makes itself. The slot's event is not among them: that wait is the
    protocol's own, for copies and never for kernels behind them.
    """
    torch = runtime.torch
    reproducer = Reproducer(runtime, heads, BATCH_A, BATCH_B)
    refused: str | None = None
    control = "not refused"
    with torch.cuda.stream(reproducer.stream):
        publishers = {
            name: way(name, runtime, reproducer.shapes) for name in ("staged", "staged-five")
        }
        runtime.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            for step in range(steps):
                for publisher in publishers.values():
                    publisher.publish(reproducer.plans[step % 2])
                    reproducer.prefills[step % 2].run(publisher.arrays)
        except RuntimeError as error:
            refused = str(error).splitlines()[0]
        try:
            publishers["staged"].arrays["reduce_indptr"][-1].item()
        except RuntimeError as error:
            control = str(error).splitlines()[0]
        finally:
            torch.cuda.set_sync_debug_mode("default")
        runtime.synchronize()
        right = [prefill.compare().matches for prefill in reproducer.prefills]
    return {
        "steps": steps,
        "refused": refused,
        "item_refused": control != "not refused",
        "item": control,
        "outputs_match": all(right),
    }
