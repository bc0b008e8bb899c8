"""SARIF and JUnit XML against the schemas that are published for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import xmlschema
from jsonschema import Draft4Validator

from streamorder import Limits, catalogue, check
from streamorder.model.runtime import UNDECIDED
from streamorder.report.junit import junit
from streamorder.report.sarif import sarif
from streamorder.report.text import table

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamorder import Verdict

SCHEMAS = Path(__file__).parent / "schemas"


@pytest.fixture(scope="module")
def sarif_schema() -> Draft4Validator:
    """The published schema of SARIF 2.1.0."""
    return Draft4Validator(json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def junit_schema() -> xmlschema.XMLSchema:
    """The schema of the Jenkins xUnit plugin."""
    return xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")


@pytest.fixture(scope="module")
def library() -> list[Verdict]:
    """Every entry of the catalogue under CUDA."""
    return [check(entry, "cuda") for entry in catalogue().values()]


@pytest.fixture(scope="module")
def spent() -> Verdict:
    """A verdict that a budget left undetermined."""
    entry = catalogue()["fp8-prefill/staged"]
    return check(entry, "cuda", engine="machine", limits=Limits(states=5))


def test_sarif_of_each_kind(
    kind: str, verdict: Callable[..., Verdict], sarif_schema: Draft4Validator
) -> None:
    """Every kind of counterexample is valid, with both lines, the order and an error."""
    found = verdict(kind)
    log = sarif([found])
    sarif_schema.validate(log)
    for result, edge in zip(log["runs"][0]["results"], found.missing_edges, strict=True):
        assert result["level"] == "error"
        assert edge.sentence in result["message"]["text"]
        steps = [s for f in result["codeFlows"][0]["threadFlows"] for s in f["locations"]]
        events = [*edge.counterexample, *edge.aftermath]
        orders = [step["executionOrder"] for step in steps]
        assert sorted(orders) == [event.number for event in events]
        place = result["locations"][0]["physicalLocation"]
        wanted = edge.second.where or edge.first.where
        assert wanted is not None
        assert place["region"]["startLine"] == wanted.line
        assert place["artifactLocation"]["uri"] == wanted.file
        source = Path(wanted.filename).read_text("utf-8").splitlines()[wanted.line - 1]
        assert place["region"]["snippet"]["text"] == source.strip()


def test_sarif_of_the_library(library: list[Verdict], sarif_schema: Draft4Validator) -> None:
    """What the catalogue states is a note; a result a missing edge, no fingerprint twice."""
    log = sarif(library)
    sarif_schema.validate(log)
    results = log["runs"][0]["results"]
    edges = sum(len(v.missing_edges) for v in library)
    refuted = [result for result in results if result["properties"]["verdict"] == "REFUTED"]
    assert len(refuted) == edges > 50
    assert {result["level"] for result in results} == {"note"}
    marks = [result["partialFingerprints"]["streamorder/v1"] for result in refuted]
    assert len(set(marks)) == len(marks)


def test_sarif_of_what_was_not_decided(spent: Verdict, sarif_schema: Draft4Validator) -> None:
    """Never silent: a warning at the protocol's own line."""
    log = sarif([spent])
    sarif_schema.validate(log)
    (result,) = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("streamorder/undetermined", "warning")
    assert spent.where is not None
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region["startLine"] == spent.where.line
    assert log["runs"][0]["invocations"][0]["exitCode"] == 3


def test_sarif_of_a_pass_that_nobody_expects(library: list[Verdict]) -> None:
    """A catalogue entry that holds although it states REFUTED is an error."""
    held = next(v for v in library if v.verdict == "HOLDS")._replace(expected="REFUTED")
    (result,) = sarif([held])["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("streamorder/unexpected", "error")


def test_what_can_hang_on_a_runtime(sarif_schema: Draft4Validator) -> None:
    """It holds by contract, and is an error and a failure all the same."""
    entry = catalogue()["corpus/C67-hardware-queues/unshared-first"]
    found = check(entry, runtime="rocm-7.2")
    assert found.verdict == "HOLDS"
    log = sarif([found])
    sarif_schema.validate(log)
    (result,) = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("streamorder/hang-on-a-runtime", "error")
    assert "on rocm-7.2: may hang" in result["message"]["text"]
    assert 'failures="1"' in junit([found])
    assert 'message="on rocm-7.2: may hang"' in junit([found])


def test_what_can_hang_for_a_value_of_a_sweep(sarif_schema: Draft4Validator) -> None:
    """The same, and the value is named."""
    entry = catalogue()["corpus/C72-launch-blocking/off"]
    found = check(entry, runtime="rocm-10", sweep="HIP_LAUNCH_BLOCKING=0..1")
    said = "on rocm-10 (value 1 of the sweep): hangs"
    log = sarif([found])
    sarif_schema.validate(log)
    (result,) = log["runs"][0]["results"]
    assert result["message"]["text"].endswith(said)
    assert log["runs"][0]["invocations"][0]["exitCode"] == 1
    assert 'failures="1" errors="0"' in junit([found])
    assert said in table([found])
    assert f'message="{said}"' in junit([found])


def test_what_is_undetermined_on_a_runtime(sarif_schema: Draft4Validator) -> None:
    """A refutation that is expected, and of which a runtime's part was not decided: no pass."""
    entry = catalogue()["fp8-prefill/direct"]
    found = check(entry, runtime="rocm-10", sweep="queues=1..2")
    assert (found.as_expected, found.exit_code) == (True, 0)
    value, there = found.sweep[1]
    unsure = there._replace(found=there.found._replace(hazard=UNDECIDED))
    found = found._replace(sweep=(found.sweep[0], (value, unsure)))
    assert found.exit_code == 3
    log = sarif([found])
    sarif_schema.validate(log)
    kinds = [(one["ruleId"], one["level"]) for one in log["runs"][0]["results"]]
    assert kinds[-1] == ("streamorder/undetermined", "error")
    assert 'failures="0" errors="1"' in junit([found])
    assert 'message="on rocm-10 (value 2 of the sweep): undetermined"' in junit([found])


def test_sarif_can_be_refused(sarif_schema: Draft4Validator) -> None:
    """The schema is not one that takes anything."""
    log: Any = sarif([])
    sarif_schema.validate(log)
    log["runs"][0]["result"] = []
    assert not sarif_schema.is_valid(log)


def test_junit(
    library: list[Verdict],
    spent: Verdict,
    verdict: Callable[..., Verdict],
    junit_schema: xmlschema.XMLSchema,
) -> None:
    """Refuted is a failure, not decided an error, as stated a pass; counts add up."""
    own = [verdict("slot-reuse"), verdict("deadlock"), spent]
    document = junit([*library, *own])
    junit_schema.validate(document)
    root: Any = xmlschema.XMLResource(document).root
    assert root.get("tests") == str(len(library) + 3)
    assert (root.get("failures"), root.get("errors")) == ("2", "1")
    failures = [case for case in root.iter("testcase") if case.find("failure") is not None]
    assert len(failures) == 2
    text = failures[0].find("failure").text
    assert "slot_reuse" in text
    assert "    !    4 write(slot, 1): writes slot = 1" in text


def test_junit_can_be_refused(junit_schema: xmlschema.XMLSchema) -> None:
    """The schema is not one that takes anything."""
    assert not junit_schema.is_valid("<testsuites><testcase/></testsuites>")


def test_junit_holds_any_text(verdict: Callable[..., Verdict]) -> None:
    """What XML cannot hold is left out."""
    odd = verdict("deadlock")._replace(name="a\x00\x1b<b>&\ud800")
    root: Any = xmlschema.XMLResource(junit([odd])).root
    assert root.find("testsuite/testcase").get("name") == "a<b>&"
