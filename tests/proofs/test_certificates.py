"""Certificates: of the catalogue they stand, and changed in anything that the claim rests on they
do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import Outcome, check
from streamorder.model.catalogue import catalogue
from streamorder.model.prove import confirm

if TYPE_CHECKING:
    from streamorder.model.proof import Proof

SAFE = [name for name in catalogue() if name.startswith("fp8-prefill/staged")]
FLAGS = "fp8-prefill/staged-stuck-both"


LARGEST: dict[str, Any] = {"slots": 16, "layers": 61}


def parameters(name: str) -> list[dict[str, Any]]:
    """Small and large, as far as the entry has such parameters.

    To confirm the largest ring that is gone round by choice takes seconds: a test of its own.
    """
    sizes = (1, 1), (2, 1), (3, 1), (16, 1), (1, 61), (3, 61), (16, 61)
    wanted = [{"slots": n, "layers": m} for n, m in sizes]
    if name == FLAGS:
        wanted.remove(LARGEST)
    known = catalogue()[name].parameters
    return [{k: v for k, v in one.items() if k in known} for one in wanted]


@pytest.mark.parametrize("contract", ["cuda", "cuda-hmm", "hip"])
@pytest.mark.parametrize("name", SAFE)
def test_of_every_size(name: str, contract: str) -> None:
    """Whatever holds of the staged protocols is proved, and the certificates are accepted."""
    entry = catalogue()[name]
    proved = 0
    # The largest takes seconds under each contract: the others have theirs.
    sizes = parameters(name)[: None if contract == "cuda" else 6]
    for given in sizes:
        found = check(entry, contract, prove=True, **given)
        assert found.outcome is not Outcome.HOLDS, f"{given}: {found.unproved}"
        for proof in found.certificates:
            assert confirm(entry.bind(given), proof) is None, given
        proved += found.outcome is Outcome.PROVED
    assert proved or entry.expects.get(contract, "REFUTED") not in {"HOLDS", "PROVED"}


@pytest.mark.slow
@pytest.mark.parametrize("contract", ["cuda", "cuda-hmm", "hip"])
def test_of_the_largest_size(contract: str) -> None:
    """A ring of 16 slots gone round by choice, with 61 layers."""
    entry = catalogue()[FLAGS]
    found = check(entry, contract, prove=True, **LARGEST)
    assert found.outcome is Outcome.PROVED
    assert [confirm(entry.bind(LARGEST), proof) for proof in found.certificates] == [None]


def test_a_state_covers_those_with_more_order() -> None:
    """A ring of slots gone round by choice: of the ways to fill it only the fullest count."""
    entry = catalogue()[FLAGS]
    counts = [
        len(check(entry, "cuda", prove=True, slots=slots).certificates[0].states)
        for slots in (1, 2, 3, 4, 16)
    ]
    assert counts == [2, 7, 11, 15, 63]


def certificate(name: str = FLAGS) -> Proof:
    """The certificate of an entry under CUDA."""
    [proof] = check(catalogue()[name], "cuda", prove=True).certificates
    return proof


def test_it_stands() -> None:
    """Unchanged it is accepted: what is refused below is refused for its change."""
    assert confirm(catalogue()[FLAGS].bind({}), certificate()) is None


def test_every_state_counts() -> None:
    """None can be left out, and none pass for another."""
    proof, body = certificate(), catalogue()[FLAGS].bind({})
    states = proof.states
    assert len(states) > 3
    for at, (path, digest) in enumerate(states):
        fewer = proof._replace(states=states[:at] + states[at + 1 :])
        assert confirm(body, fewer) is not None, f"without state {at}"
        other = states[at - 1]
        for wrong in ((path, other[1]), (other[0], digest), (path, digest[:-1] + "?")):
            changed = proof._replace(states=(*states[:at], wrong, *states[at + 1 :]))
            assert confirm(body, changed) is not None, f"state {at} as {wrong}"


def test_paths_are_paths() -> None:
    """A path of other choices, shorter or longer, leads elsewhere."""
    proof, body = certificate(), catalogue()[FLAGS].bind({})
    path, digest = max(proof.states, key=lambda state: len(state[0]))
    rest = tuple(state for state in proof.states if state[1] != digest)
    for wrong in (path[:-1], (*path, path[-1]), (*path[:-1], (*path[-1], 9)), ()):
        assert confirm(body, proof._replace(states=(*rest, (wrong, digest)))) is not None, wrong


def test_the_scale_counts() -> None:
    """The modulus, the constants and the ages that tell states apart."""
    name = "fp8-prefill/staged"
    proof, body = certificate(name), catalogue()[name].bind({})
    smaller = dict(proof.scale, period=1)
    assert proof.scale["period"] > 1
    assert confirm(body, proof._replace(scale=smaller)) is not None
    assert confirm(body, proof._replace(scale=dict(proof.scale, period=7))) is not None


def test_of_another_protocol_or_contract() -> None:
    """It is a claim about one protocol under one contract."""
    proof = certificate("fp8-prefill/staged")
    assert confirm(catalogue()["fp8-prefill/direct"].bind({}), proof) is not None
    assert confirm(catalogue()["fp8-prefill/staged"].bind({"slots": 5}), proof) is not None
    assert confirm(catalogue()["fp8-prefill/staged"].bind({}), proof._replace(contract="?"))


def test_the_contract_counts() -> None:
    """What is proved where pageable memory is staged is refuted where it is not."""
    entry = catalogue()["fp8-prefill/pageable-slots"]
    proofs = check(entry, "cuda", prove=True).certificates
    assert proofs
    for proof in proofs:
        assert confirm(entry.bind({}), proof) is None
        assert confirm(entry.bind({}), proof._replace(contract="cuda-hmm")) is not None
