"""Every renderer on every kind of counterexample: pages that a person has looked at."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from streamorder.report.chrome_trace import chrome_trace
from streamorder.report.drawing import Drawing
from streamorder.report.junit import junit
from streamorder.report.mermaid import mermaid
from streamorder.report.page import page
from streamorder.report.regression import regression_test
from streamorder.report.sarif import sarif
from streamorder.report.scene import scenes
from streamorder.report.text import one
from streamorder.report.torch_script import torch_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Verdict


def body(html: str) -> str:
    """A page without its style and script, which are files of their own."""
    html = re.sub(r"<style>.*?</style>", "<style/>", html, flags=re.DOTALL)
    return re.sub(r"<script>.*?</script>", "<script/>", html, flags=re.DOTALL)


def in_json(data: Any) -> str:
    """Data as JSON, an item a line where it is short."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


RENDERERS: dict[str, Callable[[Verdict, Any], str]] = {
    "text": lambda verdict, _folder: one(verdict, pictures=9) + "\n",
    "svg": lambda verdict, _folder: Drawing(scenes(verdict)[0]).svg(),
    "mermaid": lambda verdict, _folder: mermaid(scenes(verdict)[0]),
    "page": lambda verdict, _folder: body(page([verdict])),
    "trace": lambda verdict, _folder: in_json(chrome_trace([verdict])),
    "sarif": lambda verdict, _folder: in_json(sarif([verdict])),
    "junit": lambda verdict, _folder: re.sub(r'time="[\d.]+"', 'time="#"', junit([verdict])),
    "data": lambda verdict, _folder: in_json(verdict.as_data()),
    "pytest": lambda verdict, folder: regression_test([verdict], folder),
}


ACCESSES = ("stale-read", "torn-copy", "slot-reuse", "use-after-free", "reused-address", "in-order")


@pytest.mark.parametrize("kind", ACCESSES)
def test_torch_script(
    kind: str,
    verdict: Callable[..., Verdict],
    snapshot: Callable[[str, str], None],
    request: pytest.FixtureRequest,
) -> None:
    """The script that forces it, for what two accesses show."""
    found = verdict(kind)
    snapshot(torch_script(found, found.missing_edges[0], request.path.parent), f"{kind}.torch")


@pytest.mark.parametrize("renderer", RENDERERS)
def test_render(
    renderer: str,
    kind: str,
    verdict: Callable[..., Verdict],
    snapshot: Callable[[str, str], None],
    request: pytest.FixtureRequest,
) -> None:
    """What a renderer makes of a counterexample, the same whenever it is made."""
    text = RENDERERS[renderer](verdict(kind), request.path.parent)
    assert text == RENDERERS[renderer](verdict(kind), request.path.parent)
    snapshot(text, f"{kind}.{renderer}")
