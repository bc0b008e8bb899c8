"""Step boundaries in a proof: the step loop as the prover drives it."""

from __future__ import annotations

import dis
import sys
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from .errors import Unprovable
from .normal_form import Form, normal_form
from .step import Step
from .where import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from .proof import Prover


class Boundary:
    """The step loop: an iterable that only a plain `for` may drive.

    An iterator around it, such as `zip` with a cycle, would keep state where nothing can see it.
    At the boundary asked for, `form` becomes the normal form; the loop ends there when it `is_new`,
    for the code after it to be run from this state, and the run ends there otherwise.

    - `taken` is how many choices and queries there were up to that boundary, `waits` how many
      host waits in the step before it.
    """

    def __init__(
        self,
        prover: Prover,
        steps: int,
        is_new: Callable[[Form], bool],
        reached: type[BaseException],
    ) -> None:
        self.prover = prover
        self.steps = steps
        self.is_new = is_new
        self.reached = reached
        self.taken: int | None = None
        self.waits = 0
        self.frame: FrameType | None = None
        self.form: Form | None = None
        self.at = 0

    def refuse(self, why: str) -> NoReturn:
        """End the run: a proof is not possible."""
        self.prover.stop(Unprovable(why))

    def __iter__(self) -> Boundary:
        frame = sys._getframe(1)  # noqa: SLF001 - the caller is what matters
        if self.frame is not None:
            self.refuse("the protocol has a second step loop")
        if operation(frame) != "GET_ITER":
            self.refuse("steps() is not iterated by a plain `for`: what is around it keeps state")
        self.frame = frame
        return self

    def __next__(self) -> Step:
        frame = sys._getframe(1)  # noqa: SLF001 - the caller is what matters
        if frame is not self.frame or operation(frame) != "FOR_ITER":
            self.refuse("steps() is not iterated by a plain `for`: what is around it keeps state")
        prover = self.prover
        editor = prover.gpu.editor
        if editor is not None:  # what it adds after a step's last call belongs to that step
            editor.step(Step(self.at, prover.scale))
        prover.looped, prover.now, prover.falses = True, self.at, {}
        prover.scale.now = self.at
        if self.at == self.steps:
            self.taken, self.waits = len(prover.results), prover.waits
            self.form = self.formed(frame)
            if not self.is_new(self.form):
                prover.stop(self.reached())
            prover.looped = False
            if editor is not None:
                editor.step(None)
            raise StopIteration
        prover.waits = 0
        self.at += 1
        return Step(prover.now, prover.scale)

    def formed(self, frame: FrameType) -> Form:
        """The normal form here; the protocol cannot catch that there is none."""
        try:
            return normal_form(self.prover, self.frames(frame))
        except Unprovable as why:
            self.prover.stop(why)

    def frames(self, frame: FrameType) -> list[FrameType]:
        """The frames of the protocol, from the loop's outwards."""
        found = [frame]
        outer = frame.f_back
        while outer is not None and not is_internal(outer.f_code.co_filename):
            if not operation(outer).startswith("CALL"):
                self.refuse("the step loop runs inside a generator, whose caller keeps state")
            found.append(outer)
            outer = outer.f_back
        if any(in_with(each.f_code, each.f_lasti) for each in found):
            self.refuse("the step loop is inside a `with`: its manager's state has no name to see")
        return found


def operation(frame: FrameType) -> str:
    """The name of the instruction that a frame is in; a call that has been specialised stands at
    the end of its inline cache.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    while at > 0 and dis.opname[code[at]] == "CACHE":
        at -= 2
    return dis.opname[code[at]]


@cache
def in_with(code: CodeType, at: int) -> bool:
    """Whether an instruction is inside a `with`: one of the handlers around it, from the inside
    outwards, calls the manager's `__exit__`.
    """
    starts, seen = handlers(code), set[int]()
    found = {each.offset: each.opname for each in dis.get_instructions(code)}
    while (target := next((to for low, high, to in starts if low <= at < high), None)) is not None:
        if target in seen:
            return False
        seen.add(target)
        following = [found[offset] for offset in sorted(found) if offset >= target][:3]
        if "WITH_EXCEPT_START" in following:
            return True
        at = target
    return False


def handlers(code: CodeType) -> tuple[tuple[int, int, int], ...]:
    """The ranges of instructions in a `with` or `try`, each with its handler; inner ones first."""
    entries = getattr(dis.Bytecode(code), "exception_entries", None)
    if entries is not None:  # from Python 3.11 on, where they do not overlap
        return tuple((entry.start, entry.end, entry.target) for entry in entries)
    begun = [i for i in dis.get_instructions(code) if i.opname in {"SETUP_WITH", "SETUP_FINALLY"}]
    return tuple((each.offset + 1, each.argval, each.argval) for each in reversed(begun))
