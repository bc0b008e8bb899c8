"""Running the tests against a copy of the tree, one file of which may be a mutant's."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".*", "__pycache__", "build", "dist", "*.egg-info")

RULES, CATALOGUE, ENGINES = "tests/rules", "tests/catalogue", "tests/engines"
COUNTEREXAMPLES, RUNTIMES = "tests/counterexamples", "tests/runtimes"
ORDER = (
    RULES,
    f"{CATALOGUE}/test_fp8_prefill_states.py",
    f"{CATALOGUE}/test_catalogue.py",
    ENGINES,
    "tests/oracle",
    COUNTEREXAMPLES,
    "tests/random_programs",
    RUNTIMES,
    "tests/traps",
    CATALOGUE,
    "tests/command",
    "tests/litmus",
    "tests/families",
    "tests/corpus",
    "tests/proofs",
)
"""The tests that a mutant meets, quick ones first; packaging and the planner are not concerned."""

RULE_FILES = ("streams", "copies", "signals", "graphs", "allocation", "frontend", "contract")
FIRST = {
    **dict.fromkeys(RULE_FILES, (RULES,)),
    **dict.fromkeys(("edges", "recorder"), (COUNTEREXAMPLES, f"{CATALOGUE}/test_catalogue.py")),
    "masked": (f"{RULES}/test_maskings.py", RUNTIMES),
    **dict.fromkeys(("queue_maps", "runtime", "profiles", "environment", "waits_for"), (RUNTIMES,)),
}
"""The tests that see the most faults of a file, and soonest."""

FIRST_OF_ENGINES = (
    f"{CATALOGUE}/test_fp8_prefill_states.py",
    f"{CATALOGUE}/test_catalogue.py",
    ENGINES,
)

PYTEST = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler"),
    *("--no-header", "--tb=no", "--hypothesis-seed=0"),
)
OUTCOME = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
MEMORY = 4 << 30


IDLE = 20
"""A run that lasts this many times as long as it may compute waits for something that never comes.
"""


class Ran(NamedTuple):
    """How the tests went: what failed (a node id, or why they stopped), and the seconds that the
    processor worked: how busy the machine is otherwise plays no part.
    """

    failed: tuple[str, ...]
    seconds: float


class Tree:
    """A copy of the tree in a folder of its own, whose package comes first on the path of its
    tests. As where it is installed, the tests are no part of the package.
    """

    def __init__(self, home: Path, source: Path = ROOT) -> None:
        self.path = home / "path"
        self.root = home / "tree"
        shutil.copytree(source, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT))
        package = self.path / "streamorder"
        package.mkdir(parents=True)
        for part in self.root.iterdir():
            if part.name != "tests":
                (package / part.name).symlink_to(part)

    def read(self, file: str) -> str:
        """The text of a file."""
        return (self.root / file).read_text(encoding="utf-8")

    def write(self, file: str, source: str) -> None:
        """Replace a file; bytecode is told apart by seconds and size only, so it goes as well."""
        path = self.root / file
        path.write_text(source, encoding="utf-8")
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def stages(self, file: str) -> list[list[str]]:
        """The tests that exist, as arguments of two runs: the first sees most faults."""
        first = FIRST.get(Path(file).stem, FIRST_OF_ENGINES)
        stages = [list(first), [part for part in ORDER if part not in first]]
        return [[part for part in stage if (self.root / part).exists()] for stage in stages]

    def run(self, tests: list[str], left_out: tuple[str, ...], limit: float | None) -> Ran:
        """Run tests up to the first failure (with a limit of seconds) or all of them."""
        if not tests:
            return Ran((), 0.0)
        words = [sys.executable, str(Path(sys.executable).with_name("pytest")), *PYTEST, *tests]
        words += [f"--deselect={test}" for test in left_out] + (["-x"] if limit else [])
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                words,
                cwd=self.root,
                env={**os.environ, "PYTHONPATH": str(self.path)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            confine(process.pid, limit)
            code, seconds = waited_for(process, limit)
            output.seek(0)
            said = output.read()
        if code in {-signal.SIGXCPU, -signal.SIGKILL}:
            return Ran((f"no end within {limit} s",), seconds)
        if code in {0, 5}:  # passed; or nothing collected
            return Ran((), seconds)
        if code == 4 or (limit is None and code != 1):
            # Without a fault tests may fail, and are left out; what cannot start sees everything.
            raise SystemExit(f"pytest ended with {code}:\n{said}")
        return Ran(tuple(OUTCOME.findall(said)) or ("pytest itself",), seconds)


def waited_for(process: subprocess.Popen[bytes], limit: float | None) -> tuple[int, float]:
    """The exit code of a process, and the seconds that the processor worked for it.

    It is killed once it has lasted far longer than it may compute.
    """
    until = time.monotonic() + IDLE * limit if limit else math.inf
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used.ru_utime + used.ru_stime
        if time.monotonic() > until:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.05)


def confine(pid: int, limit: float | None) -> None:
    """Let a mutant that grows or computes without end fail, where the system can say so."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import resource

        resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
        if limit:
            resource.prlimit(pid, resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
