"""R9.4: a kernel that spins on host memory with system-scope loads comes to an end.

Source: ROCm documentation, "Coherence control".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("Q",)
ALLOWED = {"cuda": {"Q=1"}, "hip": {"Q=1"}}
FORBIDDEN = {"cuda": {"Q=0", "Q=torn", "hang"}, "hip": {"Q=0", "Q=torn", "hang"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){while(ld_acquire_sys(F)==0); Q=1}; F=1; sync(n1); obs Q."""
    n1, f, q = gpu.stream("n1"), gpu.cell("F"), gpu.pinned("Q")
    gpu.wait_value(n1, f, 1)
    gpu.launch("K", n1, writes={q: 1})
    f.set(1)
    n1.synchronize()
