"""The tree is imported once, as `streamorder`, whatever the clone is called."""

from __future__ import annotations

import json
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import streamorder.model

if TYPE_CHECKING:
    from collections.abc import Callable

LIST_MODULES = """
import json, sys
import streamorder, streamorder.model
files = {n: getattr(m, "__file__", None) for n, m in sys.modules.items()}
print(json.dumps(files))
"""


def module_name(path: PurePosixPath) -> str:
    """Return the one name under which a file of the package may be imported."""
    parts = path.with_suffix("").parts
    return ".".join(("streamorder", *(part for part in parts if part != "__init__")))


def misnamed(
    files: dict[str, str | None], root: Path, shipped: list[PurePosixPath]
) -> dict[str, str]:
    """Find the modules that hold a file of the package under another name."""
    # `python -m streamorder` and a script's own file are rightly called so.
    right = {root / path: {module_name(path), "__main__"} for path in shipped}
    resolved = {name: Path(file).resolve() for name, file in files.items() if file}
    return {
        name: str(file) for name, file in resolved.items() if name not in right.get(file, {name})
    }


def test_pytest_holds_one_copy(root: Path, shipped: list[PurePosixPath]) -> None:
    """In the running pytest no file of the package is loaded under a second name."""
    files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
    assert Path(str(streamorder.model.__file__)).resolve() == root / "model" / "__init__.py"
    assert misnamed(files, root, shipped) == {}


def test_a_process_at_the_root_holds_one_copy(
    root: Path, shipped: list[PurePosixPath], run: Callable[..., str]
) -> None:
    """With the root as working folder, and so on the path, `model` is only `streamorder.model`."""
    files = json.loads(run(sys.executable, "-c", LIST_MODULES, cwd=root))
    assert "streamorder.model" in files
    assert misnamed(files, root, shipped) == {}


def test_a_second_copy_is_noticed(root: Path, shipped: list[PurePosixPath]) -> None:
    """The check above is not vacuous: a second name for a file is reported."""
    file = str(root / "model" / "__init__.py")
    assert misnamed({"streamorder.model": file, "repo.model": file}, root, shipped) == {
        "repo.model": file
    }
