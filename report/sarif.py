"""Verdicts as SARIF 2.1.0 (OASIS), which code-scanning services show beside the source lines.

A result a missing edge: it stands on the access that nothing makes wait, relates to the access that
it should wait for, and carries the counterexample as a code flow with a thread a lane. A refutation
that a catalogue entry states is a note, one that nobody expects an error.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ..model.verdict import Outcome, combined_exit_code
from .drawing import whole
from .runtime import worst_there
from .scene import source_line, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.trace import Event
    from ..model.verdict import MissingEdge, Verdict
    from ..model.where import Where

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

RULES = {
    "race": (
        "Two accesses of one region that nothing orders",
        "Record an event after the first and let the second's stream or the host wait for it.",
    ),
    "wrong version": (
        "A read can find another version than it expects",
        "Add the order that the message names, as an event that is recorded and awaited.",
    ),
    "deadlock": (
        "The protocol can come to a state in which nothing can go on",
        "Break the circle of waits that the message names.",
    ),
    "overlap lost": (
        "Two operations that are stated to be concurrent are ordered",
        "Issue them to streams that nothing orders, or drop the statement.",
    ),
    "undetermined": (
        "The protocol could not be decided: this is no pass",
        "Check fewer steps or smaller parameters, or give the check more to spend.",
    ),
    "hang on a runtime": (
        "A protocol that holds by contract can hang on a runtime",
        "Do not wait for a value that a stream behind the wait may have to write.",
    ),
    "unexpected": (
        "The verdict is not the one that the protocol states",
        "Mend the protocol, or what it states.",
    ),
}
"""Each kind of finding: what it is, and how to mend it."""


def sarif(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The log file as data for JSON: one run."""
    from .. import __version__

    results = [result for verdict in verdicts for result in results_of(verdict)]
    run = {
        "tool": {
            "driver": {
                "name": "Streamorder",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [rule(kind) for kind in RULES],
            }
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": combined_exit_code(verdict.exit_code for verdict in verdicts),
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def rule(kind: str) -> dict[str, Any]:
    """A kind of finding."""
    short, mend = RULES[kind]
    return {
        "id": rule_id(kind),
        "name": "".join(word.capitalize() for word in kind.split()),
        "shortDescription": {"text": f"{short}."},
        "fullDescription": {"text": f"{short}. {mend}"},
        "help": {"text": mend},
        "defaultConfiguration": {"level": "warning" if kind == "undetermined" else "error"},
        "properties": {"tags": ["concurrency", "gpu"]},
    }


def rule_id(kind: str) -> str:
    """A kind of finding as an identifier."""
    return f"streamorder/{kind.replace(' ', '-')}"


def results_of(verdict: Verdict) -> list[dict[str, Any]]:
    """The results of one verdict; none where it holds as expected."""
    if verdict.outcome is Outcome.REFUTED:
        return [*(missing(verdict, edge) for edge in verdict.missing_edges), *there(verdict)]
    if verdict.outcome is Outcome.UNDETERMINED:
        said = f"{title(verdict)} is undetermined: {verdict.reason}"
        return [result(verdict, "undetermined", said, verdict.where)]
    if on_runtimes := there(verdict):
        return on_runtimes
    if verdict.as_expected is False:
        said = f"{title(verdict)}: {verdict.verdict}, expected {verdict.expected}"
        return [result(verdict, "unexpected", said, verdict.where)]
    return []


def there(verdict: Verdict) -> list[dict[str, Any]]:
    """What a runtime, or a value of a sweep, adds to a verdict that is no failure by itself."""
    code, words = worst_there(verdict)
    if not code:
        return []
    kind = "hang on a runtime" if code == 1 else "undetermined"
    said = f"{title(verdict)}, {words}"
    return [{**result(verdict, kind, said, verdict.where), "level": "error"}]


def result(verdict: Verdict, kind: str, said: str, where: Where | None) -> dict[str, Any]:
    """What every result has."""
    usual = "warning" if kind == "undetermined" else "error"
    found: dict[str, Any] = {
        "ruleId": rule_id(kind),
        "ruleIndex": list(RULES).index(kind),
        "level": "note" if verdict.as_expected else usual,
        "message": {"text": said},
        "locations": [location(where)] if where else [],
        "properties": {
            "protocol": verdict.name,
            "contract": verdict.contract,
            "parameters": verdict.parameters,
            "verdict": verdict.verdict,
            "bounds": list(verdict.bounds),
            "expected": verdict.expected,
        },
    }
    return found


def missing(verdict: Verdict, edge: MissingEdge) -> dict[str, Any]:
    """A missing edge as a result."""
    said = f"{title(verdict)}: {edge.sentence}"
    said += f"; so {edge.consequence}" if edge.consequence and not edge.ordered else ""
    place = edge.second.where or edge.first.where
    found = result(verdict, edge.kind, said, place)
    if edge.first.where and edge.first.where != place:
        other = location(edge.first.where)
        found["relatedLocations"] = [{**other, "id": 1, "message": {"text": edge.first.call}}]
    found["partialFingerprints"] = {"streamorder/v1": fingerprint(verdict, edge)}
    found["codeFlows"] = [flow(edge)]
    return found


def flow(edge: MissingEdge) -> dict[str, Any]:
    """The counterexample: a thread a lane, the order in the events' numbers."""
    lanes: dict[str, list[dict[str, Any]]] = {}
    for event in (*edge.counterexample, *edge.aftermath):
        lanes.setdefault(event.lane, []).append(happened(event))
    threads = [{"id": lane, "locations": steps} for lane, steps in lanes.items()]
    return {"message": {"text": edge.kind}, "threadFlows": threads}


def happened(event: Event) -> dict[str, Any]:
    """An event of a thread."""
    wrong = any(touch.wrong for touch in event.touches)
    return {
        "location": {**location(event.where), "message": {"text": whole(event)}},
        "executionOrder": event.number,
        "importance": "essential" if event.role or wrong else "important",
    }


def location(where: Where | None) -> dict[str, Any]:
    """A source line, with its text."""
    if where is None:
        return {}
    region: dict[str, Any] = {"startLine": where.line}
    text = source_line(where)
    if text:
        region["snippet"] = {"text": text}
    return {"physicalLocation": {"artifactLocation": address(where), "region": region}}


def address(where: Where) -> dict[str, str]:
    """A file as a URI: relative to the sources' root unless it lies outside of it."""
    from pathlib import Path
    from urllib.parse import quote

    if Path(where.file).is_absolute():
        return {"uri": Path(where.file).as_uri()}
    return {"uri": quote(Path(where.file).as_posix()), "uriBaseId": "%SRCROOT%"}


def fingerprint(verdict: Verdict, edge: MissingEdge) -> str:
    """What stays the same when lines move: names, the kind, and the text of both lines."""
    parts = [verdict.name, verdict.contract, edge.kind, edge.first.call, edge.second.call]
    parts += [source_line(edge.first.where), source_line(edge.second.where)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
