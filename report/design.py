"""What a protocol's design page tells, gathered once: verdicts, a run, mutants, runtimes, repairs.

What the simulator and the GPU say of it comes from whoever asks for the page: renderers import the
model only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.catalogue import catalogue
from ..model.check import check
from ..model.contract import CONTRACTS, DEFAULT, contract_named
from ..model.errors import StreamorderError
from ..model.example import Example, example
from ..model.profiles import PROFILES
from ..model.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.protocol import Protocol
    from ..model.repair import Repairs
    from ..model.repair.without import Mutant
    from ..model.verdict import Verdict

DRAWN_STEPS = (2, 1)
"""How many steps the diagram shows: the first number with which it can be read."""


class Cost(NamedTuple):
    """What a timed run costs on a device: its name, and figures by the words of the table; `why`
    says why there are none.
    """

    device: str
    figures: dict[str, float]
    why: str | None = None


class Relative(NamedTuple):
    """Another protocol of the family: its name, what it is, the verdicts it states by contract."""

    name: str
    summary: str
    expects: dict[str, str]


class Design(NamedTuple):
    """Everything that a design page tells of one protocol."""

    entry: Protocol
    parameters: dict[str, Any]
    verdicts: tuple[Verdict, ...]
    runs: dict[int, Example]
    mutants: tuple[Mutant, ...]
    mutants_under: str | None
    runtimes: dict[str, Verdict | str]
    family: tuple[Relative, ...]
    repairs: Repairs | None
    costs: tuple[Cost, ...]
    evidence: tuple[str, ...]
    digest: str


HOLDING = (Outcome.PROVED, Outcome.HOLDS)


def gather(
    entry: Protocol,
    *,
    costs: Sequence[Cost] = (),
    evidence: Sequence[str] = (),
    inputs: Mapping[str, str] | None = None,
    **parameters: Any,
) -> Design:
    """Decide, run, mutate and repair a protocol, for its page.

    Args:
        entry: the protocol.
        costs: what timed runs cost.
        evidence: what GPU results say, a sentence each.
        inputs: texts that costs and evidence were made from, by name, for the digest.
        parameters: the protocol's own.

    Raises:
        BadInput: the protocol or a parameter is wrong.
    """
    contracts = [contract.name for contract in DEFAULT]
    contracts += [name for name in entry.expects if name not in contracts]
    verdicts = tuple(check(entry, name, prove=True, **parameters) for name in contracts)
    held = next((v.contract for v in verdicts if v.outcome in HOLDING), None)
    return Design(
        entry=entry,
        parameters={**entry.parameters, **parameters},
        verdicts=verdicts,
        runs=runs(entry, parameters),
        mutants=tuple(mutants(entry, held, parameters)) if held else (),
        mutants_under=held,
        runtimes={name: on_runtime(entry, name, parameters) for name in PROFILES},
        family=tuple(family(entry)),
        repairs=repairs(entry, verdicts, parameters),
        costs=tuple(costs),
        evidence=tuple(evidence),
        digest=digest(entry, inputs or {}, parameters),
    )


def runs(entry: Protocol, parameters: dict[str, Any]) -> dict[int, Example]:
    """A run for each number of steps that may be drawn."""
    return {n: example(entry, DEFAULT[0], n, **parameters) for n in DRAWN_STEPS}


def mutants(entry: Protocol, contract: str, parameters: dict[str, Any]) -> list[Mutant]:
    """The protocol without each of its waits."""
    from ..model.repair.without import without_each_wait

    return without_each_wait(entry, contract, **parameters)


def on_runtime(entry: Protocol, name: str, parameters: dict[str, Any]) -> Verdict | str:
    """The verdict on a runtime, or why there is none."""
    try:
        return check(entry, runtime=name, **parameters)
    except StreamorderError as error:
        return str(error)


def repairs(
    entry: Protocol, verdicts: Sequence[Verdict], parameters: dict[str, Any]
) -> Repairs | None:
    """Repairs under the contracts that refute it; None where none does."""
    refuted = [v.contract for v in verdicts if v.outcome is Outcome.REFUTED]
    if not refuted:
        return None
    from ..model.repair import repair

    return repair(entry, [contract_named(name) for name in refuted], **parameters)


def family(entry: Protocol) -> list[Relative]:
    """The other entries of the catalogue with the same first part of the name."""
    first, slash, _rest = entry.name.rpartition("/")
    if not slash:
        return []
    return [
        Relative(other.name, other.summary, other.expects)
        for other in catalogue().values()
        if other.name.rpartition("/")[0] == first and other.name != entry.name
    ]


def digest(entry: Protocol, inputs: Mapping[str, str], parameters: Mapping[str, Any]) -> str:
    """A digest of what a page is made from: the protocol's sources and parameters, contracts,
    profiles, the modules that write the page, and the inputs given.
    """
    texts = {
        "name": entry.name,
        "parameters": repr(sorted({**entry.parameters, **parameters}.items())),
        "expects": repr(entry.expects),
        "contracts": repr(CONTRACTS),
        "profiles": repr(PROFILES),
        **{f"source {path.name}": path.read_text(encoding="utf-8") for path in sources(entry)},
        **{f"writer {path.name}": path.read_text(encoding="utf-8") for path in writers()},
        **inputs,
    }
    whole = "\0".join(f"{name}\0{text}" for name, text in sorted(texts.items()))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def sources(entry: Protocol) -> list[Path]:
    """The files that the protocol's calls stand in, and the one that it is declared in."""
    run = example(entry, DEFAULT[0], 1)
    names = {event.where.filename for event in run.events if event.where}
    names |= {entry.where.filename} if entry.where else set()
    return [Path(name) for name in sorted(names)]


def writers() -> list[Path]:
    """The modules that decide what a page looks like."""
    here = Path(__file__).parent
    return [here / name for name in ("design.py", "design_page.py", "drawing.py", "scene.py")]
