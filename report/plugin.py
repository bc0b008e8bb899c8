"""The pytest plugin: protocols as tests.

Installed with the package, inert until used. It collects what `streamorder.exhaustive` made,
whatever its name is, brings the fixture `streamorder_check`, and tells at the end of a run what was
decided. With `--streamorder-html DIR` each failure leaves a page to step through.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ..model.verdict import Verdict
    from .sweep import Case, Sweep

PROPERTY = "streamorder"
"""Under this name a test's report keeps what was decided, for the summary and for JUnit files."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--streamorder-html`."""
    group = parser.getgroup("streamorder", "GPU stream protocols")
    group.addoption(
        "--streamorder-html",
        metavar="DIR",
        help="keep a page to step through for every protocol that fails",
    )


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> Any:
    """Tests for what `exhaustive` made: one a combination."""
    made = sys.modules.get(f"{__package__}.sweep")
    if made is None or not isinstance(obj, made.Sweep):
        return None
    test = as_function(obj)
    items = collector.ihook.pytest_pycollect_makeitem(collector=collector, name=name, obj=test)
    for item in items or ():
        item.obj = test  # else an item looks its name up in the module, and finds the sweep
    return items


def as_function(sweep: Any) -> Callable[..., None]:
    """A sweep as a test function that pytest knows: `gpu` is no parameter of it."""

    def test(request: pytest.FixtureRequest, streamorder_case: Case) -> None:
        judge(request.node, sweep, streamorder_case)

    names = [case.named(sweep.varied) for case in sweep.cases]
    test.__doc__, test.__module__ = sweep.__doc__, sweep.body.__module__
    test.__dict__["__test__"] = True  # whatever it is called
    test.__dict__["pytestmark"] = list(getattr(sweep, "pytestmark", []))
    return pytest.mark.parametrize("streamorder_case", sweep.cases, ids=names)(test)


def judge(item: pytest.Item, sweep: Sweep, case: Case) -> Verdict:
    """Decide one combination; fail with the counterexample where it does not hold."""
    with in_a_line():
        verdict = sweep.decide(case)
    item.user_properties.append((PROPERTY, told(verdict)))
    fault = sweep.fault(verdict)
    if fault is not None:
        pytest.fail(fault + kept(item, verdict), pytrace=False)
    return verdict


@contextmanager
def in_a_line() -> Iterator[None]:
    """What is wrong with a protocol or a setting fails a test by its one line."""
    from ..model.errors import StreamorderError

    try:
        yield
    except StreamorderError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same where a test module declares what is wrong: with the line that does."""
    report = yield
    call: Any = getattr(report, "call", None)
    errors = sys.modules.get("streamorder.model.errors")
    if errors and call and call.excinfo and call.excinfo.errisinstance(errors.StreamorderError):
        from ..model.load import last_line

        error = call.excinfo.value
        place = f"{collector.path.name}{last_line(error, collector.path)}: "
        report.longrepr = f"{'' if getattr(error, 'where', None) else place}{error}"
    return report


def told(verdict: Verdict) -> str:
    """A verdict on one line."""
    from .scene import title

    notes = "".join(f"; {warning}" for warning in verdict.warnings)
    return f"{title(verdict)}: {verdict.verdict} ({', '.join(verdict.bounds)}){notes}"


def kept(item: pytest.Item, verdict: Verdict) -> str:
    """Write the page of a failure, if pages are asked for; what to say of it."""
    folder = item.config.getoption("--streamorder-html")
    if folder is None or not verdict.missing_edges:
        return ""
    from ..model.errors import BadInput
    from .files import write_all
    from .page import page

    name = re.sub(r"[^\w.=-]+", "_", f"{item.nodeid}-{verdict.contract}").strip("_")
    path = Path(folder) / f"{name[:180]}.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_all({path: page([verdict])})
    except (BadInput, OSError) as error:
        return f"\n  no page was written: {error}"
    return f"\n  page: {path}"


@pytest.fixture
def streamorder_check(request: pytest.FixtureRequest) -> Callable[..., list[Verdict]]:
    """`streamorder_check(protocol, contracts=…, steps=…, slots=[1, 2])`: decide every combination.

    Takes what `streamorder.exhaustive` takes; returns the verdicts, or fails with the first
    counterexample.
    """
    from .sweep import exhaustive

    def checked(protocol: Any, **settings: Any) -> list[Verdict]:
        with in_a_line():
            sweep = exhaustive(**settings)(protocol)
        return [judge(request.node, sweep, case) for case in sweep.cases]

    return checked


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was decided, and what a reader must know beside it; nothing where nothing was."""
    lines = list(decided(terminalreporter))
    if lines:
        terminalreporter.section("streamorder", sep="-")
        for line in lines:
            terminalreporter.line(line)


def decided(reporter: pytest.TerminalReporter) -> Iterator[str]:
    """A line a verdict, in the order in which they were reached."""
    for reports in reporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                yield from (said for name, said in report.user_properties if name == PROPERTY)
