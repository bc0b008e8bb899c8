"""Every mutant of a source file: the file with one small fault."""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import operators

if TYPE_CHECKING:
    from collections.abc import Iterator

    from operators import Change

SKIPPED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert, ast.Global, ast.Nonlocal)
"""Texts of messages, and invariants that only readers and the type checker see."""


class Mutant(NamedTuple):
    """A file with one fault: the lines changed, before and after, and the whole new source."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    source: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies it as long as the line is written the same."""
        return self.file, self.before, self.after

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.kind}: `{self.before}` -> `{self.after}`"


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """Each distinct mutant of a file, in the order of its lines."""
    tree = ast.parse(source)
    original = ast.dump(tree)
    seen: set[str] = set()
    for node, (kind, replacement) in Walk().module(tree):
        changed = spliced(source, node, replacement)
        shape = shape_of(changed)
        if shape is not None and shape != original and shape not in seen:
            seen.add(shape)
            before, after = changed_lines(source, changed)
            yield Mutant(file, node.lineno, kind, before, after, changed)


def shape_of(source: str) -> str | None:
    """The syntax tree as text; None where the source is no program."""
    try:
        tree = ast.parse(source)
        compile(tree, "<mutant>", "exec")
    except SyntaxError:
        return None
    return ast.dump(tree)


def spliced(source: str, node: ast.stmt | ast.expr, replacement: str) -> str:
    """The source with a node's text replaced; columns count bytes."""
    lines = source.encode().splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    head = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    tail = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (head + replacement.encode() + tail).decode()


def changed_lines(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, each side as one line of text."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    spans = [span for span in matcher.get_opcodes() if span[0] != "equal"]
    first, last = spans[0], spans[-1]
    return joined(old[first[1] : last[2]]), joined(new[first[3] : last[4]])


def joined(lines: list[str]) -> str:
    """Lines as one."""
    return " ".join(line.strip() for line in lines)


Site = tuple["ast.stmt | ast.expr", "Change"]


class Walk:
    """Finds what to change: code that runs, not annotations, texts or type-checking imports."""

    def __init__(self) -> None:
        self.returns = ""
        self.reassigned: set[str] = set()

    def module(self, tree: ast.Module) -> Iterator[Site]:
        """Everything in a file."""
        for statement in tree.body:
            if not is_alias(statement):
                yield from self.statement(statement)

    def statement(self, node: ast.stmt) -> Iterator[Site]:
        """A statement and what is inside it."""
        if isinstance(node, SKIPPED) or is_text(node) or is_type_checking(node) or is_slots(node):
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from self.definition(node)
            return
        for change in operators.of_statement(node, self.returns, self.reassigned):
            yield node, change
        if isinstance(node, ast.Raise):
            return
        if isinstance(node, (ast.If, ast.While)):
            for change in operators.of_condition(node.test, endless=isinstance(node, ast.While)):
                yield node.test, change
        if isinstance(node, ast.For):
            yield node.iter, ("loop", "()")
        yield from self.children(node)

    def definition(self, node: ast.FunctionDef | ast.ClassDef) -> Iterator[Site]:
        """The body of a function or class; defaults of parameters count."""
        outer = self.returns, self.reassigned
        if isinstance(node, ast.FunctionDef):
            if node.name == "__repr__":
                return
            self.returns = ast.unparse(node.returns) if node.returns else ""
            self.reassigned = reassigned(node)
            defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
            for default in defaults:
                yield from self.expression(default)
        for statement in node.body:
            yield from self.statement(statement)
        self.returns, self.reassigned = outer

    def expression(self, node: ast.expr) -> Iterator[Site]:
        """An expression and what is inside it."""
        if isinstance(node, SKIPPED):
            return
        for change in operators.of_expression(node):
            yield node, change
        yield from self.children(node)

    def children(self, node: ast.AST) -> Iterator[Site]:
        """What is directly inside a node."""
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns", "decorator_list", "targets", "target"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.stmt):
                    yield from self.statement(child)
                elif isinstance(child, ast.expr):
                    yield from self.expression(child)
                elif isinstance(child, ast.comprehension):
                    yield from self.comprehension(child)
                elif isinstance(child, ast.keyword) and child.arg != "strict":
                    yield from self.expression(child.value)
                elif isinstance(child, (ast.withitem, ast.ExceptHandler, ast.match_case)):
                    yield from self.children(child)

    def comprehension(self, node: ast.comprehension) -> Iterator[Site]:
        """One `for` of a comprehension with its conditions."""
        yield from self.expression(node.iter)
        for condition in node.ifs:
            for change in operators.of_condition(condition):
                yield condition, change
            yield from self.expression(condition)


def reassigned(node: ast.FunctionDef) -> set[str]:
    """The names that a function assigns again, parameters included."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    stores = Counter(argument.arg for argument in every)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            stores[inner.id] += 1
    return {name for name, times in stores.items() if times > 1}


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_slots(node: ast.stmt) -> bool:
    """Whether a statement is `__slots__ = ...`: any fault in it is an AttributeError."""
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__"


def is_type_checking(node: ast.stmt) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`, which never runs."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def is_alias(node: ast.stmt) -> bool:
    """Whether a statement of the module names a type."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return False
    value = node.value
    typevar = isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"
    return typevar or isinstance(value, (ast.Subscript, ast.Name))
