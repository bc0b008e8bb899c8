"""Importing the package and the command loads the standard library and ourselves only."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Third-party modules that may be loaded before they are needed. Each costs every start of the
# command its import time: simpy about 50 ms, networkx 150 ms, torch seconds.
ALLOWED: frozenset[str] = frozenset()

# Some are loaded by .pth files when Python starts, and are not ours.
IMPORT = """
import json, sys
before = set(sys.modules)
import streamorder, streamorder.cli
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def test_importing_the_command_loads_no_third_party_module(
    tmp_path: Path, run: Callable[..., str]
) -> None:
    """`streamorder.cli` needs neither simpy nor networkx, greenlet, rich, numpy or torch."""
    loaded = set(json.loads(run(sys.executable, "-c", IMPORT, cwd=tmp_path)))
    assert "streamorder" in loaded
    assert loaded - sys.stdlib_module_names - {"streamorder"} <= ALLOWED
