"""AITER's prefill, called as it must be: plan on the host, copy, forward, reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy", reason="the planner needs numpy")
pytest.importorskip("torch", reason="the AITER backend needs torch: make torch")
pytest.importorskip("triton", reason="the attention kernels need Triton: make torch")

from streamorder.cli import main
from streamorder.model.errors import BadInput
from streamorder.validation.aiter import find_aiter
from streamorder.validation.aiter.prefill import (
    AiterPlanner,
    AiterPrefill,
    arriving,
    host_int32,
    partial_tiles_of,
)
from streamorder.validation.kernels import Batch
from streamorder.validation.kernels.forward import forward_kernel
from streamorder.validation.kernels.reduce import reduce_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder.validation.aiter import Aiter

REDUCES = ["seven", "eight", "nine"]

BATCH: dict[str, Any] = {"lengths": [20, 40], "heads": 2, "context_lens": [20, 200]}
"""On three units and for each head: a whole tile, and one of two pieces."""


def forward(**given: Any) -> None:
    """AITER's `mla_prefill_ps_asm_fwd`: our kernel."""
    q, output = given["Q"], given["output"]
    forward_kernel[(given["work_indptr"].shape[0] - 1,)](
        *(q, given["K"], given["V"], given["qo_indptr"], given["kv_indptr"]),
        *(given["kv_page_indices"], given["work_indptr"], given["work_info_set"]),
        *(given["splitData"], given["splitLse"], output),
        *(given["q_scale"], given["k_scale"], given["v_scale"]),
        given["work_indptr"].new_zeros(18),
        *(given["softmax_scale"], given["qo_indptr"].shape[0] - 1, q.shape[0]),
        *(given["kv_page_indices"].shape[0], q.shape[1], given["work_info_set"].shape[0]),
        given["splitLse"].shape[0],
        causal=given["is_causal"],
        block_m=128,
        block_n=128,
    )


def reduce(**given: Any) -> None:
    """AITER's `mla_reduce_v1`: our kernel. 0 splits are as many as there are units."""
    assert given.get("num_kv_splits", 0) == 0
    assert given.get("max_seqlen_q", 256) == 256
    output = given["final_output"]
    merges = given["reduce_indptr"].shape[0] - 1
    reduce_kernel[(merges, output.shape[1], 8)](
        *(given["reduce_indptr"], given["reduce_final_map"], given["reduce_partial_map"]),
        *(given["partial_output"], given["partial_lse"], output),
        given["reduce_indptr"].new_zeros(18),
        *(merges, given["reduce_partial_map"].shape[0], output.shape[0]),
        *(given["partial_lse"].shape[0], output.shape[1]),
        block=32,
    )


@pytest.fixture
def library(
    rocm: Callable[..., None], install: Callable[..., Any], sizes: Any, plans: Any
) -> Callable[..., Aiter]:
    """`library(arguments)`: the fake AITER of such a version, as it is found."""

    def find(arguments: dict[str, str] | None = None) -> Aiter:
        rocm()
        runs = {"get_ps_metadata_info_v1": sizes, "get_ps_metadata_v1": plans}
        runs |= {"mla_prefill_ps_asm_fwd": forward, "mla_reduce_v1": reduce}
        install(runs, arguments)
        return find_aiter()

    return find


def planner_of(library: Aiter, **changes: Any) -> AiterPlanner:
    """A planner with room for the batch and more."""
    return AiterPlanner(library, **{"max_batch": 4, "max_qlen": 300, "heads": 2, **changes})


def planned(planner: AiterPlanner, batch: Batch) -> dict[str, Any]:
    """A plan of the batch in host buffers; not pinned, since there is no GPU to pin for."""
    into = planner.buffers(pinned=False)
    contexts = batch.qo_indptr.new_tensor(batch.context_lens)
    planner.plan(into, batch.qo_indptr.cpu(), batch.kv_indptr.cpu(), contexts.cpu())
    return into


@pytest.mark.parametrize("form", REDUCES)
def test_plan_copy_forward_reduce(
    library: Callable[..., Aiter], device: str, form: str, request: pytest.FixtureRequest
) -> None:
    """The output is attention, whichever form `mla_reduce_v1` has."""
    forms: dict[str, str] = request.getfixturevalue("reduce_arguments")
    found = library({"mla_reduce_v1": forms[form]})
    batch = Batch.random(**BATCH, device=device, scales=(0.5, 1.5, 2.0))
    planner = planner_of(found)
    host = planned(planner, batch)
    prefill = AiterPrefill(found, batch, partial_tiles=partial_tiles_of(host))
    prefill.run({name: array.to(device) for name, array in host.items()})
    assert prefill.compare().matches, prefill.compare()


def test_a_version_with_another_order(library: Callable[..., Aiter], device: str) -> None:
    """`work_info` before `work_indptr`, as elsewhere in AITER: the plan is the same."""
    batch = Batch.random(**BATCH, device=device)
    usual = planned(planner_of(library()), batch)
    other = library(
        {
            "get_ps_metadata_v1": "work_info, work_indptr, seqlens_qo_indptr, pages_kv_indptr, "
            "context_lens, num_heads_k, gqa_ratio, reduce_partial_map, reduce_final_map, "
            "reduce_indptr, work_metadata_ptrs, qhead_granularity=1, qlen_granularity=256, "
            "kvlen_granularity=16, block_size=16, is_causal=True"
        }
    )
    seen = planned(planner_of(other), batch)
    assert {name: array.tolist() for name, array in seen.items()} == {
        name: array.tolist() for name, array in usual.items()
    }


@pytest.mark.parametrize(
    ("given", "arrives"),
    [
        ((128, 1, True), (128, 1, True)),
        ((128, 1, False), (128, 1, False)),
        ((128, 16, True), (128, 1, True)),
        ((16, 16, True), (1, 1, True)),
        ((16, 16, False), (16, 16, False)),
    ],
    ids=str,
)
def test_what_reaches_the_planner(
    library: Callable[..., Aiter],
    dispatched: Callable[..., dict[str, Any]],
    given: tuple[int, int, bool],
    arrives: tuple[int, int, bool],
) -> None:
    """Trailing arguments equal to Python's defaults are dropped, and C++ has others."""
    names = ("kvlen_granularity", "block_size", "is_causal")
    values: dict[str, Any] = dict(zip(names, given, strict=True))
    function = library()["get_ps_metadata_v1"]
    assert tuple(arriving(function, values).values()) == arrives
    call = dict.fromkeys((parameter.name for parameter in function.parameters), 0) | values
    kept = dispatched("get_ps_metadata_v1", call)
    in_cpp = {"kvlen_granularity": 1, "block_size": 1, "is_causal": True}
    assert tuple(kept.get(name, in_cpp[name]) for name in names) == arrives


def test_a_geometry_that_would_not_arrive(library: Callable[..., Aiter]) -> None:
    """A version whose defaults are our geometry would drop it on the way."""
    text = "".join(
        f"{name}, "
        for name in (
            *("seqlens_qo_indptr", "pages_kv_indptr", "context_lens", "gqa_ratio", "num_heads_k"),
            *("work_metadata_ptrs", "work_indptr", "work_info", "reduce_indptr"),
            *("reduce_final_map", "reduce_partial_map", "qhead_granularity", "qlen_granularity"),
        )
    )
    found = library(
        {"get_ps_metadata_v1": text + "kvlen_granularity=128, block_size=1, is_causal=True"}
    )
    with pytest.raises(BadInput, match=r"would reach AITER's planner as .*kvlen_granularity': 1,"):
        planner_of(found)


def test_host_buffers_are_pinned(
    library: Callable[..., Aiter], torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless they are not on the host: a stream copies from pinned memory without waiting."""
    asked: list[tuple[str, bool]] = []

    def zeros(shape: Any, *, dtype: Any, device: Any, pin_memory: bool) -> Any:
        asked.append((str(device), pin_memory))
        return torch.empty(shape, dtype=dtype, device="meta")

    monkeypatch.setattr(torch, "zeros", zeros)
    planner = planner_of(library())
    planner.buffers()
    planner.buffers("cuda")
    assert asked == [("cpu", True)] * 6 + [("cuda", False)] * 6


def test_the_plan_is_ours(library: Callable[..., Aiter], device: str) -> None:
    """A version that plans otherwise is told by the arrays that differ."""
    batch = Batch.random(**BATCH, device=device)
    planner = planner_of(library())
    host = planned(planner, batch)
    call: Any = (batch.qo_indptr.tolist(), batch.kv_indptr.tolist(), batch.context_lens)
    assert planner.differs(host, *call) == []
    host["work_info"][0, 6] += 1
    host["reduce_partial_map"][5] = 1
    assert planner.differs(host, *call) == ["work_info", "reduce_partial_map"]


def test_room_for_partials(library: Callable[..., Aiter], device: str) -> None:
    """By the merges, and by the items where one writes a partial that is not merged."""
    batch = Batch.random(**BATCH, device=device)
    planner = planner_of(library())
    host = planned(planner, batch)
    assert partial_tiles_of(host) == 2
    host["work_info"][0, 1] = 512
    assert partial_tiles_of(host) == 3
    empty = planner.buffers(pinned=False)
    assert partial_tiles_of(empty) == 0


@pytest.mark.parametrize("name", ["qo_indptr", "kv_indptr", "context_lens"])
def test_inputs_on_the_device_are_refused(
    library: Callable[..., Aiter], torch: Any, name: str
) -> None:
    """They would be read on the NULL stream, in no order with what wrote them."""
    planner = planner_of(library())
    host = {"qo_indptr": [0, 3], "kv_indptr": [0, 3], "context_lens": [3]}
    inputs = {known: torch.tensor(values) for known, values in host.items()}
    inputs[name] = inputs[name].to("meta")
    with pytest.raises(BadInput, match=f"{name} is on meta: .* on the NULL stream"):
        planner.plan(planner.buffers(pinned=False), **inputs)


def test_planning_onto_the_device_has_another_name(
    library: Callable[..., Aiter], torch: Any
) -> None:
    """`plan` takes host buffers; `plan_unordered` writes wherever it is told."""
    planner = planner_of(library())
    into = planner.buffers(pinned=False)
    inputs = (torch.tensor([0, 3]), torch.tensor([0, 3]), torch.tensor([3]))
    with pytest.raises(BadInput, match="work_info is on meta: plan into host buffers"):
        planner.plan({**into, "work_info": into["work_info"].to("meta")}, *inputs)
    planner.plan_unordered(into, *inputs)
    assert into["work_indptr"].tolist() == [0, 2, 2, 2]


def test_a_column_of_a_table_is_made_contiguous(torch: Any) -> None:
    """`.to(int32)` leaves an int32 column as it is, with its stride."""
    column = torch.arange(8, dtype=torch.int32).view(4, 2)[:, 1]
    assert column.to(torch.int32).stride() == (2,)
    seen = host_int32("context_lens", column)
    assert (seen.stride(), seen.tolist(), seen.dtype) == ((1,), [1, 3, 5, 7], torch.int32)
    assert host_int32("context_lens", column.long()).dtype == torch.int32


@pytest.mark.parametrize(
    "spoil",
    [lambda a: a[:-1], lambda a: a.long(), lambda a: a.repeat(1, 2)[:, ::2]],
    ids=["short", "long", "strided"],
)
def test_buffers_of_another_kind_are_refused(
    library: Callable[..., Aiter], torch: Any, spoil: Callable[[Any], Any]
) -> None:
    """AITER checks no output: it would write past it, or through it."""
    planner = planner_of(library())
    into = planner.buffers(pinned=False)
    into["work_info"] = spoil(into["work_info"])
    with pytest.raises(BadInput, match=r"work_info must be contiguous, torch.int32 of shape"):
        planner.plan(into, torch.tensor([0, 3]), torch.tensor([0, 3]), torch.tensor([3]))


def test_sizes_for_another_device_are_refused(
    library: Callable[..., Aiter], monkeypatch: pytest.MonkeyPatch, torch: Any
) -> None:
    """With a `work_indptr` that is too long the reduce maps come out empty."""
    found = library()
    bare = ((2, torch.uint64), (5, torch.int32), *[((1, 8), torch.int32)] * 4)
    larger = found["get_ps_metadata_info_v1"]._replace(run=lambda *_: bare)
    monkeypatch.setitem(found.functions, "get_ps_metadata_info_v1", larger)
    with pytest.raises(BadInput, match=r"sizes work_indptr for 4 compute units, .* has 3"):
        planner_of(found)


def test_heads_without_a_reduce_kernel_are_refused(
    library: Callable[..., Aiter], device: str
) -> None:
    """AITER would end the process."""
    batch = Batch.random([3], heads=12, device=device)
    with pytest.raises(BadInput, match=r"not compiled for 12 heads.*pad to one of 1, 2, 4, 8"):
        AiterPrefill(library(), batch, partial_tiles=0)


@pytest.fixture
def unpinned(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is not pinned: there may be no GPU to pin it for."""
    zeros = torch.zeros

    def plain(*shape: Any, pin_memory: bool = False, **settings: Any) -> Any:  # noqa: ARG001
        return zeros(*shape, **settings)

    monkeypatch.setattr(torch, "zeros", plain)


@pytest.mark.usefixtures("unpinned")
def test_the_command_compares(
    library: Callable[..., Aiter], plans: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """`streamorder plan --aiter`: the same, exit 0; another one, exit 1 and which arrays."""
    words = ["plan", "--lengths", "300,20", "--heads", "2", "--cus", "3", "--aiter"]
    found = library()
    assert main(words) == 0
    assert capsys.readouterr().out.endswith("\nAITER's own plan is the same\n")
    assert main([*words, "--not-causal", "--format", "json"]) == 0
    assert '"differing": []' in capsys.readouterr().out

    def otherwise(**given: Any) -> None:
        plans(**given)
        given["work_info"][1, 6] += 1

    found["get_ps_metadata_v1"].run.__globals__["take"] = lambda given: otherwise(**given)
    assert main(words) == 1
    assert capsys.readouterr().out.endswith("\nAITER's own plan differs in work_info\n")
    assert main([*words[:-2], "4", "--aiter"]) == 2
    assert capsys.readouterr().err.startswith("streamorder: --cus 4: the GPU here has 3, ")
