"""What the packaging tests share: the checkout, its files, and the wheel built from them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = Path(__file__).resolve().parents[2]

# Every other folder at the top is part of the package.
NOT_SHIPPED = frozenset({"benchmarks", "build", "dist", "docs", "tests", "tools"})


def run_command(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a command, and fail the test with all it printed unless it exits 0."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        shown = " ".join(str(word) for word in command)
        pytest.fail(f"`{shown}` exited {done.returncode}:\n{done.stdout}", pytrace=False)
    return done.stdout


@pytest.fixture(scope="session")
def run() -> Callable[..., str]:
    """`run_command`, which test modules cannot import from here."""
    return run_command


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def pyproject(root: Path) -> dict[str, Any]:
    """The parsed project file."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def tracked(root: Path) -> list[PurePosixPath]:
    """Every file that git tracks, or would after `git add`."""
    if not (root / ".git").exists():
        pytest.skip("the files of the project are known only in a git checkout")
    names = run_command(
        "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=root
    )
    paths = {PurePosixPath(name) for name in names.split("\0") if name}
    return sorted(path for path in paths if (root / path).is_file())


@pytest.fixture(scope="session")
def shipped(tracked: list[PurePosixPath]) -> list[PurePosixPath]:
    """The files that belong in the wheel: modules at the top, and all of every package folder."""

    def belongs(path: PurePosixPath) -> bool:
        if len(path.parts) == 1:
            return path.suffix == ".py" or path.name == "py.typed"
        return not path.parts[0].startswith(".") and path.parts[0] not in NOT_SHIPPED

    return [path for path in tracked if belongs(path)]


@pytest.fixture(scope="session")
def wheel(
    root: Path, tracked: list[PurePosixPath], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The wheel, built from the source distribution of a clean copy of the tree.

    In the tree itself an old build/ folder would put deleted modules back into the wheel.
    """
    source = tmp_path_factory.mktemp("source")
    for path in tracked:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, source / path)
    out = tmp_path_factory.mktemp("dist")
    run_command(
        sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source, cwd=source
    )
    (built,) = out.glob("*.whl")
    return built
