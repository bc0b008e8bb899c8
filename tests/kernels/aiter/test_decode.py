"""AITER's persistent decode, called as it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")
pytest.importorskip("torch", reason="the AITER backend needs torch: make torch")

from streamorder.model.errors import BadInput
from streamorder.validation.aiter import DECODE, find_aiter
from streamorder.validation.aiter.decode import AiterDecode, DecodeBatch

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def decode(
    rocm: Callable[..., None], install: Callable[..., Any], sizes: Any
) -> Callable[..., tuple[Any, AiterDecode]]:
    """`decode(arguments, **changes)`: the fake AITER, and a decode over it."""

    def make(arguments: dict[str, str] | None = None, **changes: Any) -> tuple[Any, AiterDecode]:
        import_torch: Any = pytest.importorskip("torch")
        rocm("gfx942")
        runs = {"get_mla_metadata_info_v1": lambda **_: sizes(4, 1, 256, 256)}
        fake = install(runs, arguments)
        bf16 = import_torch.bfloat16
        settings = {"max_batch": 4, "max_qlen": 3, "heads": 32, "device": "cpu"}
        settings |= {"q_dtype": bf16, "kv_dtype": bf16, **changes}
        return fake, AiterDecode(find_aiter(DECODE), **settings)

    return make


@pytest.fixture
def batch(torch: Any) -> DecodeBatch:
    """Two requests of 3 queries; one of the index tensors is a column of a table."""
    table = torch.arange(6, dtype=torch.int32).view(3, 2)
    return DecodeBatch(
        torch.tensor([0, 3, 6]), table[:, 1], torch.arange(5), torch.ones(2, dtype=torch.int32)
    )


def inputs(torch: Any, **types: Any) -> tuple[Any, Any, Any]:
    """Queries, keys and an output."""
    q, kv = types.get("q", torch.bfloat16), types.get("kv", torch.bfloat16)
    return (
        torch.zeros(6, 32, 576).to(q),
        torch.zeros(5, 1, 1, 576).to(kv),
        torch.zeros(6, 32, 512, dtype=torch.bfloat16),
    )


def test_types_are_told(
    torch: Any, decode: Callable[..., tuple[Any, AiterDecode]], batch: DecodeBatch
) -> None:
    """Left out they are bf16, and the plan for FP8 is for another fold of the heads."""
    fp8 = torch.float8_e4m3fn
    fake, made = decode(q_dtype=fp8, kv_dtype=fp8)
    made.plan(batch)
    given = fake.given("get_mla_metadata_v1")
    assert (given["dtype_q"], given["dtype_kv"]) == (fp8, fp8)
    sized = fake.given("get_mla_metadata_info_v1")
    assert (sized["q_dtype"], sized["kv_dtype"], sized["num_head_qo"]) == (fp8, fp8, 32)


def test_types_of_versions_that_name_four(
    torch: Any, decode: Callable[..., tuple[Any, AiterDecode]], batch: DecodeBatch
) -> None:
    """Some versions have a type for each part of a head, and none for the whole."""
    text = (
        "seqlens_qo_indptr, seqlens_kv_indptr, kv_last_page_lens, num_heads_per_head_k, "
        "num_heads_k, is_causal, work_metadata_ptrs, work_info_set, work_indptr, reduce_indptr, "
        "reduce_final_map, reduce_partial_map, page_size=1, kv_granularity=16, max_seqlen_qo=-1, "
        "uni_seqlen_qo=-1, fast_mode=True, dtype_q_nope=None, dtype_q_rope=None, "
        "dtype_kv_nope=None, dtype_kv_rope=None"
    )
    fp8, bf16 = torch.float8_e4m3fn, torch.bfloat16
    fake, made = decode({"get_mla_metadata_v1": text}, q_dtype=fp8, kv_dtype=bf16)
    made.plan(batch)
    given = fake.given("get_mla_metadata_v1")
    assert [given[f"dtype_{part}"] for part in ("q_nope", "q_rope", "kv_nope", "kv_rope")] == [
        *(fp8, fp8, bf16, bf16)
    ]


@pytest.mark.parametrize("order", ["work_info_set, work_indptr", "work_indptr, work_info"])
def test_order_of_the_work_buffers(
    decode: Callable[..., tuple[Any, AiterDecode]], batch: DecodeBatch, order: str
) -> None:
    """It is the reverse of the prefill planner's, and was the other way round before."""
    text = (
        "seqlens_qo_indptr, seqlens_kv_indptr, kv_last_page_lens, num_heads_per_head_k, "
        f"num_heads_k, is_causal, work_metadata_ptrs, {order}, reduce_indptr, reduce_final_map, "
        "reduce_partial_map, page_size=1, kv_granularity=16, max_seqlen_qo=-1, uni_seqlen_qo=-1, "
        "fast_mode=True, dtype_q=None, dtype_kv=None"
    )
    fake, made = decode({"get_mla_metadata_v1": text})
    made.plan(batch)
    given = fake.given("get_mla_metadata_v1")
    assert given["work_indptr"] is made.buffers["work_indptr"]
    info = given.get("work_info_set", given.get("work_info"))
    assert info is made.buffers["work_info"]


def test_indices_are_made_contiguous_int32(
    torch: Any, decode: Callable[..., tuple[Any, AiterDecode]], batch: DecodeBatch
) -> None:
    """For the planner as for the kernel."""
    fake, made = decode()
    made.plan(batch)
    made.forward(*inputs(torch), batch, softmax_scale=0.1)
    planned, launched = fake.given("get_mla_metadata_v1"), fake.given("mla_decode_fwd")
    for seen in (planned["seqlens_kv_indptr"], launched["kv_indptr"], launched["qo_indptr"]):
        assert (seen.dtype, seen.stride()) == (torch.int32, (1,))
    assert planned["seqlens_kv_indptr"].tolist() == [1, 3, 5]


def test_the_plan_is_used(
    torch: Any, decode: Callable[..., tuple[Any, AiterDecode]], batch: DecodeBatch
) -> None:
    """Without a number of splits bf16 with 16 heads and 32 requests would quietly do without."""
    fake, made = decode()
    made.forward(*inputs(torch), batch, softmax_scale=0.1)
    given = fake.given("mla_decode_fwd")
    assert given["num_kv_splits"] == 3
    assert given["work_meta_data"] is made.buffers["work_metadata_ptrs"]
    assert given["work_info_set"] is made.buffers["work_info"]


@pytest.mark.parametrize("missing", ["q", "kv"])
def test_fp8_needs_its_scale(
    torch: Any,
    decode: Callable[..., tuple[Any, AiterDecode]],
    batch: DecodeBatch,
    missing: str,
) -> None:
    """The kernel reads it whether it is there or not."""
    fp8 = torch.float8_e4m3fn
    _, made = decode(q_dtype=fp8, kv_dtype=fp8)
    scales = {"q_scale": torch.ones(1), "kv_scale": torch.ones(1)}
    made.forward(*inputs(torch, q=fp8, kv=fp8), batch, softmax_scale=0.1, **scales)
    del scales[f"{missing}_scale"]
    with pytest.raises(BadInput, match=f"{missing} is FP8: the kernel reads {missing}_scale"):
        made.forward(*inputs(torch, q=fp8, kv=fp8), batch, softmax_scale=0.1, **scales)


def test_tensors_of_another_type_are_refused(
    torch: Any, decode: Callable[..., tuple[Any, AiterDecode]], batch: DecodeBatch
) -> None:
    """The plan depends on the types."""
    _, made = decode()
    with pytest.raises(BadInput, match=r"kv is torch\.float8_e4m3fn, and the plan is for"):
        made.forward(*inputs(torch, kv=torch.float8_e4m3fn), batch, softmax_scale=0.1)


@pytest.mark.parametrize("heads", [0, 8, 24, 144])
def test_heads_without_a_persistent_kernel(
    decode: Callable[..., tuple[Any, AiterDecode]], heads: int
) -> None:
    """AITER asserts, or takes another path."""
    with pytest.raises(BadInput, match=rf"16, 32, \.\.\. or 128 heads, not {heads}"):
        decode(heads=heads)


@pytest.mark.parametrize("page_size", [0, 3])
def test_page_sizes(decode: Callable[..., tuple[Any, AiterDecode]], page_size: int) -> None:
    """The planner needs a power of two."""
    with pytest.raises(BadInput, match=f"page_size {page_size} is not a power of two"):
        decode(page_size=page_size)
