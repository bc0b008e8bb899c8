"""Contracts as data: what each promises, what it leaves open, and how it is found by name."""

from __future__ import annotations

import pytest

from streamorder.model.contract import (
    CONTRACTS,
    CUDA,
    CUDA_HMM,
    DEFAULT,
    EITHER,
    FIELD_TEXTS,
    HIP,
    Contract,
    contract_named,
)
from streamorder.model.errors import BadInput
from streamorder.model.masking import UNMASKED

# field: CUDA, HIP
FIELDS: dict[str, tuple[bool | None, bool | None]] = {
    "upload_awaits_write": (False, True),
    "pageable_staged": (True, True),
    "pageable_download_awaits": (False, True),
    "host_copies_by_cpu": (False, True),
    "managed_copy_awaits": (None, True),
    "memset_interior_awaits": (False, True),
    "memset_pinned_by_cpu": (False, True),
    "record_joins_null": (False, True),
    "wait_joins_blocking": (True, None),
    "wait_joins_null": (None, None),
    "null_sync_covers_blocking": (None, True),
    "destroy_awaits": (False, True),
    "free_awaits": (None, True),
    "pool_free_awaits": (True, False),
    "pool_reuse_ordered": (True, None),
    "graph_launches_ordered": (True, False),
    "graph_pageable_staged": (None, True),
    "event_nodes": (True, False),
    "early_launch": (True, False),
    "early_wait_transitive": (None, True),
    "peer_copies_on_null": (False, True),
    "pageable_uploads_return": (None, None),
    "pageable_downloads_return": (None, None),
    "streams_progress": (True, True),
}


def test_fields() -> None:
    """Every promise of both contracts; a new field needs a row here and a rule's test."""
    assert CUDA._fields == HIP._fields == ("name", "title", *FIELDS, "masking")
    assert all(contract.masking == UNMASKED for contract in CONTRACTS.values())
    assert {name: (getattr(CUDA, name), getattr(HIP, name)) for name in FIELDS} == FIELDS


def test_uncertain() -> None:
    """What each leaves open; U2 too where the GPU may read pageable memory."""
    open_in = {name: c.uncertain for name, c in CONTRACTS.items()}
    assert open_in == {
        "cuda": tuple(f for f, (cuda, _hip) in FIELDS.items() if cuda is None and f not in EITHER),
        "cuda-hmm": ("pageable_staged", *CUDA.uncertain),
        "hip": ("wait_joins_blocking", "wait_joins_null", "pool_reuse_ordered"),
    }


def test_texts() -> None:
    """Each promise that some contract leaves open is told in words, and no other."""
    assert set(FIELD_TEXTS) == {field for c in CONTRACTS.values() for field in c.uncertain}
    assert all(text.strip() and "\n" not in text for text in FIELD_TEXTS.values())


def test_hmm() -> None:
    """Direct access to pageable memory changes one promise and nothing else."""
    changed = {field for field in FIELDS if getattr(CUDA, field) != getattr(CUDA_HMM, field)}
    assert changed == {"pageable_staged"}


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))
def test_ways(contract: Contract) -> None:
    """Calls that may wait are looked at both ways, the one that takes nothing away first; a
    contract that says which way has that one.
    """
    uploads, downloads = EITHER
    both = [(True, True), (True, False), (False, True), (False, False)]
    ways = [contract._replace(**{uploads: up, downloads: down}) for up, down in both]
    assert contract.ways() == ways
    assert all(way.ways() == [way] for way in ways)
    assert ways[0]._replace(**{downloads: None}).ways() == ways[:2]


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))
def test_weakest(contract: Contract) -> None:
    """Without fields there is one reading: every open promise is broken, no other changes."""
    weakest = dict.fromkeys(contract.uncertain, False)
    assert contract.readings() == [contract._replace(**weakest)]


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))
def test_readings(contract: Contract) -> None:
    """Each of these promises broken and kept, every way, the weakest first, the others broken."""
    (weakest,) = contract.readings()
    one, *_, another = contract.uncertain
    assert contract.readings([another]) == [weakest, weakest._replace(**{another: True})]
    both = contract.readings([one, another])
    assert [(getattr(r, one), getattr(r, another)) for r in both] == [
        (False, False), (False, True), (True, False), (True, True),
    ]  # fmt: skip
    assert {r._replace(**{one: False, another: False}) for r in both} == {weakest}
    everything = contract.readings(contract.uncertain)
    assert len(set(everything)) == 2 ** len(contract.uncertain)
    assert all(reading.uncertain == () for reading in everything)


def test_immutable() -> None:
    """A contract is a value: no run can change what another is decided under."""
    with pytest.raises(AttributeError):
        CUDA.managed_copy_awaits = True  # type: ignore[misc]


def test_names() -> None:
    """Contracts are found by their own names."""
    assert {name: contract.name for name, contract in CONTRACTS.items()} == {
        "cuda": "cuda", "cuda-hmm": "cuda-hmm", "hip": "hip",
    }  # fmt: skip
    assert [contract_named(name) for name in CONTRACTS] == [CUDA, CUDA_HMM, HIP]
    assert DEFAULT == (CUDA, HIP)


@pytest.mark.parametrize("name", ["rocm", "CUDA", ""])
def test_unknown_name(name: str) -> None:
    """An unknown name is refused with the names that exist."""
    with pytest.raises(BadInput) as refused:
        contract_named(name)
    assert str(refused.value) == f"unknown contract {name!r}: it is one of cuda, cuda-hmm, hip"
    assert refused.value.exit_code == 2
