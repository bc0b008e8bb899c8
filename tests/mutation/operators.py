"""One-line faults: what each kind of syntax node can be replaced by, as source text."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Change = tuple[str, str]
"""The kind of a fault, and the text that replaces the node's."""

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
NAMESAKES = {"any": "all", "all": "any", "min": "max", "max": "min"}
UNSWAPPED = frozenset({"isinstance", "hasattr", "getattr", "setattr", "TypeVar"})
"""Functions whose first two arguments cannot be taken for one another."""

WORD = re.compile(r"[a-z_]+")
COLLECTIONS = {
    "list": "[]", "tuple": "()", "dict": "{}", "set": "set()", "frozenset": "frozenset()",
    "str": "''", "Iterator": "iter(())", "int": "0",
}  # fmt: skip


def text(node: ast.AST) -> str:
    """A node as source that can stand anywhere an expression can."""
    source = ast.unparse(node)
    return source if isinstance(node, (ast.Constant, ast.Name, ast.Call)) else f"({source})"


def negated(node: ast.expr) -> str:
    """The opposite of a condition."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return text(node.operand)
    return text(ast.UnaryOp(ast.Not(), node))


def simple_comparison(node: ast.expr) -> bool:
    """Whether swapping its operator negates the node already."""
    return isinstance(node, ast.Compare) and len(node.ops) == 1


# --- expressions ---


def of_expression(node: ast.expr) -> Iterator[Change]:
    """The faults of one expression, not of those inside it."""
    if isinstance(node, ast.Compare):
        yield from of_comparison(node)
    elif isinstance(node, ast.BoolOp):
        yield from of_connective(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        changed = ARITHMETIC[type(node.op)]()
        yield "arithmetic", text(ast.BinOp(node.left, changed, node.right))
    elif isinstance(node, ast.UnaryOp):
        yield "unary", text(node.operand)
    elif isinstance(node, ast.Constant):
        yield from of_constant(node.value)
    elif isinstance(node, ast.IfExp):
        yield "branch", text(node.body)
        yield "branch", text(node.orelse)
    elif isinstance(node, ast.Call):
        yield from of_call(node)


def of_comparison(node: ast.Compare) -> Iterator[Change]:
    """The boundary moved, the opposite comparison."""
    for at, op in enumerate(node.ops):
        for other in COMPARISONS[type(op)]:
            ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
            yield "comparison", text(ast.Compare(node.left, ops, node.comparators))


def of_connective(node: ast.BoolOp) -> Iterator[Change]:
    """`and` for `or`, or one operand less."""
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "and/or", text(ast.BoolOp(other, node.values))
    for at in range(len(node.values)):
        rest = [*node.values[:at], *node.values[at + 1 :]]
        yield "operand", text(ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0])


def of_constant(value: object) -> Iterator[Change]:
    """Another constant: flags flipped, numbers one off, words misspelt."""
    if isinstance(value, bool):
        yield "constant", repr(not value)
    elif isinstance(value, int):
        yield "constant", repr(value + 1)
        if value > 0:
            yield "constant", repr(value - 1)
    elif isinstance(value, str) and WORD.fullmatch(value):
        yield "constant", repr(value + "_")


def of_call(node: ast.Call) -> Iterator[Change]:
    """Its first two arguments swapped, or the opposite function."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in NAMESAKES:
        other = ast.Name(NAMESAKES[name], ast.Load())
        yield "function", text(ast.Call(other, node.args, node.keywords))
    swappable = len(node.args) > 1 and name not in UNSWAPPED
    if swappable and not any(isinstance(arg, ast.Starred) for arg in node.args[:2]):
        first, second, *rest = node.args
        if ast.dump(first) != ast.dump(second):
            swapped = ast.Call(node.func, [second, first, *rest], node.keywords)
            yield "arguments", text(swapped)


def of_condition(node: ast.expr, endless: bool = False) -> Iterator[Change]:
    """A condition negated, always true (unless a loop would not end), always false."""
    if not simple_comparison(node):
        yield "negated", negated(node)
    if not endless:
        yield "branch", "True"
    yield "branch", "False"


# --- statements ---


def of_statement(node: ast.stmt, returns: str, reassigned: set[str]) -> Iterator[Change]:
    """The faults of one statement, not of what is inside it."""
    if isinstance(node, ast.Return) and node.value is not None:
        yield from of_return(node.value, returns)
    elif isinstance(node, ast.AugAssign):
        other = ARITHMETIC[type(node.op)]()
        yield "arithmetic", ast.unparse(ast.AugAssign(node.target, other, node.value))
        yield "deleted", "pass"
    elif isinstance(node, ast.Expr) and isinstance(node.value, (ast.Yield, ast.YieldFrom)):
        yield "yield", "yield from ()"
    elif is_deletable(node, reassigned):
        yield "deleted", "pass"


def is_deletable(node: ast.stmt, reassigned: set[str]) -> bool:
    """Whether a program without the statement is more than a missing name."""
    if isinstance(node, ast.Assign):
        plain = [target.id for target in node.targets if isinstance(target, ast.Name)]
        return not plain or bool(reassigned.intersection(plain))
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, (ast.Raise, ast.Delete, ast.Continue, ast.Break))


def of_return(value: ast.expr, returns: str) -> Iterator[Change]:
    """Nothing, an empty collection or the opposite truth instead of the value."""
    if isinstance(value, ast.Constant) and value.value is None:
        return
    yield "return", "return None"
    empty = COLLECTIONS.get(returns.partition("[")[0])
    if empty and ast.unparse(value) != empty:
        yield "return", f"return {empty}"
    if returns == "bool":
        if not simple_comparison(value) and not isinstance(value, ast.Constant):
            yield "return", f"return {negated(value)}"
        yield "return", "return True"
