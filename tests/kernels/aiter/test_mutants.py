"""Arguments swapped in the backend do not go unnoticed: every neighbouring pair is tried.

The backend names each argument, in dicts. A mutant swaps the values of two entries that stand next
to each other, and `disagreements` must find that AITER's function is given something else by that
name.
"""

from __future__ import annotations

import ast
import copy
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")
pytest.importorskip("torch", reason="the AITER backend needs torch: make torch")
pytest.importorskip("triton", reason="the attention kernels need Triton: make torch")

from streamorder.model.errors import BadInput
from streamorder.validation.aiter import DECODE, PREFILL, find_aiter
from streamorder.validation.aiter import decode as decode_module
from streamorder.validation.aiter import prefill as prefill_module
from streamorder.validation.kernels import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAIRS = {"prefill": 35, "decode": 40}
"""Neighbouring entries whose values are written differently; a new argument raises them."""


def mutants(module: ModuleType) -> Iterator[tuple[str, ast.Module]]:
    """The module with two neighbours swapped, and what they are."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    places = [
        (node, place)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for node in [*call.args, *(keyword.value for keyword in call.keywords)]
        if isinstance(node, ast.Dict)
        for place in range(len(node.values) - 1)
    ]
    for node, place in places:
        first, second = node.values[place : place + 2]
        names = node.keys[place : place + 2]
        if None in names or ast.dump(first) == ast.dump(second):
            continue
        node.values[place : place + 2] = second, first
        what = " and ".join(str(ast.literal_eval(name)) for name in names if name)
        yield what, copy.deepcopy(tree)
        node.values[place : place + 2] = first, second


def loaded(module: ModuleType, tree: ast.Module) -> ModuleType:
    """A module of this source, with the other's name and package."""
    mutant = ModuleType(module.__name__)
    mutant.__package__, mutant.__file__ = module.__package__, module.__file__
    exec(compile(tree, str(module.__file__), "exec"), vars(mutant))  # noqa: S102 - our own source
    return mutant


def same(seen: Any, expected: Any) -> bool:
    """Whether a value is the expected one: the very tensor, or an equal value of the type."""
    if hasattr(expected, "data_ptr"):
        return seen is expected
    return type(seen) is type(expected) and seen == expected


def disagreements(fake: Any, expected: dict[str, dict[str, Any]]) -> list[str]:
    """What AITER's functions were given that is not what they are to be given."""
    return [
        f"{function}({name})"
        for function, values in expected.items()
        for name, value in values.items()
        if not same(fake.given(function).get(name, "nothing"), value)
    ]


@pytest.fixture
def prefill(
    rocm: Callable[..., None], install: Callable[..., Any], sizes: Any
) -> Callable[[ModuleType], list[str]]:
    """`prefill(module)`: call all of it; what arrived otherwise than it should."""
    batch = Batch.random([3, 5], heads=2, device="cpu", context_lens=[4, 7], scales=(0.5, 1.5, 2.0))
    contexts = batch.qo_indptr.new_tensor(batch.context_lens)

    def run(module: ModuleType) -> list[str]:
        rocm()
        fake = install({"get_ps_metadata_info_v1": sizes})
        library = find_aiter(PREFILL)
        planner = module.AiterPlanner(library, max_batch=4, max_qlen=300, heads=2)
        into = planner.buffers(pinned=False)
        planner.plan(into, batch.qo_indptr, batch.kv_indptr, contexts)
        done = module.AiterPrefill(library, batch, partial_tiles=1)
        done.run(into)
        maps = {name: into[name] for name in into if name.startswith("reduce_")}
        return disagreements(
            fake,
            {
                "get_ps_metadata_info_v1": {
                    "batch_size": 4,
                    "num_head_k": 2,
                    "max_qlen": 300,
                    "qlen_granularity": 256,
                },
                "get_ps_metadata_v1": {
                    "seqlens_qo_indptr": batch.qo_indptr,
                    "pages_kv_indptr": batch.kv_indptr,
                    "context_lens": contexts,
                    "gqa_ratio": 1,
                    "num_heads_k": 2,
                    "work_metadata_ptrs": into["work_metadata_ptrs"],
                    "work_indptr": into["work_indptr"],
                    "work_info": into["work_info"],
                    **maps,
                    "qhead_granularity": 1,
                    "qlen_granularity": 256,
                    "kvlen_granularity": 128,
                    "block_size": 1,
                    "is_causal": True,
                },
                "mla_prefill_ps_asm_fwd": {
                    "Q": batch.q,
                    "K": batch.k,
                    "V": batch.v,
                    "qo_indptr": batch.qo_indptr,
                    "kv_indptr": batch.kv_indptr,
                    "kv_page_indices": batch.kv_page_indices,
                    "work_indptr": into["work_indptr"],
                    "work_info_set": into["work_info"],
                    "max_seqlen_q": 5,
                    "softmax_scale": 192**-0.5,
                    "is_causal": True,
                    "splitData": done.split_data,
                    "splitLse": done.split_lse,
                    "output": done.output,
                    "q_scale": batch.q_scale,
                    "k_scale": batch.k_scale,
                    "v_scale": batch.v_scale,
                },
                "mla_reduce_v1": {
                    "partial_output": done.split_data,
                    "partial_lse": done.split_lse,
                    **maps,
                    "max_seqlen_q": 256,
                    "num_kv_splits": 0,
                    "final_output": done.output,
                    "final_lse": None,
                },
            },
        )

    return run


@pytest.fixture
def decode(
    rocm: Callable[..., None], install: Callable[..., Any], sizes: Any, torch: Any
) -> Callable[[ModuleType], list[str]]:
    """`decode(module)`: likewise."""
    indices = [torch.arange(length, dtype=torch.int32) for length in (3, 3, 5, 2)]
    fp8, bf16 = torch.float8_e4m3fn, torch.bfloat16
    q, kv, output, q_scale, kv_scale = (
        torch.zeros(1, dtype=kind) for kind in (fp8, bf16, bf16, torch.float32, torch.float32)
    )

    def run(module: ModuleType) -> list[str]:
        rocm()
        fake = install({"get_mla_metadata_info_v1": lambda **_: sizes(4, 1, 256, 256)})
        made = module.AiterDecode(
            find_aiter(DECODE),
            max_batch=4,
            max_qlen=5,
            heads=32,
            page_size=2,
            device="cpu",
            q_dtype=fp8,
            kv_dtype=bf16,
        )
        batch = module.DecodeBatch(*indices)
        made.plan(batch)
        scales = {"q_scale": q_scale, "kv_scale": kv_scale}
        made.forward(q, kv, output, batch, softmax_scale=0.25, **scales)
        plan = {name: made.buffers[name] for name in made.buffers if name != "work_metadata_ptrs"}
        plan["work_info_set"] = plan.pop("work_info")
        return disagreements(
            fake,
            {
                "get_mla_metadata_info_v1": {
                    "batch_size": 4,
                    "max_seqlen_qo": 5,
                    "num_head_qo": 32,
                    "q_dtype": fp8,
                    "kv_dtype": bf16,
                    "is_sparse": False,
                    "fast_mode": True,
                    "intra_batch_mode": False,
                },
                "get_mla_metadata_v1": {
                    "seqlens_qo_indptr": indices[0],
                    "seqlens_kv_indptr": indices[1],
                    "kv_last_page_lens": indices[3],
                    "num_heads_per_head_k": 32,
                    "num_heads_k": 1,
                    "is_causal": True,
                    "work_metadata_ptrs": made.buffers["work_metadata_ptrs"],
                    **plan,
                    "page_size": 2,
                    "kv_granularity": 16,
                    "max_seqlen_qo": 5,
                    "uni_seqlen_qo": 5,
                    "fast_mode": True,
                    "topk": -1,
                    "dtype_q": fp8,
                    "dtype_kv": bf16,
                },
                "mla_decode_fwd": {
                    "q": q,
                    "kv_buffer": kv,
                    "o": output,
                    "qo_indptr": indices[0],
                    "kv_indptr": indices[1],
                    "kv_indices": indices[2],
                    "kv_last_page_lens": indices[3],
                    "max_seqlen_q": 5,
                    "page_size": 2,
                    "nhead_kv": 1,
                    "sm_scale": 0.25,
                    "logit_cap": 0.0,
                    "num_kv_splits": 3,
                    "num_kv_splits_indptr": None,
                    "work_meta_data": made.buffers["work_metadata_ptrs"],
                    **plan,
                    "q_scale": q_scale,
                    "kv_scale": kv_scale,
                },
            },
        )

    return run


@pytest.mark.parametrize("name", PAIRS)
def test_every_argument_arrives_where_it_belongs(name: str, request: pytest.FixtureRequest) -> None:
    """By the names that AITER's functions have for them."""
    module = {"prefill": prefill_module, "decode": decode_module}[name]
    assert request.getfixturevalue(name)(module) == []


@pytest.mark.parametrize("name", PAIRS)
def test_no_swap_goes_unnoticed(name: str, request: pytest.FixtureRequest) -> None:
    """Each mutant gives some function another value, or cannot make the calls at all."""
    module = {"prefill": prefill_module, "decode": decode_module}[name]
    run = request.getfixturevalue(name)
    assert run(loaded(module, ast.parse(Path(str(module.__file__)).read_text("utf-8")))) == []
    noticed = [(what, is_noticed(run, loaded(module, tree))) for what, tree in mutants(module)]
    assert [what for what, seen in noticed if not seen] == []
    assert len(noticed) == PAIRS[name]


def is_noticed(run: Callable[[ModuleType], list[str]], mutant: ModuleType) -> bool:
    """Whether something arrives that should not, or the mutant refuses to call."""
    try:
        return bool(run(mutant))
    except (BadInput, TypeError):
        return True
