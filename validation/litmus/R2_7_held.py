"""R2.7: HIP stages within the call, whatever the stream still has to do: with the stream held, the
old content travels. A large copy waits for the stream first, CUDA may in any: that hangs.

Source: ROCm/clr, hipamd/src/hip_memory.cpp and rocblit.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamorder import Gpu

OBSERVE = ("D",)
ALLOWED = {"cuda": {"D=0", "hang"}, "hip": {"D=0", "hang"}, "cuda-hmm": {"D=0", "D=1", "hang"}}
FORBIDDEN = {"cuda": {"D=1", "D=torn"}, "hip": {"D=1", "D=torn"}, "cuda-hmm": set()}


def litmus(gpu: Gpu) -> None:
    """K(n1){spin until F}; hostfunc(n1, {G=1}); H2D_async(n1, D<-G, small); F=1; sync(n1); obs
    D.
    """
    n1, f = gpu.stream("n1"), gpu.cell("F")
    g, d = gpu.pageable("G"), gpu.device("D")
    gpu.wait_value(n1, f, 1)
    gpu.host_func("f", n1, writes={g: 1})
    gpu.memcpy_async(d, g, n1)
    f.set(1)
    n1.synchronize()
