"""A protocol's design page: Markdown with pictures, and a page to step through what refutes it."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from textwrap import dedent
from typing import TYPE_CHECKING

from ..model.errors import BadInput
from ..model.memory import Buffer
from ..model.objects import Cell, Event, Graph, Handle, Lock, Queue, Stream
from .design import HOLDING
from .drawing import Drawing
from .page import page
from .repairs import repairs_text
from .runtime import word_for
from .scene import run_scene, scenes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.example import Expectation
    from ..model.verdict import MissingEdge, Verdict
    from .design import Cost, Design

Files = dict[str, str]
"""Texts by the path of their file, relative to the folder of the pages."""

MARK = "Made by `streamorder doc` from inputs with the digest"
"""What a page says of itself; a test compares the digest with that of the inputs as they are."""


def slug(name: str) -> str:
    """A protocol's name as a path without an ending."""
    return re.sub(r"[^\w/.-]+", "-", name)


def design_page(design: Design) -> Files:
    """The page and what it shows."""
    stem = slug(design.entry.name)
    files: Files = {}
    sections = [
        introduction(design),
        made_of(design),
        diagram(design, stem, files),
        invariants(design),
        verdict_section(design),
        counterexamples(design, stem, files),
        runtimes(design),
        mutants(design),
        relatives(design, stem),
        costs(design),
        evidence(design),
        repairs(design),
        [f"---\n\n{MARK} `{design.digest}`."],
    ]
    lines = [line for section in sections for line in section]
    return {f"{stem}.md": "\n\n".join(lines) + "\n", **files}


def introduction(design: Design) -> list[str]:
    """What it is for, and its code."""
    entry = design.entry
    purpose = dedent((entry.body.__doc__ or "").strip().replace("\n    ", "\n"))
    lines = [f"# {entry.name}", purpose or "*Its docstring does not say what it is for.*"]
    try:
        code = dedent(inspect.getsource(entry.body)).rstrip()
    except (OSError, TypeError):
        return lines
    where = [f"`{entry.where}`"] if entry.where else []
    return [*lines, "## The protocol", *where, f"```python\n{code}\n```"]


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell(text) for text in row) + " |" for row in rows]
    return "\n".join(lines)


def cell(text: str) -> str:
    """A text that stays within a cell."""
    return text.replace("|", "\\|").replace("\n", " ")


# --- what it is made of ---


def made_of(design: Design) -> list[str]:
    """Actors and what they share."""
    run = next(iter(design.runs.values()))
    rows = [("host thread", name, "") for name in run.threads]
    rows += [row for thing in run.things for row in [described(thing)] if row]
    used = {event.lane for event in run.events if not event.on_host}
    known = {name for _kind, name, _what in rows}
    rows += [("stream", lane, "the runtime's own") for lane in sorted(used - known)]
    given = ", ".join(f"`{name}` = {value}" for name, value in design.parameters.items())
    note = [f"With {given}; a run of {next(iter(design.runs))} steps makes:"] if given else []
    rows = list(dict.fromkeys(rows))
    return ["## Actors and buffers", *note, table(("kind", "name", "what"), rows)]


def described(thing: Handle) -> tuple[str, str, str] | None:
    """An API object as a row."""
    if isinstance(thing, Stream):
        kind = "NULL" if thing.is_null else ("blocking" if thing.blocking else "non-blocking")
        return "stream", thing.name, kind
    if isinstance(thing, Buffer):
        parts = ", ".join(region.part for region in thing.regions if region.part)
        reuse = f", the address of {thing.of.name}" if thing.of else ""
        return "buffer", thing.name, f"{thing.kind}{reuse}" + (f": {parts}" if parts else "")
    kinds = {Event: "event", Graph: "graph", Cell: "cell", Lock: "lock", Queue: "queue"}
    kind = next((kind for cls, kind in kinds.items() if isinstance(thing, cls)), None)
    room = ""
    if isinstance(thing, Queue):
        room = "unbounded" if thing.capacity is None else f"of {thing.capacity} places"
    return (kind, thing.name, room) if kind else None


def diagram(design: Design, stem: str, files: Files) -> list[str]:
    """One run as a picture."""
    head, reason = "## In one diagram", ""
    for steps, run in design.runs.items():
        try:
            picture = Drawing(run_scene(design.entry.name, run.events, steps)).svg()
        except BadInput as error:
            reason = str(error).partition(": ")[2].partition(":")[0]
            continue
        files[f"{stem}.svg"] = picture
        return [head, f"![One run of {design.entry.name}]({stem.rpartition('/')[2]}.svg)"]
    return [head, f"A run of one step is too large to draw: {reason}."]


def invariants(design: Design) -> list[str]:
    """What must hold in every interleaving."""
    run = design.runs[max(design.runs)]
    lines = ["No two accesses of one region, one of them a write, are without an order."]
    lines += ["Nothing waits for ever."]
    for one in run.expectations:
        lines.append(f"`{one.call}` ({one.where}) finds {expected(one)} in {listed(one)}.")
    return ["## Invariants", "\n".join(f"- {line}" for line in dict.fromkeys(lines))]


def expected(one: Expectation) -> str:
    """The version that a read expects."""
    if one.lag is None:
        return f"version {one.version}"
    steps = {0: "its own step's version", 1: "the version of the step before"}
    return steps.get(one.lag, f"the version of {one.lag} steps before")


def listed(one: Expectation) -> str:
    """The regions of an expectation."""
    return ", ".join(f"`{region}`" for region in one.regions)


# --- what was decided ---


def verdict_section(design: Design) -> list[str]:
    """A row a contract, and what certificates say."""
    rows = [
        (
            v.contract,
            f"**{v.verdict}**",
            ", ".join(v.bounds),
            v.engine,
            str(v.ops),
            str(v.states or v.executions),
            "-" if v.waits is None else str(v.waits),
        )
        for v in design.verdicts
    ]
    head = (
        "contract",
        "verdict",
        "covers",
        "engine",
        "operations",
        "schedules",
        "host waits a step",
    )
    lines = ["## Verdict", table(head, rows)]
    for v in design.verdicts:
        lines += [f"Under {v.contract}: {said}." for said in notes(v)]
    return lines


def notes(verdict: Verdict) -> Iterator[str]:
    """What a reader must know beside a verdict."""
    if verdict.reason:
        yield verdict.reason
    if verdict.unproved:
        yield f"not for every number of steps: {verdict.unproved}"
    yield from verdict.warnings
    for proof in verdict.certificates:
        data = proof.as_data()
        kept = f", keeping {', '.join(data['kept'])}" if data["kept"] else ""
        yield (
            f"the certificate holds {len(data['states'])} states that are closed under one more "
            f"step{kept}; steps matter modulo {data['scale']['period']}"
        )


def counterexamples(design: Design, stem: str, files: Files) -> list[str]:
    """Every missing edge with its picture, and a page to step through all of them."""
    refuted = [v for v in design.verdicts if v.missing_edges]
    if not refuted:
        return []
    name = stem.rpartition("/")[2]
    lines = ["## What refutes it"]
    try:
        files[f"{stem}.steps.html"] = page(refuted)
        lines.append(f"[Step through every counterexample]({name}.steps.html).")
    except BadInput as error:
        lines.append(f"There is no page to step through: {error}.")
    shown: dict[str, str] = {}
    for verdict in refuted:
        for scene, edge in zip(scenes(verdict), verdict.missing_edges, strict=True):
            lines += told(edge, verdict, shown)
            if shown[edge.sentence] != verdict.contract:
                continue
            picture = f"{stem}.{verdict.contract}-{scene.number}.svg"
            try:
                files[picture] = Drawing(scene).svg()
                lines.append(f"![{edge.kind}]({picture.rpartition('/')[2]})")
            except BadInput as error:
                lines.append(f"There is no picture: {error}.")
    return lines


def told(edge: MissingEdge, verdict: Verdict, shown: dict[str, str]) -> list[str]:
    """A missing edge in words; one that another contract has too is told once."""
    first = shown.setdefault(edge.sentence, verdict.contract)
    if first != verdict.contract:
        return [f"Under {verdict.contract} as under {first}: {edge.sentence}."]
    so = f" So {edge.consequence}." if edge.consequence and not edge.ordered else ""
    return [f"**{edge.kind}** under {verdict.contract}: {edge.sentence}.{so}"]


def runtimes(design: Design) -> list[str]:
    """Where it is exposed or hidden."""
    rows = []
    for name, verdict in design.runtimes.items():
        if isinstance(verdict, str) or verdict.runtime is None:
            rows.append((name, "", f"not decided: {verdict}"))
            continue
        by = "; ".join(str(pair) for pair in verdict.runtime.found.hidden_by)
        hides = f"hidden where these share a queue: {by}" if by else ""
        rows.append((name, word_for(verdict, verdict.runtime), hides))
    note = "A runtime may hide a hazard; nothing is mended by that."
    return ["## On runtimes", table(("runtime", "there it is", "why"), rows), note]


def mutants(design: Design) -> list[str]:
    """Each wait left out."""
    head = "## Mutants"
    if design.mutants_under is None:
        return []
    if not design.mutants:
        return [head, "It waits nowhere, so there is no wait to leave out."]
    rows = []
    for mutant in design.mutants:
        edges = mutant.verdict.missing_edges
        why = edges[0].sentence if edges else "nothing: the wait orders nothing that matters here"
        rows.append((f"`{mutant.call}`", str(mutant.where), mutant.verdict.verdict, why))
    said = Counter(mutant.verdict.verdict for mutant in design.mutants)
    count = ", ".join(f"{n} {word}" for word, n in said.items())
    intro = f"Each wait left out in turn, decided under {design.mutants_under}: {count}."
    return [head, intro, table(("without", "at", "verdict", "what refutes it"), rows)]


def relatives(design: Design, stem: str) -> list[str]:
    """The other protocols of the family."""
    if not design.family:
        return []
    rows = [
        (f"`{one.name}`", one.summary, ", ".join(f"{v} under {c}" for c, v in one.expects.items()))
        for one in design.family
    ]
    family = stem.rpartition("/")[0]
    return [f"## Variants in {family}", table(("protocol", "what it is", "states"), rows)]


# --- beyond the model ---


def costs(design: Design) -> list[str]:
    """What timed runs cost."""
    head = "## Cost"
    if not design.costs:
        return [head, "No timed run was made for this page."]
    names = list(dict.fromkeys(name for cost in design.costs for name in cost.figures))
    rows = [(name, *(figure(cost, name) for cost in design.costs)) for name in names]
    lines = [head, "Timed runs of 32 steps, seed 1, with the costs of a device file."]
    if rows:
        lines.append(table(("", *(cost.device for cost in design.costs)), rows))
    lines += [f"On {cost.device}: {cost.why}." for cost in design.costs if cost.why]
    return lines


def figure(cost: Cost, name: str) -> str:
    """A figure of a device."""
    return f"{cost.figures[name]:.4g}" if name in cost.figures else "-"


def evidence(design: Design) -> list[str]:
    """What GPU results say."""
    lines = list(design.evidence) or ["There is no GPU result for this protocol."]
    return ["## Evidence from a GPU", "\n".join(f"- {line}" for line in lines)]


def repairs(design: Design) -> list[str]:
    """How a refuted protocol can be mended."""
    if design.repairs is None:
        held = all(verdict.outcome in HOLDING for verdict in design.verdicts)
        return [] if held else ["## Repairs", "Nothing refutes it, so there is nothing to mend."]
    return ["## Repairs", f"```text\n{repairs_text(design.repairs)}\n```"]
