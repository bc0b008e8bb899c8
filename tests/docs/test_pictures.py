"""Pictures of README and docs are those that `docs/pictures.py` draws."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def script() -> ModuleType:
    """`docs/pictures.py`, which is part of no package."""
    spec = spec_from_file_location("docs_pictures", ROOT / "docs" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pictures_are_current() -> None:
    """Each is shown on its page, and is what the page's program gives now."""
    pictures = script()
    assert pictures.PICTURES
    for picture, (page, file) in pictures.PICTURES.items():
        assert f"]({picture})" in (ROOT / page).read_text(encoding="utf-8")
        kept = (ROOT / picture).read_text(encoding="utf-8")
        assert kept == pictures.drawn(page, file), "run python docs/pictures.py"
