"""Verdicts, tables and audits as text for a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..model.verdict import Outcome
from .colour import Paint
from .lanes import swim_lanes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.audit import Audit
    from ..model.verdict import MissingEdge, Verdict

PLAIN = Paint(False)


def coloured(outcome: Outcome, paint: Paint, word: str) -> str:
    """A verdict's word in its colour."""
    if outcome is Outcome.REFUTED:
        return paint.red(word)
    return paint.yellow(word) if outcome is Outcome.UNDETERMINED else paint.green(word)


def table(verdicts: Sequence[Verdict], paint: Paint = PLAIN) -> str:
    """One line a verdict: what was decided, for how many steps, and whether as expected."""
    width = max((len(v.name) for v in verdicts), default=4)
    head = (
        f"{'protocol'.ljust(width)}  {'contract':8}  {'verdict':12}  "
        f"{'steps':>5}  {'ops':>6}  {'waits':>5}  {'ms':>7}"
    )
    return "\n".join([paint.dim(head), *(row(verdict, width, paint) for verdict in verdicts)])


def row(verdict: Verdict, width: int, paint: Paint) -> str:
    """One verdict as a line of the table."""
    word = coloured(verdict.outcome, paint, f"{verdict.verdict:12}")
    waits = "-" if verdict.waits is None else verdict.waits
    line = (
        f"{verdict.name.ljust(width)}  {verdict.contract:8}  {word}  {verdict.steps or 'all':>5}  "
        f"{verdict.ops:6d}  {waits:>5}  {verdict.seconds * 1000:7.1f}"
    )
    if verdict.as_expected is False:
        line += paint.red(f"  expected {verdict.expected}")
    if verdict.reason:
        line += paint.yellow(f"  {verdict.reason}")
    if verdict.there:
        from .runtime import worst_there

        code, words = worst_there(verdict)
        line += f"  {words}" if code or verdict.runtime else ""
    return line + "".join(paint.yellow(f"  ({warning})") for warning in verdict.warnings)


def summary(verdicts: Sequence[Verdict], paint: Paint = PLAIN) -> str:
    """How many verdicts of each kind, and how many are not as the catalogue states."""
    counts = [(o, sum(v.outcome is o for v in verdicts)) for o in Outcome]
    said = ", ".join(f"{count} {outcome}" for outcome, count in counts if count)
    stated = [v for v in verdicts if v.expected is not None]
    odd = [v for v in stated if not v.as_expected]
    if not stated:
        return said
    tail = paint.red(f"{len(odd)} not as expected") if odd else paint.green("all as expected")
    return f"{said}: {tail}"


def one(
    verdict: Verdict,
    paint: Paint = PLAIN,
    *,
    pictures: int = 1,
    evidence: bool = False,
    timed: bool = True,
) -> str:
    """One verdict in full: bounds, warnings, every missing edge, and some counterexamples; what a
    runtime makes of it, with the `evidence` for that.

    What is kept in a file is not `timed`: it is the same whenever it is written.
    """
    lines = [headline(verdict, paint, timed=timed)]
    lines += [paint.yellow(f"  note: {warning}") for warning in verdict.warnings]
    if verdict.reason:
        lines.append(paint.yellow(f"  {verdict.reason}"))
    if verdict.unproved:
        lines.append(paint.dim(f"  not for every number of steps: {verdict.unproved}"))
    for number, edge in enumerate(verdict.missing_edges, 1):
        lines += described_edge(number, edge, paint, picture=number <= pictures)
    hidden = len(verdict.missing_edges) - pictures
    if hidden > 0:
        lines.append(paint.dim(f"  (streamorder explain draws the other {hidden} as well)"))
    if verdict.runtime is not None or verdict.sweep:
        from .runtime import runtime_lines, sweep_lines

        if verdict.runtime is not None:
            lines += runtime_lines(verdict, verdict.runtime, paint, evidence=evidence)
        else:
            lines += sweep_lines(verdict, paint)
    return "\n".join(lines)


def headline(verdict: Verdict, paint: Paint, *, timed: bool = True) -> str:
    """Name, contract, verdict and what it covers, on one line."""
    word = coloured(verdict.outcome, paint, verdict.verdict)
    covers = ", ".join(verdict.bounds)
    parameters = " ".join(f"--{name} {value}" for name, value in verdict.parameters.items())
    given = f" {parameters}" if parameters else ""
    count = f"{verdict.ops} operation{'s' * (verdict.ops != 1)}"
    if verdict.states:
        count += f", {verdict.states} states"
    if timed:
        count += f", {verdict.seconds * 1000:.1f} ms"
    odd = paint.red(f" [expected {verdict.expected}]") if verdict.as_expected is False else ""
    return (
        f"{paint.bold(verdict.name)}{given} under {verdict.contract}: {word}{odd} "
        f"({covers}; {count})"
    )


def described_edge(number: int, edge: MissingEdge, paint: Paint, *, picture: bool) -> list[str]:
    """A missing edge: its kind, the sentence with both source lines, what a read then sees."""
    lines = [f"  {number}. {paint.red(edge.kind)}: {edge.sentence}"]
    if len(edge.regions) > 1:
        lines.append(f"     the same for {', '.join(other_regions(edge.regions))}")
    if edge.consequence and not edge.ordered:
        lines.append(f"     so {edge.consequence}")
    if edge.cycle:
        from .runtime import cycle_lines

        lines += [f"     {line}" for line in cycle_lines(edge.cycle)]
    if picture and edge.counterexample:
        lines.append(swim_lanes([*edge.counterexample, *edge.aftermath], paint=paint))
    return lines


def other_regions(regions: Sequence[str]) -> list[str]:
    """All regions but the first, each name once: what is allocated in a loop has one name."""
    first, *others = regions
    said = []
    for name, count in Counter(others).items():
        more = f"{count} more named {name}" if name == first else f"{count} named {name}"
        said.append(more if count > 1 or name == first else name)
    return said


def audit_text(found: Audit, paint: Paint = PLAIN) -> str:
    """The host waits of a protocol, one source line each."""
    head = f"{paint.bold(found.name)} under {found.contract}: "
    if not found.waits:
        if found.reason:
            return head + paint.yellow(f"undetermined, no host wait found: {found.reason}")
        return head + paint.green("the host never waits for the device")
    undeclared = len(found.undeclared)
    verdict = paint.red(f"{undeclared} undeclared") if undeclared else paint.green("all declared")
    if found.reason:
        verdict = verdict if undeclared else paint.yellow("all of these declared, undetermined")
    where = "1 source line" if len(found.waits) == 1 else f"{len(found.waits)} source lines"
    lines = [f"{head}host waits at {where}, {verdict}"]
    for wait in found.waits:
        rate = f"{wait.per_step} a step" if wait.in_steps else f"{wait.per_step} in all"
        why = f"declared: {wait.declared}" if wait.declared else paint.red("UNDECLARED")
        lines.append(f"  {wait.where}  {wait.call}  {rate}  {why}")
    if found.reason:
        lines.append(paint.yellow(f"  there may be others: {found.reason}"))
    return "\n".join(lines)
