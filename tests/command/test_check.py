"""`streamorder check`: what it decides, how it says so, and what it exits with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import catalogue
from streamorder.commands import deciding
from streamorder.model.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

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

UNSURE = """
from streamorder import Gpu, protocol


@protocol()
def unsure(gpu: Gpu) -> None:
    s, d, p = gpu.stream("s"), gpu.device("d"), gpu.pageable("p")
    gpu.memcpy_async(d, p, s)
    gpu.write(p, 1)
"""


def test_the_whole_catalogue(command: Callable[..., Any], snapshot: Callable[..., None]) -> None:
    """A table with a row for each entry and contract; all are as expected, so it exits 0."""
    code, out, err = command("check")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].endswith(": all as expected")
    snapshot(out, "check-catalogue")


def test_several_processes(
    command: Callable[..., Any], timeless: Callable[[str], str], write: Callable[..., str]
) -> None:
    """With `--jobs` the answer is the same, and in the same order; files can be decided so too."""
    alone, together = command("check", "corpus/*"), command("check", "corpus/*", "--jobs", "2")
    assert timeless(together.out) == timeless(alone.out)
    assert together.code == 0
    write("racy.py", RACY)
    assert command("check", "racy.py", "racy.py:racy", "--jobs", "2").code == 1


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (["fp8-prefill/staged"], 2),
        (["fp8-prefill/staged*"], 14),
        (["*/staged", "*/direct"], 4),
        (["*/staged", "--contract", "hip"], 1),
        (["*/staged", "--contract", "hip,cuda,cuda-hmm"], 3),
        (["fp8-prefill/pageable-slots"], 3),
    ],
    ids=str,
)
def test_names_and_contracts(words: list[str], rows: int, command: Callable[..., Any]) -> None:
    """Each name under CUDA and HIP, and under what else it has expectations for, unless asked."""
    code, out, _err = command("check", *words)
    heads = [line for line in out.splitlines() if line.startswith("fp8-prefill/")]
    assert (code, len(heads)) == (0, rows)


def test_one_that_holds(command: Callable[..., Any], snapshot: Callable[..., None]) -> None:
    """A line a contract: parameters, verdict, what is covered and what it cost."""
    code, out, _err = command("check", "fp8-prefill/staged", "--slots", "3", "--layers=61")
    assert code == 0
    snapshot(out, "check-staged")


@pytest.mark.parametrize("contract", ["cuda", "hip"])
def test_a_long_refutation_is_short(
    contract: str, command: Callable[..., Any], snapshot: Callable[..., None]
) -> None:
    """4,064 operations fold into a screenful."""
    words = ["fp8-prefill/direct", "--steps", "32", "--layers", "61", "--contract", contract]
    code, out, _err = command("check", *words)
    assert code == 0, "refuted, as expected"
    assert len(out.splitlines()) <= 30
    assert "×" in out
    snapshot(out, f"check-direct-{contract}")


@pytest.mark.parametrize("engine", ["order", "machine"])
def test_engines(engine: str, command: Callable[..., Any]) -> None:
    """Both engines agree with the catalogue; only the machine counts states."""
    code, out, _err = command("check", "*/staged", "*/direct", "--engine", engine)
    assert code == 0
    good = "PROVED" if engine == "order" else "HOLDS"
    assert out.splitlines()[-1] == f"2 {good}, 2 REFUTED: all as expected"
    _code, out, _err = command("check", "*/staged", "--engine", engine)
    assert (" states, " in out) == (engine == "machine")


# --- bounds -------------------------------------------------------------------------------------


def test_below_the_size_where_it_shows(
    command: Callable[..., Any], snapshot: Callable[..., None]
) -> None:
    """Too few steps for the refutation that is expected: said so, and not as a surprise."""
    code, out, _err = command("check", "fp8-prefill/staged-no-wait", "--steps", "2")
    assert code == 0
    assert out.count("below the size where it shows: refuted with 4 steps") == 2
    snapshot(out, "check-below-size")


def test_a_slot_that_was_used_once(command: Callable[..., Any]) -> None:
    """With as many steps as slots a verdict warns, with twice as many it does not."""
    words = ["check", "fp8-prefill/staged", "--slots", "3", "--steps"]
    assert command(*words, "3").out.count("note: used in one step only: slot0, copied0") == 2
    assert "note:" not in command(*words, "6").out
    assert "note:" not in command("check", "fp8-prefill/staged", "--slots", "3").out


# --- exit codes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "contract", "code"),
    [
        ("fine.py", "cuda", 0),
        ("fine.py:fine", "hip", 0),
        ("racy.py", "cuda", 1),
        ("racy.py:racy", "hip", 1),
        ("unsure.py", "cuda", 0),
        ("unsure.py", "cuda-hmm", 3),
        ("fine.py racy.py", "cuda", 1),
        ("fine.py unsure.py", "cuda-hmm", 3),
        ("unsure.py racy.py", "cuda-hmm", 1),
        ("racy.py fp8-prefill/direct", "cuda", 1),
        ("fine.py fp8-prefill/direct", "cuda", 0),
        ("unsure.py fp8-prefill/pageable-slots", "cuda-hmm", 3),
        ("fp8-prefill/pageable-slots", "cuda-hmm", 0),
        ("racy.py unsure.py broken.py", "cuda-hmm", 2),
        ("broken.py fp8-prefill/direct", "cuda", 2),
    ],
)
@pytest.mark.parametrize("subcommand", ["check", "explain"])
def test_exit_codes(
    subcommand: str,
    names: str,
    contract: str,
    code: int,
    command: Callable[..., Any],
    write: Callable[..., str],
) -> None:
    """0 held or as expected, 1 refuted, 2 wrong, 3 undetermined; the first of 2, 1, 3 counts."""
    for name, source in (("fine.py", FINE), ("racy.py", RACY), ("unsure.py", UNSURE)):
        write(name, source)
    write("broken.py", FINE + "    gpu.launch('k', None)\n")
    assert command(subcommand, *names.split(), "--contract", contract).code == code


def test_proved_is_satisfied_by_holds(command: Callable[..., Any]) -> None:
    """A bounded check cannot say more than HOLDS; that is as expected."""
    assert catalogue()["fp8-prefill/staged"].expects["hip"] == "PROVED"
    assert "expected" not in command("check", "fp8-prefill/staged").out


@pytest.mark.parametrize(
    ("stated", "found"), [("PROVED", "fp8-prefill/direct"), ("REFUTED", "fp8-prefill/staged")]
)
def test_what_is_not_as_expected_fails(
    stated: str, found: str, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalogue passes only where every verdict is the stated one, a lost refutation too."""
    entry = catalogue()[found]
    other = Protocol(entry.body, found, entry.parameters, {"cuda": stated})
    monkeypatch.setattr(deciding, "find", lambda _patterns: [other])
    code, out, _err = command("check", found, "--contract", "cuda")
    assert f"[expected {stated}]" in out
    assert code == 1


def test_expectations_are_for_the_stated_parameters(command: Callable[..., Any]) -> None:
    """With one slot this entry is safe, as its own text says: nothing to complain of."""
    code, out, _err = command("check", "fp8-prefill/staged-stuck-slot", "--slots", "1")
    assert code == 0
    assert "expected" not in out


def test_parameters_may_come_first(command: Callable[..., Any]) -> None:
    """The order of options and names does not matter."""
    code, out, err = command("check", "--slots", "3", "fp8-prefill/staged", "--contract", "hip")
    assert (code, err) == (0, "")
    assert out.startswith("fp8-prefill/staged --slots 3")


def test_concurrent_on_the_machine(command: Callable[..., Any], write: Callable[..., str]) -> None:
    """What an engine does not decide is UNDETERMINED; the other verdicts are still given."""
    write(
        "overlap.py",
        """
        def body(gpu):
            gpu.concurrent(gpu.launch("k", gpu.stream("s")), gpu.launch("l", gpu.stream("t")))
        """,
    )
    words = ["fp8-prefill/staged", "overlap.py:body", "--engine", "machine", "--contract", "hip"]
    code, out, _err = command("check", *words)
    assert code == 3
    assert "fp8-prefill/staged --slots 2 --layers 1 under hip: HOLDS" in out
    assert "overlap.py:body under hip: UNDETERMINED" in out
    assert "does not decide concurrent" in out
