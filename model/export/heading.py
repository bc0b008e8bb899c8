"""What stands above an exported model: what it is, what was decided, how to run it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .versions import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .export import Subject
    from .layout import Layout
    from .promela import Promela


OPTIONS = re.compile(
    r"^ \*     spin -a FILE && gcc -O2 ((?:-D\w+(?:=\d+)? )+)-o pan pan\.c && \./pan -m\d+$",
    re.MULTILINE,
)
"""The line with pan's options, which is indented: nothing that a protocol says is."""

VERDICT = re.compile(
    r"\A.*\n(?P<margin> \*|\\\*) .*\n(?:(?P=margin) .*\n)?(?P=margin)\n"
    r"(?:(?P=margin) .* open; here it is (?:kept|broken)\.\n)*"
    r"(?P=margin) `streamorder check` says for these bounds: (?P<word>[A-Z]+)\.\n"
)
"""A heading up to our own verdict, by its place: a protocol's words come before the empty line."""


def options_in(model: str) -> list[str]:
    """The options that a Promela model's heading says pan needs."""
    found = OPTIONS.search(model.partition("*/")[0])
    return found[1].split() if found else []


def verdict_in(model: str) -> str:
    """Our own verdict in the heading of a model; nothing where it has none."""
    found = VERDICT.match(model)
    return found["word"] if found else ""


def promela_heading(subject: Subject, layout: Layout, model: Promela) -> Iterator[str]:
    """The comment above a Promela model."""
    yield "/*"
    for line in [*one_by_one(about(subject, layout)), "", *promela_notes(model)]:
        yield f" * {line.replace('*/', '* /')}".rstrip()
    yield " */"
    yield ""


def promela_notes(model: Promela) -> Iterator[str]:
    """How SPIN is run, and what it finds."""
    yield "A process for each host thread, one for each lane of operations: a stream, a branch of"
    yield "a graph, a post. An operation begins when it is first in its lane and what it waits for"
    yield "is done. A failed assertion is a hazard (two accesses that conflict, under way at once)"
    yield "or a read that finds another version than it expects; an invalid end state is a hang."
    yield ""
    yield f"    spin -a FILE && gcc -O2 {pan_options(model)} -o pan pan.c && ./pan -m1000000"
    yield ""
    yield "`errors: 0` means that it holds, unless pan also says `max search depth too small`: then"
    yield "give a larger -m. `spin -t -p FILE` shows the counterexample that pan has found."


def pan_options(model: Promela) -> str:
    """The options that pan.c needs."""
    return f"-DSAFETY -DVECTORSZ={model.vector_size()}"


def tla_heading(subject: Subject, layout: Layout, module: str) -> Iterator[str]:
    """The comment at the beginning of a TLA+ module."""
    for line in [*one_by_one(about(subject, layout)), "", *tla_notes(module)]:
        yield f"\\* {line}".rstrip()
    yield ""


def tla_notes(module: str) -> Iterator[str]:
    """How TLC is run, and what it finds."""
    yield "Host threads are at a place each (`pc`), operations wait in the `queue` of a lane. One"
    yield "that has accesses that others could meet begins and ends, all else happens at once."
    yield "`Right` is violated by a hazard (two accesses that conflict, under way at once) or a"
    yield "read that finds another version than it expects; `wrong` then names the action. A"
    yield "deadlock is a hang."
    yield ""
    yield f"    java -cp tla2tools.jar tlc2.TLC -config {module}.cfg {module}.tla"


def one_by_one(lines: Iterable[str]) -> Iterator[str]:
    """Lines that are one line each and not indented, whatever a protocol calls its things."""
    return (" ".join(line.split()) for line in lines)


def about(subject: Subject, layout: Layout) -> Iterator[str]:
    """The protocol, the bounds and the versions."""
    given = "".join(f", {name}={value}" for name, value in subject.parameters.items())
    steps = f"{subject.steps} step{'s' * (subject.steps > 1)}"
    yield f"{subject.target.name} under {subject.contract.name}, {steps}{given}"
    if subject.target.summary:
        yield subject.target.summary
    yield ""
    for field in subject.open_promises:
        here = "kept" if getattr(subject.reading, field) else "broken"
        yield f"{subject.contract.name} leaves {field} open; here it is {here}."
    if subject.verdict:
        yield f"`streamorder check` says for these bounds: {subject.verdict}."
    named = ", ".join(f"{number} {words}" for number, words in versions(layout))
    yield f"Versions are numbers: {named}." if named else "Versions are numbers."


def versions(layout: Layout) -> Iterator[tuple[int, str]]:
    """The versions that do not stand for themselves, and that the model has."""
    for number, words in layout.flow.versions.named():
        if number == -1 or layout.frees or number not in NAMES:
            yield number, re.sub(r"\s+", " ", words)
