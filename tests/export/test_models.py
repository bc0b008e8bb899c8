"""What exported models look like, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder import BadInput, Gpu, Protocol, catalogue, promela, tla
from streamorder.cli import main
from streamorder.model.export.heading import options_in, verdict_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STAGED = "fp8-prefill/staged"
UNORDERED = "corpus/C34-ping-pong/index-kept"


def test_promela_page(snapshot: Callable[[str, str], None]) -> None:
    """The staged slots as Promela."""
    snapshot(without_lines(promela(catalogue()[STAGED], "hip")), "staged.pml")


def test_tla_page(snapshot: Callable[[str, str], None]) -> None:
    """The staged slots as TLA+."""
    snapshot(without_lines(tla(catalogue()[STAGED], "hip", module="Staged")), "staged.tla")


def without_lines(model: str) -> str:
    """A model without line numbers of the library."""
    import re

    return re.sub(r"(\w+\.py):\d+", r"\1:#", model)


@pytest.mark.parametrize("export", [promela, tla])
def test_more_steps_and_layers_make_no_longer_model(export: Any) -> None:
    """Steps and layers are loops: a model of many is as long as one of a few."""
    entry = catalogue()[STAGED]
    few, many = export(entry, steps=6, layers=3), export(entry, steps=12, layers=6)
    assert few.count("\n") == many.count("\n")


def test_odd_steps_keep_their_remainder() -> None:
    """Three slots and eight steps: two rounds in a loop, two steps after it."""
    model = promela(catalogue()[STAGED], steps=8, slots=3)
    assert model.count("copied0.synchronize()") == 2
    assert model.count("copied2.synchronize()") == 1


def test_versions_that_are_no_numbers() -> None:
    """Strings get numbers, equal ones the same; the heading names them."""

    def named(gpu: Gpu) -> None:
        """Versions in words."""
        stream, data = gpu.stream("s"), gpu.device("data")
        gpu.launch("writer", stream, writes={data: "old"})
        gpu.launch("reader", stream, reads={data: "old"})

    model = promela(named)
    assert "-10 'old'" in model
    assert "data = -10" in model
    assert "assert(data == -10)" in model


@pytest.mark.parametrize("export", [promela, tla])
def test_a_stated_overlap_is_refused(export: Any) -> None:
    """`concurrent` asks for the absence of an order, which a model of states does not see."""
    with pytest.raises(BadInput, match=r"concurrent\(\) states an order that must not be"):
        export(catalogue()[UNORDERED])


def test_a_queue_that_promela_cannot_hold_is_refused() -> None:
    """A shorter channel would hold the host back and could hide a mistake."""
    with pytest.raises(BadInput, match=r"\d+ operations can be in the queue of compute"):
        promela(catalogue()["fp8-prefill/staged-no-wait"], steps=64)


def test_open_promises_are_asked_for() -> None:
    """Nothing is assumed of what the contract leaves open; the model says what was said."""
    entry = catalogue()["corpus/C66-early-launch/waits-for-the-last"]
    with pytest.raises(BadInput, match="--kept or --broken early_wait_transitive"):
        promela(entry, "cuda")
    assert "open; here it is kept" in promela(entry, "cuda", kept=["early_wait_transitive"])
    assert "open; here it is broken" in promela(entry, "cuda", broken=["early_wait_transitive"])
    with pytest.raises(BadInput, match="leaves no promise 'stream_order' open"):
        promela(entry, "cuda", kept=["stream_order"])
    with pytest.raises(BadInput, match="kept and broken"):
        promela(entry, "cuda", kept=["free_awaits"], broken=["free_awaits"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([STAGED], "say where to"),
        ([STAGED, "--promela", "no/such/folder.pml"], "there is no folder no/such"),
        ([STAGED, "--promela", "a.pml", "--tla", "no/S.tla"], "no/S.tla: there is no folder no"),
        ([STAGED, "--tla", "z.pml"], "--tla z.pml: the name must end in .tla"),
        ([STAGED, "--promela", "z.tla"], "--promela z.tla: the name must end in .pml"),
        (["fp8-prefill/*", "--promela", "all.pml"], "export takes one protocol, not"),
        ([STAGED, "--tla", "two-words.tla"], "needs an identifier"),
        ([STAGED, "--promela", "a.pml", "--steps", "0"], "--steps must be"),
        ([STAGED, "--promela", "a.pml", "--contract", "metal"], "unknown contract"),
        ([UNORDERED, "--promela", "a.pml", "--tla", "A.tla"], "concurrent()"),
    ],
)
def test_refused_in_one_line(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2, one line, and nothing written."""
    monkeypatch.chdir(tmp_path)
    assert main(["export", *words]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert not shown.out
    assert not list(tmp_path.iterdir())


def test_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The specification comes with its configuration; `-` prints."""
    monkeypatch.chdir(tmp_path)
    assert main(["export", STAGED, "--promela", "staged.pml", "--tla", "Staged.tla"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "Staged.cfg", "Staged.tla", "staged.pml",
    ]  # fmt: skip
    assert "MODULE Staged" in (tmp_path / "Staged.tla").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["export", STAGED, "--promela", "-"]) == 0
    assert capsys.readouterr().out == (tmp_path / "staged.pml").read_text(encoding="utf-8")


def test_run_compares(spin: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`--run` has SPIN decide the model, and says whether it decides as we do."""
    assert spin
    path = tmp_path / "m.pml"
    name = "fp8-prefill/staged-no-wait"
    assert main(["export", name, "--promela", str(path), "--run"]) == 0
    shown = capsys.readouterr().out
    assert "SPIN: REFUTED" in shown
    assert "streamorder says the same" in shown


LIES = (
    "Slow until pan was built with -DBITSTATE and ran.",
    "As the design says for these bounds: REFUTED.",
    "`streamorder check` says for these bounds: REFUTED.",
    "spin -a FILE && gcc -O2 -DBITSTATE -o pan pan.c && ./pan -m1000000",
)


@pytest.mark.parametrize("said", LIES)
@pytest.mark.parametrize("place", ["{}", "x\n *\n * {}\n *     {}\n\\*\n\\* {}\n"])
def test_a_protocols_words_are_not_the_exporters(said: str, place: str) -> None:
    """Options and our verdict are read from lines that no docstring, name or parameter makes."""
    words = place.replace("{}", said)

    def body(gpu: Gpu, word: str = "") -> None:
        gpu.launch("kernel", gpu.stream(f"stream {len(word)}"))

    body.__doc__ = said
    target = Protocol(body, words, {"word": ""}, {})
    for model in (promela(target, word=words), tla(target, word=words)):
        assert verdict_in(model) == "HOLDS"
    assert options_in(promela(target, word=words)) == ["-DSAFETY", "-DVECTORSZ=1024"]
    for model in (promela(target, compared=False), tla(target, compared=False)):
        assert verdict_in(model) == ""


def test_our_verdict_is_found_behind_open_promises() -> None:
    """What a heading says between the protocol and the verdict does not hide that."""
    entry = catalogue()["fp8-prefill/synchronize-first"]
    promises = ["null_sync_covers_blocking"]
    for made in (promela, tla):
        for model in (made(entry, "cuda", kept=promises), made(entry, "cuda", broken=promises)):
            assert verdict_in(model) in {"HOLDS", "REFUTED"}
