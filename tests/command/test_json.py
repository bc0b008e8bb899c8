"""`--format json`: the same as data, with a form that scripts may rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import catalogue

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
    "steps": (int, type(None)),
    "parameters": dict,
    "ops": int,
    "states": int,
    "executions": int,
    "seconds": float,
    "host_waits_per_step": (int, type(None)),
    "bounds": list,
    "warnings": list,
    "reason": (str, type(None)),
    "unproved": (str, type(None)),
    "certificates": list,
}
EDGE = {
    "from": dict,
    "to": dict,
    "region": (str, type(None)),
    "regions": list,
    "kind": str,
    "sentence": str,
    "consequence": (str, type(None)),
    "marks": (list, type(None)),
    "counterexample": list,
    "aftermath": list,
    "cycle": list,
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
    "after": (list, type(None)),
    "accesses": list,
}
ACCESS = {
    "region": str,
    "mode": str,
    "version": str,
    "expected": (str, type(None)),
    "memory": int,
}


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


def rows() -> list[tuple[str, str]]:
    """Each entry under CUDA and HIP, and under what else it has expectations for."""
    return [
        (name, contract)
        for name, entry in catalogue().items()
        for contract in dict.fromkeys(("cuda", "hip", *entry.expects))
    ]


@pytest.mark.parametrize(
    ("subcommand", "engine"), [("check", "order"), ("check", "machine"), ("explain", "order")]
)
def test_verdicts(subcommand: str, engine: str, command: Callable[..., Any]) -> None:
    """One object an entry and contract; `missing_edges` where it is refuted and only there."""
    names = [] if subcommand == "check" else ["*"]
    found = parsed(command, subcommand, *names, "--engine", engine)
    assert [(verdict["name"], verdict["contract"]) for verdict in found] == rows()
    for verdict in found:
        edges = verdict.pop("missing_edges", [])
        fits(verdict, VERDICT)
        assert bool(edges) == (verdict["verdict"] == "REFUTED")
        undecided = "does not decide concurrent" in (verdict["reason"] or "")
        assert verdict["as_expected"] is not undecided
        assert not (undecided and engine == "order")
        assert verdict["engine"] == engine
        by_states = engine == "machine" or verdict["name"] == "corpus/C20-signal-words/null-memset"
        assert (verdict["states"] > 0, verdict["executions"] > 0) == (by_states, not by_states)
        for edge in edges:
            fits(edge, EDGE)
            fits(edge["from"], SITE)
            fits(edge["to"], SITE)
            for event in (*edge["counterexample"], *edge["aftermath"]):
                fits(event, EVENT)
                for access in event["accesses"]:
                    fits(access, ACCESS)


KINDS = {
    "race": "races.py:unread_writes",
    "wrong version": "races.py:slot_reuse",
    "wrong version in order": "other.py:other_buffer",
    "wrong version of nothing": "other.py:never_written",
    "deadlock": "other.py:full_queue",
    "overlap lost": "other.py:overlap_lost",
}
"""A program for each kind of missing edge."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_missing_edge(kind: str, programs: Path, command: Callable[..., Any]) -> None:
    """Which fields are null, where the sites are, and which events are marked."""
    assert programs.is_dir()
    (verdict,) = parsed(command, "check", KINDS[kind], "--contract", "hip")
    (edge,) = verdict["missing_edges"]
    fits(edge, EDGE)
    file = KINDS[kind].partition(":")[0]
    nobody = kind == "wrong version of nothing"
    about_memory = kind.startswith(("race", "wrong version"))
    unordered = kind in {"race", "wrong version"}
    assert edge["kind"] == ("wrong version" if kind.startswith("wrong version") else kind)
    assert edge["from"]["file"] == (None if nobody else file)
    assert (edge["from"]["line"] is None) == nobody
    assert edge["to"]["file"] == file
    assert (edge["region"] is not None) == about_memory
    assert edge["regions"][:1] == ([edge["region"]] if about_memory else [])
    assert (edge["consequence"] is not None) == kind.startswith("wrong version")
    assert edge["sentence"].startswith("nothing orders") == unordered
    roles = [event["role"] for event in edge["counterexample"] if event["role"]]
    wanted = ["second"] if kind.startswith("wrong version ") else []
    assert sorted(roles) == (["first", "second"] if unordered else wanted)
    accesses = [each for event in edge["counterexample"] for each in event["accesses"]]
    assert bool(accesses) == (kind != "deadlock")
    assert {each["mode"] for each in accesses} <= {"read", "write"}
    odd = [each for each in accesses if each["expected"] not in {None, each["version"]}]
    assert bool(odd) == kind.startswith("wrong version ")


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
            for event in (*edge["counterexample"], *edge["aftermath"]):
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
            {
                "name": str,
                "contract": str,
                "steps": int,
                "undeclared": int,
                "reason": type(None),
                "waits": list,
            },
        )
    snapshot(done.out, "json-audit")


def test_of_several_processes(command: Callable[..., Any], timeless: Callable[[str], str]) -> None:
    """The order is that of the names, however many processes decide."""
    alone = command("check", "*/direct*", "--format", "json")
    together = command("check", "*/direct*", "--format", "json", "--jobs", "2")
    assert timeless(alone.out) == timeless(together.out)
