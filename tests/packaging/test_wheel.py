"""The wheel holds the package and nothing else, and works far from the checkout."""

from __future__ import annotations

import sys
import sysconfig
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

# One worker builds the wheel for all of them.
pytestmark = pytest.mark.xdist_group("wheel")

HOSTILE = (
    "cli.py",
    "model.py",
    "report.py",
    "sim/__init__.py",
    "validation/__init__.py",
)


def test_every_package_folder_is_listed(
    pyproject: dict[str, Any], shipped: list[PurePosixPath]
) -> None:
    """A folder with an `__init__.py` is named in `tool.setuptools.packages`, and no other is."""
    folders = {path.parent for path in shipped if path.name == "__init__.py"}
    expected = {".".join(("streamorder", *folder.parts)) for folder in folders}
    assert set(pyproject["tool"]["setuptools"]["packages"]) == expected


def test_wheel_holds_the_package_and_nothing_else(
    wheel: Path, shipped: list[PurePosixPath]
) -> None:
    """Every module and data file under a package folder is in the wheel; tests and docs are not."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {f"streamorder/{path}" for path in shipped}


@pytest.fixture(scope="module")
def installed(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory, run: Callable[..., str]
) -> Path:
    """The bin folder of a new virtual environment into which the wheel was installed."""
    home = tmp_path_factory.mktemp("home")
    env = home / "env"
    run(sys.executable, "-m", "venv", "--without-pip", env, cwd=home)
    python = env / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"),
        *("install", "--quiet", "--no-deps", "--no-index", wheel),
        cwd=home,
    )
    # Dependencies come from the running environment. A path named in a .pth file is searched,
    # but the .pth files there are not read, so the editable install stays out of reach.
    (site,) = env.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return env / "bin"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A working folder whose own modules have the names of ours, and raise when imported."""
    for name in HOSTILE:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("raise RuntimeError(__file__)\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("arguments", [("list",), ("check", "fp8-prefill/staged")])
def test_installed_command_ignores_the_users_modules(
    installed: Path, hostile: Path, arguments: tuple[str, ...], run: Callable[..., str]
) -> None:
    """The installed command exits 0 beside a user's own `model.py`, `sim/`, `cli.py`."""
    assert run(installed / "streamorder", *arguments, cwd=hostile)


def test_installed_module_ignores_the_users_modules(
    installed: Path, hostile: Path, run: Callable[..., str]
) -> None:
    """`python -m streamorder`, which searches the working folder first, works there too."""
    assert run(installed / "python", "-m", "streamorder", "list", cwd=hostile)


def test_installed_package_is_the_wheels(
    installed: Path, hostile: Path, run: Callable[..., str]
) -> None:
    """What the new environment imports is its own copy, not the checkout's."""
    code = "import streamorder; print(streamorder.__file__)"
    file = run(installed / "python", "-c", code, cwd=hostile).strip()
    assert Path(file).is_relative_to(installed.parent)
