"""`--format json`: the same as data, with a form that scripts may rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERDICT = {
    "name": str,
    "contract": str,
    "verdict": str,
    "expected": (str, type(None)),
    "as_expected": (bool, type(None)),
    "engine": str,
    "steps": int,
    "parameters": dict,
    "ops": int,
    "states": int,
    "executions": int,
    "seconds": float,
    "host_waits_per_step": int,
    "bounds": list,
    "warnings": list,
    "reason": (str, type(None)),
}
EDGE = {
    "from": dict,
    "to": dict,
    "region": (str, type(None)),
    "regions": list,
    "kind": str,
    "sentence": str,
    "consequence": (str, type(None)),
    "counterexample": list,
}
SITE = {"file": (str, type(None)), "line": (int, type(None)), "call": str}
EVENT = {
    "index": int,
    "lane": str,
    "verb": str,
    "label": str,
    "step": (int, type(None)),
    "file": str,
    "line": int,
    "role": (str, type(None)),
    "accesses": list,
}
ACCESS = {"region": str, "mode": str, "version": str, "expected": (str, type(None))}


def fits(data: Any, form: dict[str, Any]) -> None:
    """Fail unless the object has exactly these keys, with values of these types."""
    assert data.keys() == form.keys()
    for key, kind in form.items():
        assert isinstance(data[key], kind), f"{key}: {data[key]!r}"
        assert type(data[key]) is not bool or "bool" in str(kind), key


def parsed(command: Callable[..., Any], *words: str) -> list[dict[str, Any]]:
    """What a command prints, parsed; nothing but JSON may be on standard output."""
    data = json.loads(command(*words, "--format", "json").out)
    assert isinstance(data, list)
    return data


@pytest.mark.parametrize("engine", ["order", "machine"])
@pytest.mark.parametrize("subcommand", ["check", "explain"])
def test_verdicts(subcommand: str, engine: str, command: Callable[..., Any]) -> None:
    """One object an entry and contract; `missing_edges` where it is refuted and only there."""
    names = [] if subcommand == "check" else ["*"]
    found = parsed(command, subcommand, *names, "--engine", engine)
    assert len(found) == 34
    assert len({(v["name"], v["contract"]) for v in found}) == 34
    for verdict in found:
        edges = verdict.pop("missing_edges", [])
        fits(verdict, VERDICT)
        assert bool(edges) == (verdict["verdict"] == "REFUTED")
        assert verdict["as_expected"] is True
        assert verdict["engine"] == engine
        assert (verdict["states"] > 0) == (engine == "machine")
        assert (verdict["executions"] > 0) == (engine == "order")
        for edge in edges:
            fits(edge, EDGE)
            fits(edge["from"], SITE)
            fits(edge["to"], SITE)
            for event in edge["counterexample"]:
                fits(event, EVENT)
                for access in event["accesses"]:
                    fits(access, ACCESS)


def test_of_bad_programs(programs: Path, command: Callable[..., Any]) -> None:
    """The same form for every kind of mistake, in a user's own file."""
    assert programs.is_dir()
    found = parsed(command, "check", "races.py", "other.py")
    kinds = set()
    for verdict in found:
        assert (verdict["verdict"], verdict["expected"]) == ("REFUTED", None)
        assert verdict["as_expected"] is None
        for edge in verdict["missing_edges"]:
            kinds.add(edge["kind"])
            fits(edge, EDGE)
            fits(edge["from"], SITE)
            fits(edge["to"], SITE)
            assert edge["to"]["file"] in {"races.py", "other.py"}
            for event in edge["counterexample"]:
                fits(event, EVENT)
    assert kinds == {"race", "wrong version", "deadlock", "overlap lost"}


def test_one_in_full(
    programs: Path, command: Callable[..., Any], snapshot: Callable[..., None]
) -> None:
    """Every field of a small refutation."""
    assert programs.is_dir()
    done = command("check", "races.py:slot_reuse", "--contract", "hip", "--format", "json")
    assert done.code == 1
    snapshot(done.out, "json-slot-reuse")


def test_of_an_audit(command: Callable[..., Any], snapshot: Callable[..., None]) -> None:
    """One object an entry and contract, with a list of waits."""
    done = command("audit", "fp8-prefill/direct-item-after", "--format", "json")
    assert done.code == 1
    for found in json.loads(done.out):
        fits(
            found,
            {"name": str, "contract": str, "steps": int, "undeclared": int, "waits": list},
        )
    snapshot(done.out, "json-audit")


def test_of_several_processes(command: Callable[..., Any], timeless: Callable[[str], str]) -> None:
    """The order is that of the names, however many processes decide."""
    alone = command("check", "*/direct*", "--format", "json")
    together = command("check", "*/direct*", "--format", "json", "--jobs", "2")
    assert timeless(alone.out) == timeless(together.out)
