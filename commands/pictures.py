"""What `explain` can write to files: one option a form, and what each may hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import BadInput
from .parser import whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ..model.verdict import Verdict
    from .parser import Parser

FORMS = {
    "html": "a page to step through, which loads nothing",
    "svg": "a picture of one missing edge",
    "mermaid": "one missing edge as a sequence diagram",
    "perfetto": "a trace for Perfetto or chrome://tracing",
    "sarif": "SARIF 2.1.0, for code scanning",
    "pytest": "a regression test",
    "torch": "a script that forces one missing edge on a GPU",
    "json": "the data",
}
ONE = ("svg", "mermaid", "torch")
"""Forms that hold one missing edge: the first, or the one that `--edge` names."""
ALWAYS = ("sarif", "json", "pytest")
"""Forms that have something to say where nothing is refuted."""


def add_pictures(parser: Parser) -> None:
    """An option a form, and which missing edge those take that hold one."""
    for form, text in FORMS.items():
        parser.add_argument(f"--{form}", metavar="FILE", help=text)
    parser.add_argument("--edge", metavar="K", help=f"which missing edge: for {', '.join(ONE)}")


def asked_for(options: argparse.Namespace) -> dict[str, Path]:
    """The forms that are asked for, and their files."""
    return {form: Path(getattr(options, form)) for form in FORMS if getattr(options, form)}


def files(options: argparse.Namespace, verdicts: list[Verdict]) -> dict[Path, str]:
    """Every file that is asked for with its text; nothing is written yet.

    Raises `BadInput` where there is nothing to draw, or what there is nobody could read.
    """
    asked = asked_for(options)
    if options.edge is not None and not set(asked) & set(ONE):
        raise BadInput(f"--edge chooses what --{' or --'.join(ONE)} shows: name one of them too")
    refuted = [verdict for verdict in verdicts if verdict.missing_edges]
    if not refuted and set(asked) - set(ALWAYS):
        names = ", ".join(dict.fromkeys(verdict.name for verdict in verdicts))
        form = next(form for form in asked if form not in ALWAYS)
        raise BadInput(f"--{form}: there is nothing to draw: {names} is not refuted")
    return {path: rendered(form, path, verdicts, options) for form, path in asked.items()}


def rendered(form: str, path: Path, verdicts: list[Verdict], options: argparse.Namespace) -> str:
    """What goes into one file."""
    if form in ONE:
        verdict, number = chosen(verdicts, whole(options.edge, "--edge") or 1)
        return of_one(form, path, verdict, number)
    if form == "pytest":
        from ..report.regression import regression_test

        return regression_test(verdicts, path.absolute().parent, whole(options.steps, "--steps"))
    return RENDERERS[form](verdicts)


def chosen(verdicts: list[Verdict], number: int) -> tuple[Verdict, int]:
    """The first verdict that has missing edges, and the number of one of them."""
    verdict = next(verdict for verdict in verdicts if verdict.missing_edges)
    edges = verdict.missing_edges
    if number > len(edges):
        raise BadInput(f"--edge {number}: {verdict.name} has {len(edges)} under {verdict.contract}")
    return verdict, number


def of_one(form: str, path: Path, verdict: Verdict, number: int) -> str:
    """What shows one missing edge."""
    edge = verdict.missing_edges[number - 1]
    if form == "torch":
        from ..report.torch_script import torch_script

        return torch_script(verdict, edge, path.absolute().parent)
    from ..report.drawing import Drawing
    from ..report.mermaid import mermaid
    from ..report.scene import scene

    told = scene(verdict, edge, number)
    return Drawing(told).svg() if form == "svg" else mermaid(told)


def as_page(verdicts: list[Verdict]) -> str:
    """The page."""
    from ..report.page import page

    return page(verdicts)


def as_trace(verdicts: list[Verdict]) -> str:
    """The trace."""
    from ..report.chrome_trace import chrome_trace

    return as_json(chrome_trace(verdicts))


def as_sarif(verdicts: list[Verdict]) -> str:
    """The SARIF log."""
    from ..report.sarif import sarif

    return as_json(sarif(verdicts))


def as_data(verdicts: list[Verdict]) -> str:
    """The data."""
    return as_json([verdict.as_data() for verdict in verdicts])


def as_json(data: object) -> str:
    """Data as JSON."""
    import json

    return json.dumps(data, indent=2) + "\n"


RENDERERS: dict[str, Callable[[list[Verdict]], str]] = {
    "html": as_page,
    "perfetto": as_trace,
    "sarif": as_sarif,
    "json": as_data,
}
