"""Verdicts as JUnit XML, in the form that Jenkins, GitLab and GitHub actions read.

A test case a verdict: a failure where the protocol is refuted (or not as its catalogue entry
states), an error where nothing was decided. It fits the Jenkins xUnit plugin's `junit-10.xsd`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ..model.verdict import Outcome
from .runtime import worst_there
from .text import one as as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.verdict import Verdict


def junit(verdicts: Sequence[Verdict]) -> str:
    """The XML document: one suite a contract."""
    suites = ET.Element("testsuites", counts(verdicts))
    for contract in dict.fromkeys(verdict.contract for verdict in verdicts):
        mine = [verdict for verdict in verdicts if verdict.contract == contract]
        suite = ET.SubElement(
            suites, "testsuite", {**counts(mine), "name": f"streamorder {contract}"}
        )
        for verdict in mine:
            suite.append(case(verdict))
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def counts(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """How many cases of each kind, and how long they took."""
    kinds = [kind(verdict) for verdict in verdicts]
    return {
        "name": "streamorder",
        "tests": str(len(verdicts)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "time": f"{sum(verdict.seconds for verdict in verdicts):.3f}",
    }


def kind(verdict: Verdict) -> str | None:
    """Whether a verdict is a failure, an error or neither."""
    if not verdict.exit_code:
        return None
    undecided = verdict.outcome is Outcome.UNDETERMINED or verdict.exit_code == 3
    return "error" if undecided else "failure"


def case(verdict: Verdict) -> ET.Element:
    """One verdict as a test case."""
    given = "".join(f" --{name} {value}" for name, value in verdict.parameters.items())
    found = ET.Element(
        "testcase",
        {
            "name": clean(f"{verdict.name}{given}"),
            "classname": f"streamorder.{verdict.contract}",
            "time": f"{verdict.seconds:.3f}",
        },
    )
    wrong = kind(verdict)
    said = clean(as_text(verdict, pictures=99))
    if wrong is None:
        ET.SubElement(found, "system-out").text = said
        return found
    attributes = {"message": clean(message(verdict)), "type": verdict.verdict}
    ET.SubElement(found, wrong, attributes).text = said
    return found


def message(verdict: Verdict) -> str:
    """What went wrong, in a sentence."""
    if verdict.as_expected:
        return worst_there(verdict)[1]
    if verdict.missing_edges:
        return verdict.missing_edges[0].sentence
    if verdict.reason:
        return verdict.reason
    if verdict.as_expected is False:
        return f"{verdict.verdict}, expected {verdict.expected}"
    return worst_there(verdict)[1]


def clean(text: str) -> str:
    """A text without the characters that XML 1.0 cannot hold."""
    return "".join(c for c in text if c in "\t\n" or (" " <= c < "\ud800") or c > "\udfff")
