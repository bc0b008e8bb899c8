"""Places in a protocol's source: the stack of lines that led to a call, and spans of lines.

A repair is stated, and carried out, at a *span*: a statement or an inner loop. Where a statement
stands in a helper that others share, or in a loop that copies part by part, the repair belongs
around the whole: `levels` lists the spans around a call, innermost first, up to the step loop.
"""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..where import Where, is_internal

if TYPE_CHECKING:
    from types import FrameType


class Span(NamedTuple):
    """Lines `first` to `last` of a file, around `line`; `loop` says that they are a loop."""

    filename: str
    first: int
    last: int
    line: int
    loop: bool = False

    def covers(self, where: Where) -> bool:
        """Whether a line lies in it."""
        return where.filename == self.filename and self.first <= where.line <= self.last

    @property
    def start(self) -> Where:
        """Where one would write what comes before it."""
        return Where(self.filename, self.first if self.loop else self.line)

    @property
    def end(self) -> Where:
        """The line after which one would write what comes after it."""
        return Where(self.filename, self.last)


class Place(Where):
    """The line of a call, with the lines that led to it, outermost first, itself last."""

    stack: tuple[Where, ...]


def frames() -> list[FrameType]:
    """The protocol's own frames that led to the current call, outermost first."""
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - inspect.stack() reads source files
    while frame is not None:
        if not is_internal(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    return found[::-1]


def line_of(frame: FrameType) -> Where:
    """Where a frame is."""
    return Where(frame.f_code.co_filename, frame.f_lineno)


def place_of(stack: list[FrameType]) -> Place:
    """The place of the call that these frames led to."""
    lines = tuple(map(line_of, stack))
    place = Place(*(lines[-1] if lines else Where("?", 0)))
    place.stack = lines
    return place


def at_line(where: Where) -> Place:
    """A line as a place."""
    place = Place(*where)
    place.stack = (where,)
    return place


@lru_cache(maxsize=256)
def parsed(filename: str) -> ast.Module | None:
    """The syntax tree of a source file; None where there is no such file."""
    try:
        return ast.parse(Path(filename).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


@lru_cache(maxsize=4096)
def around(where: Where) -> tuple[tuple[Span, ...], bool]:
    """The spans of one function around a line, innermost first, and whether the step loop is
    around them: the statement itself, then the inner loops that it is in.
    """
    line = Span(where.filename, where.line, where.line, where.line)
    tree = parsed(where.filename)
    if tree is None:
        return (line,), False
    spans: list[Span] = []
    for node in enclosing(tree, where.line):
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            break
        if isinstance(node, (ast.For, ast.While)) and node.body[0].lineno <= where.line:
            if is_step_loop(node):
                return tuple(spans or (line,)), True
            last = node.end_lineno or node.lineno
            spans.append(Span(where.filename, node.lineno, last, where.line, loop=True))
        elif not spans:
            compound = hasattr(node, "body")
            last = node.lineno if compound else (node.end_lineno or node.lineno)
            spans.append(Span(where.filename, node.lineno, last, node.lineno))
    return tuple(spans or (line,)), False


def enclosing(tree: ast.AST, line: int) -> list[ast.stmt]:
    """The statements around a line, innermost first."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return sorted(found, key=lambda n: (n.lineno, -(n.end_lineno or n.lineno)), reverse=True)


def is_step_loop(node: ast.For | ast.While) -> bool:
    """Whether a loop goes through `steps()`."""
    return isinstance(node, ast.For) and any(
        isinstance(part, ast.Attribute) and part.attr == "steps" for part in ast.walk(node.iter)
    )


def levels(place: Where) -> list[Span]:
    """Every span around a call, innermost first: out of inner loops, out of helpers, up to the
    body of the step loop or of the outermost function.
    """
    found: list[Span] = []
    for where in reversed(getattr(place, "stack", (place,))):
        spans, stepping = around(where)
        found += spans
        if stepping:
            break
    return found


@lru_cache(maxsize=1024)
def function_of(where: Where) -> int:
    """The line at which the function around a line begins; 0 for none."""
    tree = parsed(where.filename)
    around_it = enclosing(tree, where.line) if tree is not None else []
    return next((node.lineno for node in around_it if isinstance(node, ast.FunctionDef)), 0)


@lru_cache(maxsize=1024)
def source(where: Where) -> str:
    """The text of a source line, without its indentation; empty where there is none."""
    try:
        lines = Path(where.filename).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return lines[where.line - 1].strip() if 0 < where.line <= len(lines) else ""
