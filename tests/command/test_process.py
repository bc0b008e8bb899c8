"""The command as a process of its own: pipes, colours, exit codes, and what it imports."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import __version__
from streamorder.report.colour import Paint

if TYPE_CHECKING:
    from collections.abc import Callable

ESCAPE = "\x1b"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_check(process: Callable[..., Any]) -> None:
    """The whole catalogue: as expected, exit 0, no colours in a pipe, nothing on standard error."""
    code, out, err = process("check")
    assert (code, err) == (0, "")
    assert "all as expected" in out
    assert ESCAPE not in out


def test_an_error(process: Callable[..., Any]) -> None:
    """One line on standard error, nothing on standard output, exit 2."""
    code, out, err = process("check", "nothing.py")
    assert (code, out, err) == (2, "", "streamorder: nothing.py: no such file\n")


def test_a_refuted_file(process: Callable[..., Any], write: Callable[[str, str], str]) -> None:
    """Exit 1, in several processes as in one."""
    write(
        "racy.py",
        """
        from streamorder import Gpu, protocol


        @protocol()
        def racy(gpu: Gpu) -> None:
            d = gpu.device("d")
            gpu.launch("k", gpu.stream("s"), writes={d: 1})
            gpu.launch("l", gpu.stream("t"), writes={d: 2})
        """,
    )
    assert process("check", "racy.py").code == 1
    assert process("check", "racy.py", "--jobs", "2").code == 1
    assert ESCAPE not in process("explain", "racy.py", FORCE_COLOR="1").out


def test_an_error_in_several_processes(process: Callable[..., Any]) -> None:
    """Workers pass it on: still one line."""
    code, out, err = process("check", "fp8-prefill/*", "--slots", "3", "--jobs", "2")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_the_console_script(process: Callable[..., Any]) -> None:
    """`streamorder` is the same command."""
    script = shutil.which("streamorder", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.skip("streamorder is not installed beside this Python")
    done = subprocess.run([script, "list"], check=True, capture_output=True, text=True)
    assert done.stdout == process("list").out
    shown = subprocess.run([script, "--version"], check=True, capture_output=True, text=True)
    assert shown.stdout == f"streamorder {__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["check", "--help"], ["audit", "-h"], []])
def test_help(words: list[str], process: Callable[..., Any]) -> None:
    """Help is no error."""
    code, out, err = process(*words)
    assert (code, err) == (0, "")
    assert out.startswith("usage: streamorder")


@pytest.mark.parametrize(
    "words",
    [["list"], ["explain", "fp8-prefill/*"], ["check", "sparse-decode/*", "--format", "json"]],
)
def test_a_reader_that_goes_away(words: list[str]) -> None:
    """`streamorder explain | head -1` ends without a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "streamorder", *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
    )
    os.close(writer)
    assert done.stderr == ""


FULL = """
import resource, sys

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from streamorder.cli import main

sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "words",
    [["list"], ["check", "fp8-prefill/direct"],
     ["audit", "fp8-prefill/direct", "--format", "json"]],
)  # fmt: skip
def test_an_output_that_is_full(words: list[str], tmp_path: Path) -> None:
    """Exit 2, which is no verdict, with one line."""
    with (tmp_path / "out").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-B", "-c", FULL, *words],
            stdout=full, stderr=subprocess.PIPE, check=False, text=True,
        )  # fmt: skip
    assert done.stderr == "streamorder: standard output: File too large\n"
    assert done.returncode == 2


def test_an_output_that_is_closed() -> None:
    """The exit code is the answer all the same."""
    command = f"exec {sys.executable} -m streamorder check fp8-prefill/direct --contract hip >&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["networkx", "simpy", "torch", "rich", "numpy"])
def test_a_check_imports_only_what_it_needs(name: str) -> None:
    """The command starts fast: nothing large is imported to decide."""
    code = (
        "import sys; from streamorder.cli import main; "
        f"main(['check', 'fp8-prefill/direct']); sys.exit({name!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == 0


def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not there either where NO_COLOR is set, to anything at all."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Paint.for_stream(Terminal()).red("x") == "\x1b[31mx\x1b[0m"
    assert Paint.for_stream(io.StringIO()).red("x") == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Paint.for_stream(Terminal()).red("x") == "x"


def test_colours_change_nothing_but_colour(
    command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    timeless: Callable[[str], str],
) -> None:
    """Without the escapes the text is the same."""
    plain = command("explain", "fp8-prefill/staged-no-wait").out
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    command("explain", "fp8-prefill/staged-no-wait")
    coloured = screen.getvalue()
    assert ESCAPE in coloured
    for code in ("0", "1", "2", "31", "32", "33"):
        coloured = coloured.replace(f"{ESCAPE}[{code}m", "")
    assert timeless(coloured) == timeless(plain)
