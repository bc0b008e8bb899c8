"""Schedules as files: what an exploration found, to be carried out again step by step.

A file holds JSON: what was decided (protocol, parameters, contract, steps), what is wrong at the
end, and the choices, one a line:

    ["host", thread, result of a choice or query, the call in words, its source line]
    ["op", [thread, call number, phase, number], way, the operation in words, its source line]

The words are there to notice that the protocol is another one by now; source lines may move.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.again import from_the_start
from ..model.contract import contract_named
from ..model.errors import BadInput
from ..model.host import Host
from ..model.verdict import Outcome, Verdict
from .execution import named
from .explore import Bad
from .sample import seen
from .story import Teller, as_step, tell

if TYPE_CHECKING:
    from ..model.protocol import Protocol
    from ..model.verdict import MissingEdge
    from .contents import Wrong
    from .untimed import Choice

FORMAT = "streamorder schedule 1"


class Saved(NamedTuple):
    """A schedule with what it is a schedule of; `path` names its file in errors, `meet` the two
    calls that are possible together at the end, where that is what is wrong.
    """

    path: str
    protocol: str
    parameters: dict[str, Any]
    contract: str
    steps: int
    kind: str
    region: str | None
    meet: list[str] | None
    choices: list[list[Any]]


FIELDS = {
    "protocol": (str,),
    "parameters": (dict,),
    "contract": (str,),
    "steps": (int,),
    "kind": (str,),
    "region": (str, type(None)),
    "meet": (list, type(None)),
    "choices": (list,),
}
"""What a file must hold."""


def text_of(verdict: Verdict, edge: MissingEdge) -> str:
    """The schedule of a finding of the engine `sim`, for a file."""
    head = {
        "format": FORMAT,
        "protocol": verdict.name,
        "parameters": verdict.parameters,
        "contract": verdict.contract,
        "steps": verdict.steps,
        "kind": edge.kind,
        "region": edge.region,
        "meet": [edge.first.call, edge.second.call] if edge.marks else None,
        "sentence": edge.sentence,
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    choices = ",\n".join(f"    {json.dumps(step)}" for step in edge.schedule)
    return "\n".join(["{", *lines, '  "choices": [', choices, "  ]", "}", ""])


def load(path: str) -> Saved:
    """Read a schedule; raises `BadInput` for what is none."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise BadInput(f"{path} is no schedule: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BadInput(f"{path} is no schedule: its format is not {FORMAT!r}")
    for name, kind in FIELDS.items():
        if type(data.get(name)) not in kind:
            raise BadInput(f"{path} is no schedule: its {name!r} is {data.get(name)!r}")
    if not all(type(step) is list and len(step) == 5 for step in data["choices"]):
        raise BadInput(f"{path} is no schedule: a choice is a list of five")
    return Saved(path, **{name: data[name] for name in FIELDS})


def replay(saved: Saved, entry: Protocol) -> Verdict:
    """Carry out a schedule and show what is wrong at its end.

    Raises `BadInput` where the protocol has changed since the schedule was saved: it does something
    else there, or nothing is wrong at the end.
    """
    started = time.perf_counter()
    host = Host(entry.bind(saved.parameters), saved.steps)
    reading = contract_named(saved.contract).readings()[0]
    numbers: dict[Any, int] = {}
    bad = from_the_start(lambda: followed(saved, Teller(host, reading, numbers)))
    edge = tell(host, reading, bad, numbers)
    return Verdict(
        name=entry.name,
        contract=saved.contract,
        outcome=Outcome.REFUTED,
        expected=None,
        engine="sim",
        steps=saved.steps,
        parameters=saved.parameters,
        ops=len(numbers),
        states=0,
        executions=1,
        seconds=time.perf_counter() - started,
        missing_edges=(edge,),
        bounds=(f"the schedule in {saved.path}",),
    )


def followed(saved: Saved, teller: Teller) -> Bad:
    """The choices of a schedule, followed to its end, and what is wrong there."""
    taken: list[Choice] = []
    found: Bad | None = None
    for number, step in enumerate(saved.choices, 1):
        taken.append(choice_for(saved, teller, step, number))
        teller.take(taken[-1])
        found = wrong_version(teller, taken)
    if saved.meet is not None:
        found = meeting(saved, teller, tuple(taken))
    found = found or (None if saved.meet else seen(teller.execution, taken))
    if found is None:
        what = f"{' and '.join(saved.meet)} do not meet" if saved.meet else "nothing is wrong"
        raise changed(saved, f"the schedule still runs, and {what} at its end")
    return found


def meeting(saved: Saved, teller: Teller, taken: tuple[Choice, ...]) -> Bad | None:
    """The two accesses of a race, in the state to which its schedule has led."""
    for first, second in teller.execution.hazards():
        sites, region = (first.site, second.site), named(first.region)
        names = {region, repr(first.region), repr(second.region)}
        if {site.call for site in sites} == set(saved.meet or ()) and saved.region in names:
            return Bad("race", sites, region, None, taken)
    return None


def choice_for(saved: Saved, teller: Teller, step: list[Any], number: int) -> Choice:
    """The choice that a step of the file stands for, now."""
    gates, instead = teller.execution.gates.env, None
    for choice in gates.enabled():
        now: Any = json.loads(json.dumps(as_step(gates.gates[choice[:2]].who, choice)))
        if now[:4] == step[:4]:
            return choice
        if now[:2] == step[:2]:
            instead = now
    what = f"{instead[3]} ({instead[4]}) is there instead" if instead else "it cannot happen there"
    raise changed(saved, f"step {number} was {step[3]} ({step[4]}), and now {what}")


def wrong_version(teller: Teller, taken: list[Choice]) -> Bad | None:
    """What the step just taken found wrong."""
    wrongs: list[tuple[Any, Wrong]] = teller.execution.gates.wrongs
    for site, wrong in wrongs:
        return Bad("wrong version", (site,), repr(wrong.region), wrong, tuple(taken))
    return None


def changed(saved: Saved, what: str) -> BadInput:
    """The protocol is not what it was."""
    return BadInput(f"{saved.path}: {saved.protocol} has changed since this was saved: {what}")
