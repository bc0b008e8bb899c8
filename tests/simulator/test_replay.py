"""Schedules kept as files: they show the same again, or say what has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamorder import BadInput, Limits, Outcome, catalogue, check, protocol
from streamorder.cli import main
from streamorder.sim.schedules import FORMAT, load, replay, text_of

if TYPE_CHECKING:
    from streamorder import Gpu, MissingEdge, Verdict

ROWS = [
    (name, contract)
    for name, entry in catalogue().items()
    for contract, verdict in entry.expects.items()
    if verdict == "REFUTED"
]
HANGS = ("corpus/C54-late-output/retry-for-ever", "corpus/C71-full-launch-queue/shared")
FAST = [row for row in ROWS if "fp8-prefill/direct" in row[0] or row[0] in HANGS]


def save(path: str, verdict: Verdict, edge: MissingEdge) -> None:
    """Keep a schedule as `--save` does."""
    Path(path).write_text(text_of(verdict, edge), encoding="utf-8")


def again(name: str, contract: str, path: Path) -> int:
    """Keep each schedule that is found of an entry, and carry it out from its file."""
    verdict = check(catalogue()[name], contract, steps=3, engine="sim")
    for edge in verdict.missing_edges:
        save(str(path), verdict, edge)
        saved = load(str(path))
        assert (saved.protocol, saved.contract, saved.steps) == (name, contract, 3)
        found = replay(saved, catalogue()[name])
        assert found.outcome is Outcome.REFUTED
        (shown,) = found.missing_edges
        assert shown.kind == edge.kind
        assert (shown.first.where, shown.second.where) == (edge.first.where, edge.second.where)
        assert shown.schedule == edge.schedule
        assert shown.counterexample == edge.counterexample
        assert shown.sentence == edge.sentence
    return len(verdict.missing_edges)


@pytest.mark.parametrize(("name", "contract"), FAST)
def test_kept_schedules_show_the_same(name: str, contract: str, tmp_path: Path) -> None:
    """Every finding on the unpatched FP8 prefill entries, and hangs, through their files."""
    assert again(name, contract, tmp_path / "kept.json")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "contract"), ROWS)
def test_kept_schedules_of_every_entry(name: str, contract: str, tmp_path: Path) -> None:
    """The same for all that is refuted in the catalogue (with three steps, so not all of it is)."""
    again(name, contract, tmp_path / "kept.json")


def tables(gpu: Gpu, change: str) -> None:
    """A slot that is written again too early, and changes of it."""
    stream, slot = gpu.stream("compute"), gpu.pinned("slot")
    table, sent = gpu.device("table"), gpu.event("sent")
    for n in gpu.steps():
        if change == "wait":
            sent.synchronize()
        if change == "no second" and n:
            return
        gpu.write(slot, 1 if change == "same" else n, idempotent=change == "same")
        gpu.memcpy_async(table, slot, stream)
        if change == "later":
            gpu.launch("other", stream)
        sent.record(stream)
        gpu.launch("attention", stream, reads={table: 1 if change == "same" else n})


def kept(tmp_path: Path, contract: str = "hip") -> Path:
    """The schedule that is found of it as it stands."""
    path = tmp_path / "kept.json"
    entry = protocol("tables", change="")(tables)
    verdict = check(entry, contract, steps=2, engine="sim")
    save(str(path), verdict, verdict.missing_edges[0])
    return path


def changed_to(path: Path, change: str) -> Any:
    """What the replay of the file says of a changed protocol."""
    saved = load(str(path))
    return replay(saved._replace(parameters={}), protocol("tables", change=change)(tables))


def test_as_it_stands(tmp_path: Path) -> None:
    """Nothing has changed."""
    (edge,) = changed_to(kept(tmp_path), "").missing_edges
    assert edge.kind == "wrong version"
    assert len(edge.schedule) == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "wait",
            r"step 1 was write\(slot, 0\) .*, and now sent.synchronize\(\) .* is there instead",
        ),
        ("later", r"step 3 was sent.record\(compute\) .*, and now launch\(other, compute\)"),
        (
            "no second",
            r"the schedule still runs, and memcpy_async\(.*\) and write\(.*\) do not meet",
        ),
    ],
)
def test_a_changed_protocol(change: str, said: str, tmp_path: Path) -> None:
    """One line says from where on it does something else, or that nothing is wrong any more."""
    path = kept(tmp_path)
    with pytest.raises(BadInput, match=f"tables has changed since this was saved: {said}") as error:
        changed_to(path, change)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_a_protocol_that_ends_earlier(tmp_path: Path) -> None:
    """There is nothing instead of the step."""
    path = kept(tmp_path)
    saved = load(str(path))
    with pytest.raises(BadInput, match="and now it cannot happen there"):
        replay(saved, protocol("tables", change="")(nothing))


def nothing(gpu: Gpu, change: str) -> None:
    """No call at all."""
    del gpu, change


def test_lines_may_move(tmp_path: Path) -> None:
    """Source lines are for readers: the words of the calls count."""
    path = kept(tmp_path)
    data = json.loads(path.read_text())
    for step in data["choices"]:
        step[4] = "elsewhere.py:1"
    path.write_text(json.dumps(data))
    assert changed_to(path, "").outcome is Outcome.REFUTED


def test_choices_and_queries_are_replayed(tmp_path: Path) -> None:
    """A schedule holds the results of choices and queries, and which operation is done when."""

    def body(gpu: Gpu) -> None:
        stream, result = gpu.stream("s"), gpu.pinned("result")
        gpu.launch("sample", stream, writes={result: 1})
        if gpu.choose("wait", "ask") == "wait" or stream.query():
            stream.synchronize()
        gpu.read(result, expect=1)

    entry = protocol("asks")(body)
    verdict = check(entry, "cuda", engine="sim")
    (edge,) = verdict.missing_edges
    save(str(tmp_path / "kept.json"), verdict, edge)
    saved = load(str(tmp_path / "kept.json"))
    assert ["host", 0, 1] in [step[:3] for step in saved.choices]
    assert ["host", 0, False] in [step[:3] for step in saved.choices]
    assert replay(saved, entry).missing_edges[0].schedule == edge.schedule


def test_what_a_sample_found_is_replayed(tmp_path: Path) -> None:
    """A schedule that PCT has drawn, of a program that was not exhausted."""
    entry = catalogue()["fp8-prefill/staged-no-wait"]
    verdict = check(
        entry, "cuda", steps=10, engine="sim", slots=6, limits=Limits(states=50, seconds=20)
    )
    assert verdict.outcome is Outcome.REFUTED
    path = str(tmp_path / "kept.json")
    save(path, verdict, verdict.missing_edges[0])
    assert replay(load(path), entry).missing_edges[0].kind == "wrong version"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no schedule: Expecting value"),
        ("[]", "is no schedule: its format is not"),
        ('{"format": "something else"}', "is no schedule: its format is not"),
        (json.dumps({"format": FORMAT}), "is no schedule: its 'protocol' is None"),
    ],
)
def test_what_is_no_schedule(text: str, said: str, tmp_path: Path) -> None:
    """One line says what is wrong with the file."""
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=said):
        load(str(path))


def test_fields_of_another_kind(tmp_path: Path) -> None:
    """Each is checked."""
    path = kept(tmp_path)
    data = json.loads(path.read_text())
    for name, value in (("steps", "two"), ("choices", {}), ("choices", [["host"]])):
        path.write_text(json.dumps({**data, name: value}))
        with pytest.raises(BadInput, match="is no schedule"):
            load(str(path))


PROTOCOL = """
from streamorder import protocol

@protocol()
def upload(gpu):
    stream, slot, table = gpu.stream("s"), gpu.pinned("slot"), gpu.device("table")
    for n in gpu.steps():
        gpu.write(slot, n)
        gpu.memcpy_async(table, slot, stream)
        gpu.launch("use", stream, reads={table: n})

@protocol()
def idle(gpu):
    for n in gpu.steps():
        gpu.synchronize()
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("upload --save kept.json", "--save takes --engine sim, and no --runtime"),
        ("upload --engine sim --save kept.json", "--save takes one protocol under one --contract"),
        ("idle --engine sim --contract cuda --save kept.json", "so there is no schedule"),
        (
            "upload --engine sim --contract cuda --save no/where.json",
            "no/where.json: there is no folder no",
        ),
        ("upload --replay no.json", "cannot read no.json: No such file"),
        ("upload --replay other.json --steps 3", "--replay takes parameters, contract and steps"),
        ("idle --replay other.json", "other.json is a schedule of u.py:upload, not of u.py:idle"),
    ],
)
def test_the_command_refuses(
    arguments: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2, one line, and nothing written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.py").write_text(PROTOCOL)
    name, *others = arguments.split()
    if "other.json" in others:
        keep = ["u.py:upload", "--engine", "sim", "--contract", "cuda", "--save", "other.json"]
        assert main(["explain", *keep]) == 1
        capsys.readouterr()
    assert main(["explain", f"u.py:{name}", *others]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert not shown.out
    assert not (tmp_path / "kept.json").exists()


def test_the_command_replays_as_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--format json` has the same findings."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "u.py").write_text(PROTOCOL)
    keep = ["u.py:upload", "--engine", "sim", "--contract", "cuda", "--save", "kept.json"]
    assert main(["explain", *keep, "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert main(["explain", "u.py:upload", "--replay", "kept.json", "--format", "json"]) == 1
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["engine"] == "sim"
    assert shown["missing_edges"][0] == {**found["missing_edges"][0], "regions": ["slot"]}
