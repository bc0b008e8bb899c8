"""Pictures and design pages of the docs are what `docs/generate.py` makes."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamorder import catalogue
from streamorder.commands.doc import documented, inputs
from streamorder.report.design import digest
from streamorder.report.design_page import MARK, slug

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
AGAIN = "run python docs/generate.py, and read what has changed"


def script() -> ModuleType:
    """`docs/generate.py`, which is part of no package."""
    spec = spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = script()


def test_pictures_are_current() -> None:
    """Each is shown on its page, and is what the page's program gives now."""
    assert GENERATE.PICTURES
    for picture, (page, file) in GENERATE.PICTURES.items():
        assert f"]({picture})" in (ROOT / page).read_text(encoding="utf-8")
        kept = (ROOT / picture).read_text(encoding="utf-8")
        assert kept == GENERATE.drawn(page, file), AGAIN


@pytest.mark.parametrize("name", GENERATE.PROTOCOLS)
def test_design_pages_are_made_from_what_is_here(name: str) -> None:
    """A committed page states the digest of the inputs as they are now."""
    kept = (ROOT / GENERATE.DESIGN / f"{slug(name)}.md").read_text(encoding="utf-8")
    stated = re.findall(rf"{re.escape(MARK)} `(\w+)`", kept)
    assert stated == [digest(catalogue()[name], inputs(), {})], AGAIN


def test_no_design_page_is_left_over() -> None:
    """Every page of the folder is one that is made, and listed in the index."""
    folder = ROOT / GENERATE.DESIGN
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    assert pages == {"index.md", *(f"{slug(name)}.md" for name in GENERATE.PROTOCOLS)}
    index = (folder / "index.md").read_text(encoding="utf-8")
    assert all(f"({slug(name)}.md)" in index for name in GENERATE.PROTOCOLS)


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATE.PROTOCOLS)
def test_design_pages_are_what_is_made_now(name: str) -> None:
    """Word by word and line by line: an engine's change shows here, which no digest covers."""
    _design, files = documented(catalogue()[name], {})
    for file, text in files.items():
        kept = (ROOT / GENERATE.DESIGN / file).read_text(encoding="utf-8")
        assert kept == text, f"{file}: {AGAIN}"
