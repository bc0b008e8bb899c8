"""`streamorder doc`: what a design page tells, that its links lead somewhere, and its digest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamorder import catalogue
from streamorder.cli import main
from streamorder.commands.doc import inputs
from streamorder.model.repair.without import without_each_wait
from streamorder.report.design import digest
from streamorder.report.design_page import MARK

if TYPE_CHECKING:
    from collections.abc import Callable

LINK = re.compile(r"\]\(([^)#]+)\)")
DIGEST = re.compile(rf"({re.escape(MARK)}) `\w+`")

PAGES = {
    "proved": "fp8-prefill/staged-packed",
    "refuted-under-one": "fp8-prefill/synchronize-first",
    "undetermined": "fp8-prefill/pageable-slots",
    "deadlock": "corpus/C50-output-thread/one-event-released-late",
    "graph-and-choices": "sparse-decode/event-wait",
}


def broken_links(folder: Path) -> list[str]:
    """The links of every page that lead to no file."""
    return [
        f"{page}: {link}"
        for page in folder.rglob("*.md")
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / link).is_file()
    ]


@pytest.mark.parametrize("page", PAGES)
def test_page(
    page: str,
    tmp_path: Path,
    snapshot: Callable[[str, str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A page of each kind, as Markdown; its pictures and the page to step through are there."""
    assert main(["doc", PAGES[page], "--out", str(tmp_path / "new" / "pages")]) == 0
    assert capsys.readouterr().out.startswith("wrote ")
    folder = tmp_path / "new" / "pages"
    text = (folder / f"{PAGES[page]}.md").read_text(encoding="utf-8")
    snapshot(DIGEST.sub(r"\1 `#`", text), f"design-{page}")
    assert broken_links(folder) == []
    assert f"({PAGES[page]}.md)" in (folder / "index.md").read_text(encoding="utf-8")
    assert all(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())


def test_of_a_users_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol without a docstring, a family or waits; parameters are the page's."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(
        "def body(gpu, size=1):\n"
        "    s, d = gpu.stream('s'), gpu.device('d')\n"
        "    for n in gpu.steps():\n"
        "        gpu.launch('k', s, writes={d: n})\n",
        encoding="utf-8",
    )
    assert main(["doc", "own.py:body", "--out", "pages", "--size", "3"]) == 0
    text = Path("pages/own.py-body.md").read_text(encoding="utf-8")
    assert "`size` = 3" in text
    assert "*Its docstring does not say what it is for.*" in text
    assert "It waits nowhere" in text
    assert "## Variants" not in text
    assert broken_links(tmp_path / "pages") == []


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["doc", "--out", "new"], "name protocols, or say --all"),
        (["doc", "fp8-prefill/staged", "--all", "--out", "new"], "name protocols, or say --all"),
        (["doc", "fp8-prefill/staged"], "the following arguments are required: --out"),
        (["doc", "fp8-prefill/stagde", "--out", "new"], "unknown protocol 'fp8-prefill/stagde'"),
        (["doc", "fp8-prefill/staged", "--slot", "1", "--out", "new"], "has no parameter --slot"),
        (["doc", "fp8-prefill/staged", "--out", "README.md"], "is a file; name a folder"),
    ],
)
def test_refusals(words: list[str], wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit 2, and nothing is written."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert wanted in err
    assert len(err.splitlines()) == 1
    assert not Path("new").exists()


def test_the_digest_covers_what_a_page_is_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another source text, parameter, input, expectation or name is another digest."""
    from streamorder.model.load import load

    monkeypatch.chdir(tmp_path)
    file = Path("own.py")
    source = "def body(gpu, size=1):\n    gpu.launch('k', gpu.stream('s'))\n"
    file.write_text(source, encoding="utf-8")
    (entry,) = load("own.py:body")
    before = digest(entry, {}, {})
    assert digest(entry, {}, {}) == before
    others = {digest(entry, {"device": "faster"}, {}), digest(entry, {}, {"size": 2})}
    file.write_text(source + "# a remark\n", encoding="utf-8")
    others.add(digest(entry, {}, {}))
    assert len(others | {before}) == 4
    staged = catalogue()["fp8-prefill/staged"]
    assert digest(staged, inputs(), {}) != digest(staged, {}, {})


def test_mutants_by_hand() -> None:
    """`event-wait` has three waits, one on a stream and two of the host; each is needed."""
    found = without_each_wait(catalogue()["sparse-decode/event-wait"], "cuda")
    assert [(mutant.call, mutant.verdict.verdict) for mutant in found] == [
        ("gpu.synchronize()", "REFUTED"),
        ("compute.wait(computed)", "REFUTED"),
        ("ready.synchronize()", "REFUTED"),
    ]
    safe = without_each_wait(catalogue()["fp8-prefill/staged-one-event"], "hip", slots=2)
    assert [mutant.verdict.verdict for mutant in safe] == ["REFUTED"]
    assert without_each_wait(catalogue()["fp8-prefill/planner-on-device"], "cuda") == []


@pytest.mark.slow
def test_every_page(tmp_path: Path) -> None:
    """The whole catalogue has pages whose links lead somewhere."""
    assert main(["doc", "--all", "--out", str(tmp_path)]) == 0
    assert len(list(tmp_path.rglob("*.md"))) == len(catalogue()) + 1
    assert broken_links(tmp_path) == []
