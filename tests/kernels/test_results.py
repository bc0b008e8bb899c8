"""The figures of docs/aiter.md are those that were measured."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_page_shows_what_was_measured(pytestconfig: pytest.Config) -> None:
    """Device, versions, and every row of the table."""
    root: Path = pytestconfig.rootpath
    found = json.loads((root / "validation/results/kernels.json").read_text(encoding="utf-8"))
    page = (root / "docs/aiter.md").read_text(encoding="utf-8")
    told = " ".join(page.split())
    assert f"On an {found['device']} (driver {found['driver']}, torch" in told
    assert f"Triton {found['triton']}, {found['date']}), with {found['heads']} heads" in told
    rows = re.findall(
        r"^\| ([\d, ]+) \| (\d+) \| (\w+) \| ([\d.]+%) \| (.*) \|$", page, re.MULTILINE
    )
    assert rows == [
        (
            ", ".join(map(str, batch["lengths"])),
            str(batch["partials"]),
            "yes" if batch["matches"] else "no",
            f"{batch['worst_deviation']:.2%}",
            f"{batch['forward_us']} | {batch['reduce_us']} | {batch['teraflops']}",
        )
        for batch in found["batches"]
    ]
