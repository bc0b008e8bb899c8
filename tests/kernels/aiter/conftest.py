"""A module with AITER's signatures, which does what AITER does as far as one can without its GPU.

Parameters are those of ROCm/aiter commit e4048607a535 (or, where a test says so, of another
version). The prefill planner is ours, behind what torch's dispatcher does to defaults; the prefill
kernels are our Triton kernels; decode only says what it was given.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

UNITS = 3

REDUCE_ARGUMENTS = {
    "seven": "partial_output, partial_lse, reduce_indptr, reduce_final_map, reduce_partial_map, "
    "final_output, final_lse=None",
    "eight": "partial_output, partial_lse, reduce_indptr, reduce_final_map, reduce_partial_map, "
    "max_seqlen_q, final_output, final_lse=None",
    "nine": "partial_output, partial_lse, reduce_indptr, reduce_final_map, reduce_partial_map, "
    "max_seqlen_q, num_kv_splits, final_output, final_lse=None",
}

ARGUMENTS = {
    "get_ps_metadata_info_v1": "batch_size, num_head_k, max_qlen, qlen_granularity=256",
    "get_ps_metadata_v1": "seqlens_qo_indptr, pages_kv_indptr, context_lens, gqa_ratio, "
    "num_heads_k, work_metadata_ptrs, work_indptr, work_info, reduce_indptr, reduce_final_map, "
    "reduce_partial_map, qhead_granularity=1, qlen_granularity=256, kvlen_granularity=16, "
    "block_size=16, is_causal=True",
    "mla_prefill_ps_asm_fwd": "Q, K, V, qo_indptr, kv_indptr, kv_page_indices, work_indptr, "
    "work_info_set, max_seqlen_q, softmax_scale, is_causal, splitData, splitLse, output, "
    "q_scale=None, k_scale=None, v_scale=None",
    "mla_reduce_v1": REDUCE_ARGUMENTS["nine"],
    "get_mla_metadata_info_v1": "batch_size, max_seqlen_qo, num_head_qo, q_dtype, kv_dtype, "
    "is_sparse, fast_mode=True, num_kv_splits=32, intra_batch_mode=False, max_split_per_batch=-1",
    "get_mla_metadata_v1": "seqlens_qo_indptr, seqlens_kv_indptr, kv_last_page_lens, "
    "num_heads_per_head_k, num_heads_k, is_causal, work_metadata_ptrs, work_info_set, work_indptr, "
    "reduce_indptr, reduce_final_map, reduce_partial_map, page_size=1, kv_granularity=16, "
    "max_seqlen_qo=-1, uni_seqlen_qo=-1, fast_mode=True, topk=-1, max_split_per_batch=-1, "
    "intra_batch_mode=False, is_cp_round_robin=False, mla_version=2, dtype_q_nope=None, "
    "dtype_q_rope=None, dtype_kv_nope=None, dtype_kv_rope=None, dtype_q=None, dtype_kv=None",
    "mla_decode_fwd": "q, kv_buffer, o, qo_indptr, kv_indptr, kv_indices, kv_last_page_lens, "
    "max_seqlen_q, page_size=1, nhead_kv=1, sm_scale=None, logit_cap=0.0, num_kv_splits=None, "
    "num_kv_splits_indptr=None, work_meta_data=None, work_indptr=None, work_info_set=None, "
    "reduce_indptr=None, reduce_final_map=None, reduce_partial_map=None, q_scale=None, "
    "kv_scale=None, intra_batch_mode=False, return_logits=False, return_lse=False",
}


class FakeAiter:
    """AITER's functions. `calls` holds what each call was given, by the callee's own names.

    `runs` maps a name to what the function does with that; others do nothing.
    """

    def __init__(self, runs: dict[str, Callable[..., Any]], arguments: dict[str, str]) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.module = ModuleType("aiter")
        self.module.jit = ModuleType("aiter.jit")  # type: ignore[attr-defined]
        self.mla = ModuleType("aiter.mla")
        for name, text in {**ARGUMENTS, **arguments}.items():
            home = self.mla if name == "mla_decode_fwd" else self.module
            setattr(home, name, self.function(name, text, runs.get(name)))

    def function(self, name: str, text: str, run: Callable[..., Any] | None) -> Callable[..., Any]:
        """Make a function with these parameters, as text, which hands on what it is given."""
        space: dict[str, Any] = {}
        exec(f"def {name}({text}): return take(locals())", space)  # noqa: S102 - our own text

        def take(given: dict[str, Any]) -> Any:
            self.calls.append((name, given))
            return run(**given) if run else None

        space["take"] = take
        return space[name]

    def given(self, name: str) -> dict[str, Any]:
        """What the last call of a function was given; nothing where there was none."""
        return next((given for known, given in reversed(self.calls) if known == name), {})


@pytest.fixture
def rocm(monkeypatch: pytest.MonkeyPatch, torch: Any) -> Callable[..., None]:
    """`rocm(architecture)`: torch says that it is built for ROCm and sees such a GPU."""
    if torch.cuda.is_available():
        torch.cuda.init()  # else it would look at the stand-in when it is first used

    def set_up(architecture: str = "gfx950:sramecc+:xnack-") -> None:
        device = SimpleNamespace(gcnArchName=architecture, multi_processor_count=UNITS)
        monkeypatch.setattr(torch.version, "hip", "7.2.0", raising=False)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: device)

    return set_up


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeAiter]:
    """`install(runs, arguments)`: a fake AITER, which `import aiter` finds."""

    def put(
        runs: dict[str, Callable[..., Any]] | None = None, arguments: dict[str, str] | None = None
    ) -> FakeAiter:
        fake = FakeAiter(runs or {}, arguments or {})
        monkeypatch.setitem(sys.modules, "aiter", fake.module)
        monkeypatch.setitem(sys.modules, "aiter.mla", fake.mla)
        return fake

    return put


@pytest.fixture
def reduce_arguments() -> dict[str, str]:
    """The parameters that `mla_reduce_v1` has had, by their number."""
    return REDUCE_ARGUMENTS


@pytest.fixture
def dispatched() -> Callable[..., dict[str, Any]]:
    """`dispatched(name, given)`: what is left of arguments after torch's dispatcher."""

    def drop(name: str, given: dict[str, Any]) -> dict[str, Any]:
        space: dict[str, Any] = {}
        exec(f"def function({ARGUMENTS[name]}): ...", space)  # noqa: S102 - our own text
        kept = dict(given)
        for parameter in [*inspect.signature(space["function"]).parameters.values()][::-1]:
            if given[parameter.name] != parameter.default:
                break
            del kept[parameter.name]
        return kept

    return drop


@pytest.fixture
def sizes(torch: Any) -> Callable[..., Any]:
    """AITER's `get_ps_metadata_info_v1`: bare numbers for arrays of one dimension."""
    from streamorder.validation.planner import plan_sizes

    def info(batch_size: int, num_head_k: int, max_qlen: int, qlen_granularity: int) -> Any:
        shapes = plan_sizes(batch_size, num_head_k, max_qlen, qlen_granularity, cu_count=UNITS)
        return tuple(
            (
                shape if len(shape) > 1 else min(shape),
                torch.uint64 if name == "work_metadata_ptrs" else torch.int32,
            )
            for name, shape in shapes.items()
        )

    return info


@pytest.fixture
def plans(torch: Any, dispatched: Callable[..., dict[str, Any]]) -> Callable[..., None]:
    """AITER's `get_ps_metadata_v1`: our planner, with the arguments that reach C++."""
    from streamorder.validation.planner import plan_prefill

    def fill(**given: Any) -> None:
        names = ("work_indptr", "work_info", "reduce_indptr", "reduce_final_map")
        outputs = {name: given[name] for name in (*names, "reduce_partial_map")}
        in_cpp = {
            "qhead_granularity": 1,
            "qlen_granularity": 256,
            "kvlen_granularity": 1,
            "block_size": 1,
            "is_causal": True,
        }
        arrived = {**in_cpp, **dispatched("get_ps_metadata_v1", given)}
        plan = plan_prefill(
            arrived["seqlens_qo_indptr"].tolist(),
            arrived["pages_kv_indptr"].tolist(),
            arrived["context_lens"].tolist(),
            num_heads_k=arrived["num_heads_k"],
            gqa_ratio=arrived["gqa_ratio"],
            cu_count=UNITS,
            **{name: arrived[name] for name in in_cpp},
            buffers={name: tuple(output.shape) for name, output in outputs.items()},
            strict=False,
        )
        for name, output in outputs.items():
            output.copy_(torch.from_numpy(plan[name]))

    return fill
