"""Sparse decode: which edge each broken variant lacks, and what each mend costs the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamorder import audit, check
from streamorder.model.protocols.mla_decode import PARTS

if TYPE_CHECKING:
    from streamorder import Protocol

FAMILY = "sparse-decode/"
OUTPUT = "the next step is scheduled from this step's output"
FRESH = "the replay must find the new metadata"
DRAINED = "nothing may read the old metadata any more"

WRITE, REPLAY = (
    "launch(metadata, writer)",
    "launch(decode, compute) in decode_graph.launch(compute)",
)

MISSING = {
    "unsynchronised": (WRITE, REPLAY),
    "synchronize-before-rewrite": (WRITE, REPLAY),
    "cross-stream-async": (REPLAY, WRITE),
}

WAITS = {
    "unsynchronised": {OUTPUT},
    "synchronize-on-change": {OUTPUT, FRESH},
    "event-wait": {OUTPUT},
    "synchronize-before-rewrite": {OUTPUT, DRAINED},
    "same-stream": {OUTPUT},
    "cross-stream-async": set(),
    "cross-stream-async-both-edges": set(),
}


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("variant", MISSING)
def test_one_edge_is_missing(variant: str, contract: str, entries: dict[str, Protocol]) -> None:
    """From the rewrite to the replay, or from the replay to the next rewrite; for all six parts."""
    (edge,) = check(entries[FAMILY + variant], contract).missing_edges
    assert (edge.first.call, edge.second.call) == MISSING[variant]
    assert edge.regions == tuple(f"metadata.{part}" for part in PARTS)
    assert edge.kind == "wrong version"
    assert not edge.ordered


@pytest.mark.parametrize("contract", ["cuda", "hip"])
@pytest.mark.parametrize("variant", WAITS)
def test_host_waits(variant: str, contract: str, entries: dict[str, Protocol]) -> None:
    """Every wait in the loop is declared and once a step; the mend on the device adds none."""
    found = [wait for wait in audit(entries[FAMILY + variant], contract).waits if wait.in_steps]
    assert {wait.declared for wait in found} == WAITS[variant]
    assert len(found) == len(WAITS[variant])
    assert all(wait.per_step == 1 for wait in found)


@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_an_unchanged_key_neither_computes_nor_waits(
    contract: str, entries: dict[str, Protocol]
) -> None:
    """The rewrite belongs to some schedules only: every choice of every step is one of its own."""
    verdict = check(entries[FAMILY + "synchronize-on-change"], contract, steps=5)
    assert verdict.executions == 2**5
    kernels_a_step, metadata_kernels = 4, 5 + 1
    assert verdict.ops == 5 * kernels_a_step + metadata_kernels
