"""Both kernels compile for the GPUs that they are for; none is needed to compile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")
pytest.importorskip("torch", reason="the attention kernels need torch: make torch")
pytest.importorskip("triton", reason="the attention kernels need Triton: make torch")

pytestmark = pytest.mark.slow

# In a process of its own: in this one the kernels may have been made for the interpreter.
COMPILE = """
import json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from streamorder.validation.kernels.forward import forward_kernel
from streamorder.validation.kernels.prefill import BLOCKS, MERGE_ROWS
from streamorder.validation.kernels.reduce import reduce_kernel

TYPES = {
    **dict.fromkeys(("q", "k", "v"), "*fp8e4nv"),
    **dict.fromkeys(("split_data", "split_lse", "q_scale", "k_scale", "v_scale"), "*fp32"),
    "output": "*bf16",
    "softmax_scale": "fp32",
    **dict.fromkeys(("rows", "queries", "keys", "heads", "items"), "i32"),
    **dict.fromkeys(("partial_rows", "merges", "partials"), "i32"),
}

def compile_for(target, kernel, constants, options):
    signature = {name: TYPES.get(name, "*i32") for name in kernel.arg_names}
    signature.update(dict.fromkeys(constants, "constexpr"))
    source = ASTSource(kernel, signature, constants)
    compiled = triton.compile(source, target=target, options=options)
    return {"shared": compiled.metadata.shared, "parts": sorted(compiled.asm)}

backend, architecture, warp = json.loads(sys.argv[1])
target = GPUTarget(backend, architecture, warp)
blocks = {name: BLOCKS[name] for name in ("block_m", "block_n")}
options = {name: BLOCKS[name] for name in ("num_warps", "num_stages")}
print(json.dumps([
    *(compile_for(target, forward_kernel, {"causal": c, **blocks}, options) for c in (True, False)),
    compile_for(target, reduce_kernel, {"block": MERGE_ROWS}, {}),
]))
"""


@pytest.mark.parametrize(
    ("target", "binary", "shared"),
    [(("cuda", 90, 32), "cubin", 227 << 10), (("hip", "gfx950", 64), "hsaco", 160 << 10)],
    ids=["h200", "gfx950"],
)
def test_kernels_compile(target: tuple[object, ...], binary: str, shared: int) -> None:
    """To machine code, within the shared memory that a thread group may have there."""
    root = Path(__file__).parents[2]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = str(root / ".torch")
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, json.dumps(target)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    kernels = json.loads(done.stdout)
    assert len(kernels) == 3
    for kernel in kernels:
        assert binary in kernel["parts"]
        assert kernel["shared"] <= shared
