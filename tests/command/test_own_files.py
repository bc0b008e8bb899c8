"""`FILE.py` and `FILE.py:function`: protocols of a user's own, with their names and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FINE = """
from streamorder import Gpu, protocol


@protocol()
def fine(gpu: Gpu) -> None:
    gpu.launch("k", gpu.stream("s"))
"""

RACY = """
from streamorder import Gpu, protocol


@protocol()
def racy(gpu: Gpu) -> None:
    d = gpu.device("d")
    gpu.launch("k", gpu.stream("s"), writes={d: 1})
    gpu.launch("l", gpu.stream("t"), writes={d: 2})
"""


def test_a_file_with_several_protocols(
    programs: Path, command: Callable[..., Any], snapshot: Callable[..., None]
) -> None:
    """Each of them, by file and name, in the order in which they are written."""
    assert programs.is_dir()
    code, out, _err = command("check", "by_contract.py")
    assert code == 1
    snapshot(out, "check-file")


def test_a_protocol_with_a_name_of_its_own(
    command: Callable[..., Any], write: Callable[..., str]
) -> None:
    """It is found whatever its function is called, and named by its own name."""
    write("named.py", FINE.replace("protocol()", 'protocol("mine/fine")'))
    code, out, err = command("check", "named.py")
    assert (code, err) == (0, "")
    assert out.startswith("named.py:mine/fine under cuda: PROVED")


def test_a_declaration_without_brackets(
    command: Callable[..., Any], write: Callable[..., str]
) -> None:
    """`@protocol` alone declares what `@protocol()` does."""
    write("plain.py", FINE.replace("protocol()", "protocol"))
    code, out, err = command("check", "plain.py")
    assert (code, err) == (0, "")
    assert out.startswith("plain.py:fine under cuda: PROVED")


def test_a_name_that_is_another_function_s(
    command: Callable[..., Any], write: Callable[..., str]
) -> None:
    """Each verdict is that of the protocol it names."""
    source = FINE.replace("protocol()", 'protocol("racy")') + RACY.partition("protocol\n")[2]
    write("swapped.py", source.replace("@protocol()\ndef racy", '@protocol("fine")\ndef racy'))
    out = command("check", "swapped.py", "--contract", "cuda").out
    assert "swapped.py:racy under cuda: PROVED" in out
    assert "swapped.py:fine under cuda: REFUTED" in out


def test_a_plain_function_by_name(command: Callable[..., Any], write: Callable[..., str]) -> None:
    """It needs no decorator, and its defaults are options."""
    write(
        "plain.py",
        """
        def body(gpu, kernels=2):
            for _ in range(kernels):
                gpu.launch("k", gpu.stream("s"))
        """,
    )
    out = command("check", "plain.py:body", "--kernels", "7", "--contract", "hip").out
    assert out.startswith("plain.py:body --kernels 7 under hip: PROVED (no step loop")
    assert "7 operations" in out


def test_options_are_never_guessed(command: Callable[..., Any], write: Callable[..., str]) -> None:
    """A parameter that begins like an option is the protocol's own."""
    write(
        "short.py",
        """
        def body(gpu, step=2, e=3):
            for _ in range(step * e):
                gpu.launch("k", gpu.stream("s"))
        """,
    )
    code, out, err = command("check", "short.py:body", "--step", "5", "--e", "7")
    assert (code, err) == (0, "")
    assert "35 operations" in out
