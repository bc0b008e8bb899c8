"""Proofs stand alone here: what a check does beside them must not cover a wrong one."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bounded run of many steps would find what a proof has overlooked."""
    monkeypatch.setattr("streamorder.model.check.FARTHEST", 0)
