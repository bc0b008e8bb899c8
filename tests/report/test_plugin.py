"""The pytest plugin, in processes of its own as a user runs them."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from streamorder import BadInput, Outcome, catalogue, exhaustive
from streamorder.report.regression import regression_test

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamorder import Gpu, Verdict

BROKEN = """
    from streamorder import Gpu, protocol

    @protocol(slots=2)
    def upload(gpu: Gpu, slots: int) -> None:
        stream, table = gpu.stream("compute"), gpu.device("table")
        pinned = [gpu.pinned(f"slot{i}") for i in range(slots)]
        copied = [gpu.event(f"copied{i}") for i in range(slots)]
        for n in gpu.steps():
            # the wait
            gpu.write(pinned[n % slots], n)
            gpu.memcpy_async(table, pinned[n % slots], stream)
            copied[n % slots].record(stream)
            gpu.launch("attention", stream, reads={table: n})
"""
HANGS = "corpus/C67-hardware-queues/unshared-first"
MENDED = BROKEN.replace("# the wait", "copied[n % slots].synchronize()")


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """`project(name=source, …)`: a folder of files, with settings of its own."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")

    def made(**files: str) -> Path:
        for name, source in files.items():
            (tmp_path / f"{name}.py").write_text(dedent(source), encoding="utf-8")
        return tmp_path

    return made


def run_pytest(folder: Path, *words: str) -> tuple[int, str]:
    """The exit code and the output of pytest in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
        cwd=folder, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


TESTS = """
    import pytest
    import streamorder
    from upload import upload

    test_upload = streamorder.exhaustive(upload, slots=[1, 2], contracts="hip")

    @pytest.mark.swept
    @streamorder.exhaustive(slots=[1, 3], steps=[2, 5])
    def one_stream(gpu, slots=1):
        s, d = gpu.stream("s"), gpu.device("d")
        for n in gpu.steps():
            gpu.launch("make", s, writes={d: n})
            gpu.launch("use", s, reads={d: n})

    @streamorder.exhaustive(limits=streamorder.Limits(executions=2), contracts="cuda")
    def test_spent(gpu):
        for n in gpu.steps():
            gpu.choose("a", "b")

    @streamorder.exhaustive(contracts="cuda", steps=2, prove=True)
    def test_bounded(gpu):
        for n in gpu.steps():
            gpu.launch("k", gpu.null_stream)

    def test_fixture(streamorder_check):
        (verdict,) = streamorder_check(upload, slots=1, contracts="cuda", steps=1)
        assert verdict.outcome == "HOLDS"

    def test_fixture_fails(streamorder_check):
        streamorder_check(upload, slots=[1, 2], contracts=["cuda", "hip"])
"""


def test_in_a_project(project: Callable[..., Path]) -> None:
    """Sweeps are tests whatever their names; failures show swim lanes, and leave pages; what was
    not decided fails; marks count; JUnit and the summary tell what was decided.
    """
    folder = project(upload=BROKEN, test_upload=TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = swept: x\n", encoding="utf-8")
    code, out = run_pytest(
        folder, "-rA", "--streamorder-html", "pages", "--junitxml", "junit.xml", "--strict-markers"
    )
    assert code == 1, out
    assert "5 failed, 9 passed" in out
    assert "fixture 'gpu' not found" not in out
    swept = ("steps=2-slots=1", "steps=2-slots=3", "steps=5-slots=1", "steps=5-slots=3")
    for contract in ("cuda", "hip"):
        for values in swept:
            assert f"PASSED test_upload.py::one_stream[{contract}-{values}]" in out
    for name in (
        *("test_upload[hip-slots=1]", "test_upload[hip-slots=2]", "test_spent[cuda]"),
        *("test_bounded[cuda]", "test_fixture_fails"),
    ):
        assert f"FAILED test_upload.py::{name}" in out
    assert "    !    9 write(slot0, 2): writes slot0 = 2" in out
    assert "UNDETERMINED" in out
    assert "it holds for the steps that were checked, and prove=True" in out
    assert "Traceback" not in out
    assert "judge(" not in out
    assert "one_stream --slots 3 under hip: HOLDS (5 steps, streams of unbounded depth)" in out
    pages = sorted(path.name for path in (folder / "pages").iterdir())
    assert pages == [
        "test_upload.py_test_fixture_fails-cuda.html",
        "test_upload.py_test_upload_hip-slots=1_-hip.html",
        "test_upload.py_test_upload_hip-slots=2_-hip.html",
    ]
    properties = ET.parse(folder / "junit.xml").getroot().iter("property")  # noqa: S314 - ours
    assert any(
        "one_stream --slots 3 under hip: HOLDS" in (p.get("value") or "") for p in properties
    )
    code, out = run_pytest(folder, "-m", "swept", "test_upload.py::one_stream[hip-steps=2-slots=1]")
    assert (code, "1 passed" in out) == (0, True)


def test_inert_until_used(project: Callable[..., Path]) -> None:
    """A project that does not use it loads the plugin's own module, and sees nothing."""
    folder = project(
        test_other="""
            import sys

            def test_nothing_is_loaded():
                ours = {name for name in sys.modules if name.startswith("streamorder.")}
                assert "streamorder.report.plugin" in ours
                assert not {name for name in ours if name.startswith("streamorder.sim")}
                assert not {"streamorder.model.check", "streamorder.report.sweep"} & ours
                assert not {"torch", "numpy", "simpy", "networkx", "greenlet"} & set(sys.modules)
        """
    )
    code, out = run_pytest(folder)
    assert code == 0, out
    assert "streamorder" not in out


def test_the_written_test(project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """`explain --pytest` writes a test that fails on the broken protocol and passes on the mended
    one, from another folder too.
    """
    from streamorder.cli import main

    folder = project(upload=BROKEN)
    (folder / "tests").mkdir()
    monkeypatch.chdir(folder)
    assert main(["explain", "upload.py", "--pytest", "tests/test_upload.py"]) == 1
    code, out = run_pytest(folder, "tests")
    assert (code, "2 failed" in out) == (1, True), out
    assert "    !    9 write(slot0, 2): writes slot0 = 2" in out
    project(upload=MENDED)
    code, out = run_pytest(folder, "tests")
    assert (code, "2 passed" in out) == (0, True), out
    assert "PROVED (every number of steps" in out


def test_of_a_catalogue_entry(tmp_path: Path, verdict: Callable[..., Verdict]) -> None:
    """An entry of the catalogue is found by its name."""
    found = verdict("deadlock")._replace(name="fp8-prefill/direct", parameters={"layers": 2})
    text = regression_test([found], tmp_path, steps=6)
    assert 'PROTOCOL = catalogue()["fp8-prefill/direct"]' in text
    assert "steps=6, layers=2)" in text
    assert "def test_fp8_prefill_direct(" in text


def test_on_runtimes() -> None:
    """What a runtime hides is still refuted; what can hang on one is no pass; what holds holds."""
    found = {}
    for name in ("fp8-prefill/direct", "fp8-prefill/staged", HANGS):
        sweep = exhaustive(catalogue()[name], runtimes=["rocm-7.2", "cuda-13"])
        assert [case.named([]) for case in sweep.cases] == ["rocm-7.2", "cuda-13"]
        found[name] = [sweep.fault(sweep.decide(case)) for case in sweep.cases]
    assert all("REFUTED" in (said or "") for said in found["fp8-prefill/direct"])
    assert "on rocm-7.2: may be hidden" in (found["fp8-prefill/direct"][0] or "")
    assert found["fp8-prefill/staged"] == [None, None]
    assert "on rocm-7.2: may hang" in (found[HANGS][0] or "")


def test_of_what_holds(tmp_path: Path, verdict: Callable[..., Verdict]) -> None:
    """The file says what it is for: mending, keeping, deciding."""
    refuted = verdict("deadlock")._replace(name="fp8-prefill/direct")
    for outcome, line, found in (
        ("PROVED", "it fails once fp8-prefill/direct no longer holds.", "It held"),
        ("HOLDS", "it fails once fp8-prefill/direct no longer holds.", "It held"),
        ("UNDETERMINED", "is decided, and holds.", "It was not decided"),
    ):
        one = refuted._replace(outcome=Outcome(outcome), missing_edges=())
        text = regression_test([one], tmp_path)
        assert text.partition("\n")[0].endswith(line)
        assert text.splitlines()[2] == f"{found} when this was written."
    mixed = [refuted._replace(outcome=Outcome.HOLDS, missing_edges=()), refuted]
    assert "it fails until fp8-prefill/direct is mended.\n" in regression_test(mixed, tmp_path)


WRONG = """
    import streamorder
    from upload import upload

    @streamorder.exhaustive(contracts="cuda")
    def test_protocol(gpu):
        gpu.launch("k", "s")

    def test_setting(streamorder_check):
        streamorder_check(upload, slot=3)
"""


def test_mistakes_show_one_line(project: Callable[..., Path]) -> None:
    """Where a test is declared, and where it is run: no frame of ours."""
    folder = project(
        upload=BROKEN,
        test_wrong=WRONG,
        test_declared="""
            import streamorder
            from upload import upload

            test_upload = streamorder.exhaustive(upload, slot=[1])
        """,
    )
    code, out = run_pytest(folder, "--continue-on-collection-errors")
    assert code == 1
    said = "upload has no parameter slot; it has: slots; did you mean slots?"
    assert f"\ntest_declared.py:5: {said}\n" in out
    assert f"\n{said}\n" in out
    assert "test_wrong.py:7: " in out
    assert "2 failed, 1 error" in out
    assert "raise " not in out
    assert "another exception" not in out
    assert "report/plugin.py" not in out


def test_contracts_and_runtimes_together() -> None:
    """Both are swept; without either, CUDA and HIP."""
    entry = catalogue()["fp8-prefill/staged"]
    both = exhaustive(entry, contracts="cuda-hmm", runtimes="rocm-10", slots=[1, 2])
    names = [case.named(both.varied) for case in both.cases]
    assert names == [
        *("cuda-hmm-slots=1", "cuda-hmm-slots=2", "rocm-10-slots=1", "rocm-10-slots=2"),
    ]
    assert [str(case.place) for case in exhaustive(entry).cases] == ["cuda", "hip"]


def test_bad_sweeps() -> None:
    """Refused when they are declared, in one line."""
    entry = catalogue()["fp8-prefill/staged"]
    with pytest.raises(
        BadInput, match="has no parameter slot; it has: slots, layers; did you mean slots"
    ):
        exhaustive(entry, slot=[1])
    with pytest.raises(BadInput, match="unknown contract 'cdua'"):
        exhaustive(entry, contracts="cdua")
    with pytest.raises(BadInput, match="unknown runtime 'rocm'"):
        exhaustive(entry, runtimes="rocm")
    with pytest.raises(BadInput, match="an empty list leaves nothing to check"):
        exhaustive(entry, slots=[])
    with pytest.raises(BadInput, match="takes a whole number, not 'x'"):
        exhaustive(entry, slots=[1, "x"])


def test_a_sweep_is_still_a_protocol() -> None:
    """Another protocol can call it, and `check` decides it."""
    from streamorder import check

    @exhaustive(slots=[1, 2])
    def body(gpu: Gpu, slots: int = 2) -> None:
        """Nothing much."""
        gpu.launch("k", gpu.stream(f"s{slots}"))

    assert check(body, "cuda").outcome == "HOLDS"
    assert body.summary == "Nothing much."
    assert [case.parameters for case in body.cases] == [{"slots": 1}, {"slots": 2}] * 2
