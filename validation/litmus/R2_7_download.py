"""R2.7: HIP completes a download to pageable memory within the call: a host that must release the
stream afterwards always hangs. Under CUDA it may.

Source: rocm-systems, rocblit.cpp; CUDA driver API, "API synchronization behavior".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("G",)
ALLOWED = {"cuda": {"G=1", "hang"}, "hip": {"hang"}}
FORBIDDEN = {"cuda": {"G=0", "G=torn"}, "hip": {"G=0", "G=1", "G=torn"}}


def litmus(gpu: Gpu) -> None:
    """K(n1){spin until F; D=1}; D2H_async(n1, G<-D); F=1; sync(n1); obs G."""
    n1, f = gpu.stream("n1"), gpu.cell("F")
    g, d = gpu.pageable("G"), gpu.device("D")
    gpu.wait_value(n1, f, 1)
    gpu.launch("K", n1, writes={d: 1})
    gpu.memcpy_async(g, d, n1)
    f.set(1)
    n1.synchronize()
