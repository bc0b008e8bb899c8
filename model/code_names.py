"""What a piece of code names: globals, attributes, modules that it imports."""

from __future__ import annotations

import dis
from functools import cache
from types import CodeType

GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR"})
IMPORTS = frozenset({"IMPORT_NAME"})


@cache
def names(code: CodeType, instructions: frozenset[str]) -> tuple[str, ...]:
    """The names that these instructions have in a piece of code, or in code within it."""
    found = {str(each.argval) for each in dis.get_instructions(code) if each.opname in instructions}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.update(names(constant, instructions))
    return tuple(sorted(found))
