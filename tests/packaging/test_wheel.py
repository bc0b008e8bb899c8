"""The wheel holds the package and nothing else, and works far from the checkout."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path, PurePosixPath
from textwrap import dedent
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


USERS = {
    "model.py": """
        from streamorder import Gpu

        def exchange(gpu: Gpu) -> None:
            producer, consumer = gpu.stream("producer"), gpu.stream("consumer")
            table, filled = gpu.device("table"), gpu.event("filled")
            gpu.launch("fill", producer, writes={table: 1})
            filled.record(producer)
            consumer.wait(filled)  # the line
            gpu.launch("use", consumer, reads={table: 1})
    """,
    "sim/__init__.py": "SPEED = 3\n",
    "test_exchange.py": """
        import streamorder
        from model import exchange
        from sim import SPEED

        test_exchange = streamorder.exhaustive(exchange, contracts=["cuda", "hip"])

        def test_their_own():
            assert SPEED == 3
    """,
}
"""A new user's repository, whose modules have the names of ours, with one test of a protocol."""


def test_a_new_users_first_test(installed: Path, tmp_path: Path) -> None:
    """It fails with the picture while a line is missing, and passes when the line is there."""
    for name, source in USERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(dedent(source), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    whole = (tmp_path / "model.py").read_text("utf-8")
    broken = "".join(x for x in whole.splitlines(keepends=True) if "# the line" not in x)
    for source, code, counts in ((broken, 1, "2 failed, 1 passed"), (whole, 0, "3 passed")):
        (tmp_path / "model.py").write_text(source, encoding="utf-8")
        done = subprocess.run(
            [installed / "python", "-B", "-m", "pytest", "-p", "no:cacheprovider"],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, counts in done.stdout) == (code, True), done.stdout + done.stderr
        # Under CI pytest's short summary at the end repeats whole messages.
        shown, *_ = done.stdout.partition("short test summary info")
        marked = [line for line in shown.splitlines() if line.startswith("    !")]
        assert len(marked) == (4 if code else 0)
    assert "exchange under hip: PROVED (no step loop, streams of unbounded depth)" in done.stdout
