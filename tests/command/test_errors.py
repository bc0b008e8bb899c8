"""Errors of the command line and of files: one line that says what is wrong and how to mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMAND_LINE = """
check fp8-prefil/staged
check stagd
check zzz
check fp8-prefill/staged zzz*
explain nothing-like-it
audit staged
list zzz
check fp8-prefill/staged --steps 0
check fp8-prefill/staged --steps -1
check fp8-prefill/staged --steps many
check fp8-prefill/staged --steps 1.5
check fp8-prefill/staged --steps
check fp8-prefill/staged --slots 0
check fp8-prefill/staged --slots -2
check fp8-prefill/staged --slots two
check fp8-prefill/staged --slots 1.5
check fp8-prefill/staged --slots true
check fp8-prefill/staged --slots
check fp8-prefill/staged --slots=
check fp8-prefill/staged --layers 0
check fp8-prefill/staged --jobs 0
check fp8-prefill/staged --jobs two
check fp8-prefill/staged --engine spin
check fp8-prefill/staged --contract opencl
check fp8-prefill/staged --contract cuda,opencl
check fp8-prefill/staged --contract cuda,
check fp8-prefill/staged --depth 3
check fp8-prefill/planner-on-device --slots 3
check fp8-prefill/staged --format xml
audit fp8-prefill/staged --steps 0
audit fp8-prefill/staged --engine order
audit fp8-prefill/staged --format html
explain
audit
list --slots 3
chek
"""

FILES = {
    "missing.py": None,
    "folder.py": "",
    "empty.py": "",
    "syntax.py": "def f(gpu):\n    return (\n",
    "indent.py": "def f(gpu):\nreturn 1\n",
    "undecorated.py": "def body(gpu):\n    pass\n",
    "no_default.py": (
        "from streamorder import protocol\n\n\n@protocol()\ndef body(gpu, slots):\n    pass\n"
    ),
    "other_default.py": (
        "from streamorder import protocol\n\n\n@protocol(slots=2)\ndef body(gpu):\n    pass\n"
    ),
    "only_value.py": "body = 3\n",
    "text.txt": "",
}
NAMED = [
    "undecorated.py:absent",
    "only_value.py:body",
    "missing.py:body",
    "sub/missing.py",
    "./missing",
    "./undecorated",
    "undecorated",
    "text.txt",
    "text.txt:body",
    "folder",
    ".",
]


def page(lines: dict[str, str]) -> str:
    """Commands with what they say, one after the other."""
    return "".join(f"$ streamorder {words}\n{said}" for words, said in lines.items())


def test_command_line(refuse: Callable[..., str], snapshot: Callable[..., None]) -> None:
    """Every mistake on the command line exits 2 with one line on standard error, and nothing else.

    What argparse quotes differs from Python to Python.
    """
    said = {words: refuse(*words.split()) for words in COMMAND_LINE.strip().splitlines()}
    choices = {words: line.replace("'", "") for words, line in said.items() if "choose" in line}
    snapshot(page({**said, **choices}), "errors-command-line")


def test_an_option_without_a_subcommand(refuse: Callable[..., str]) -> None:
    """An unknown one is refused, not answered with the help."""
    assert "--verbose" in refuse("--verbose")


def test_files(workplace: Path, refuse: Callable[..., str], snapshot: Callable[..., None]) -> None:
    """So does every file that cannot be used."""
    for name, source in FILES.items():
        if name == "folder.py":
            (workplace / name).mkdir()
            (workplace / "folder").mkdir()
        elif source is not None:
            (workplace / name).write_text(source, encoding="utf-8")
    names = [*FILES, *NAMED]
    said = {f"check {name}": refuse("check", name) for name in names}
    snapshot(page(said), "errors-files")


@pytest.mark.parametrize("subcommand", ["check", "explain", "audit"])
def test_a_mistake_stops_every_command(
    subcommand: str, refuse: Callable[..., str], write: Callable[[str, str], str]
) -> None:
    """The error is the same for each of them, whatever else was asked for."""
    write("raises.py", "VALUE = 1\nVALUE.append(2)\n")
    said = refuse(subcommand, "fp8-prefill/staged", "raises.py")
    assert said.startswith("streamorder: raises.py:2: importing it raised AttributeError: ")


@pytest.mark.parametrize("source", [b"NAME = '\0'\n", b"NAME = '\xe9'\n"], ids=["nul", "latin"])
def test_bytes_that_are_no_text(source: bytes, workplace: Path, refuse: Callable[..., str]) -> None:
    """Not a Python file at all, on any Python."""
    (workplace / "bytes.py").write_bytes(source)
    assert refuse("check", "bytes.py").startswith("streamorder: bytes.py")


def test_two_protocols_with_one_name(
    refuse: Callable[..., str], write: Callable[[str, str], str]
) -> None:
    """Neither can be asked for: refused, with the name."""
    write(
        "twins.py",
        """
        from streamorder import Gpu, protocol


        @protocol("a")
        def a(gpu: Gpu) -> None:
            gpu.launch("k", gpu.stream("s"))


        @protocol("a")
        def b(gpu: Gpu) -> None:
            d = gpu.device("d")
            gpu.launch("k", gpu.stream("s"), writes={d: 1})
            gpu.launch("l", gpu.stream("t"), writes={d: 2})
        """,
    )
    said = refuse("check", "twins.py")
    assert "twins.py" in said
    assert "'a'" in said


@pytest.mark.parametrize("leave", ["sys.exit()", "sys.exit(0)", "raise SystemExit", "exit()"])
def test_a_script_that_exits(
    leave: str, refuse: Callable[..., str], write: Callable[[str, str], str]
) -> None:
    """A file that ends the process when it is imported is refused, never taken for a pass."""
    write("script.py", f"import sys\n\n\ndef body(gpu):\n    pass\n\n\n{leave}\n")
    assert refuse("check", "script.py:body").startswith("streamorder: script.py:8: ")


@pytest.mark.parametrize(
    "source", ["raise ValueError('one\\ntwo')\n", "raise ValueError('')\n"], ids=["two", "none"]
)
def test_an_error_of_several_lines(
    source: str, refuse: Callable[..., str], write: Callable[[str, str], str]
) -> None:
    """It is told in one line, as every other."""
    write("lines.py", source)
    assert refuse("check", "lines.py").startswith("streamorder: lines.py:1: importing it raised")
