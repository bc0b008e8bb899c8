"""`StagedPlan`: the slot logic of the protocols over torch tensors; no second copy of it."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from streamorder.model.errors import BadInput
from streamorder.model.protocols.fp8_plan import PARTS
from streamorder.model.protocols.staged_slots import StagedSlots
from streamorder.validation import staged
from streamorder.validation.plan_inputs import plan_sizes
from streamorder.validation.planner import plan_lengths

torch = pytest.importorskip("torch", reason="torch is not installed: StagedPlan was not run")

SHAPES = plan_sizes(4, 2, 2048, cu_count=8)


class Host:
    """Streams and events that only say what was asked of them."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.capturing = False
        self.stream = "compute"

    def Event(self) -> Any:  # noqa: N802 - as torch calls it
        """An event with a number."""
        return Said(self, self.said, sum(word.startswith("event") for word in self.said))

    def current_stream(self) -> str:
        """The current stream."""
        return self.stream

    def is_current_stream_capturing(self) -> bool:
        """Whether it is being captured."""
        return self.capturing


class Said:
    """An event that notes what is done to it."""

    def __init__(self, host: Host, said: list[str], number: int) -> None:
        self.host = host
        self.said = said
        self.number = number
        said.append(f"event {number}")

    def record(self, stream: str) -> None:
        """Note a record."""
        self.said.append(f"record {self.number} on {stream}")

    def synchronize(self) -> None:
        """Note a wait."""
        self.said.append(f"await {self.number}")


def made(**settings: Any) -> tuple[staged.StagedPlan, Host]:
    """A plan on the host's memory, and what it asked for."""
    host = Host()
    return staged.StagedPlan(SHAPES, device="cpu", runtime=host, **settings), host


@pytest.mark.parametrize("packed", [True, False])
def test_a_plan_arrives_whole(packed: bool) -> None:
    """All five arrays are the planner's, one plan after another, and so is the count of tiles."""
    plan, _host = made(packed=packed)
    for lengths in ([2000, 100], [300], [1, 1, 1], [2048]):
        published = plan.plan(lengths, heads=2, cu_count=8)
        expected = plan_lengths(lengths, cu_count=8, num_heads_k=2, buffers=SHAPES)
        for name in PARTS:
            assert published.arrays[name].numpy().tolist() == expected[name].tolist(), name
            assert published.arrays[name].is_contiguous()
            assert published.arrays[name].dtype == torch.int32
        assert published.partial_tiles == int(expected["reduce_indptr"][-1])


def test_the_host_waits_for_its_slot_and_nothing_else() -> None:
    """Await, fill, copy, record: in the order, and on the stream, of the model's slots."""
    plan, host = made(slots=2)
    host.said.clear()
    for _ in range(3):
        plan.publish(lambda arrays: host.said.append(f"fill {len(arrays)}"))
    turn = ["await {0}", "fill 5", "record {0} on compute"]
    assert host.said == [word.format(n) for n in (0, 1, 0) for word in turn]


def test_no_second_copy_of_the_logic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the model's slots nothing is published; no other line waits or records."""
    monkeypatch.setattr(StagedSlots, "stage", lambda *_args: None)
    plan, host = made()
    host.said.clear()

    def fill(arrays: Any) -> None:
        arrays["work_indptr"].fill_(7)

    plan.publish(fill)
    assert host.said == []
    assert not plan.arena.any()
    tree = ast.parse(Path(inspect.getfile(staged)).read_text(encoding="utf-8"))
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not called & {"synchronize", "record", "wait", "query", "wait_stream", "item"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Mod)]


def test_refused_in_a_capture_and_on_another_stream() -> None:
    """Both would lose what the slots rely on."""
    plan, host = made()
    host.capturing = True
    with pytest.raises(BadInput, match="graph capture"):
        plan.publish(lambda _arrays: None)
    host.capturing, host.stream = False, "another"
    with pytest.raises(BadInput, match="current stream"):
        plan.publish(lambda _arrays: None)


def test_shapes_and_slots_are_checked() -> None:
    """A plan has five arrays and at least one slot."""
    with pytest.raises(BadInput, match="lack reduce_partial_map"):
        staged.StagedPlan(dict.fromkeys(PARTS[:-1], 4), device="cpu", runtime=Host())
    with pytest.raises(BadInput, match="at least one slot"):
        made(slots=0)


def test_index_tensors_are_contiguous_int32() -> None:
    """A column of an int32 table is contiguous after the boundary, where `.to(int32)` is not."""
    table = torch.arange(12, dtype=torch.int32).reshape(6, 2)
    column = table[:, 0]
    assert not column.to(torch.int32).is_contiguous()
    assert staged.index_tensor(column).is_contiguous()
    assert staged.index_tensor([0, 5, 9]).dtype == torch.int32
    with pytest.raises(BadInput, match="32 bits"):
        staged.index_tensor(torch.tensor([2**40]))
    with pytest.raises(BadInput, match="whole numbers"):
        staged.index_tensor(torch.tensor([0.5]))
    with pytest.raises(BadInput, match="make the host wait"):
        staged.index_tensor(torch.empty(2, dtype=torch.int32, device="meta"))
