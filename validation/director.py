"""Directed replay: a script's turns, taken one by one on a device.

A host thread makes its next call when its turn has come. An operation is held at a gate until its
turn, and the next turn begins when the operation is done. A gate never waits without a limit on the
device's clock; a turn that does not come to its end in time ends the direction: everything is let
go, and the replay counts as `stalled`.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from .bench import Hold
from .pace import Pace
from .script import CALL, OP, REST

if TYPE_CHECKING:
    from ..model.calls import Call
    from .bench import Slot
    from .device_gpu import Key, TorchGpu
    from .script import Script, Turn

GATE_LIMIT = 300_000_000
"""How long a gate holds an operation at most, ns on the device clock."""

TURN_LIMIT = 0.2
"""How long a turn may take, s: less than a gate's limit, so that no gate runs into it."""


HOST_WAITED = "the host waited in a call for an operation that was held"


class Directed(Pace):
    """Carries out a script.

    `stalled` says why the direction ended early, None when every turn was taken.
    """

    marks = True

    def __init__(self, script: Script) -> None:
        self.script = script
        self.turns = script.turns
        self.at = 0
        self.stalled: str | None = None
        self.change = threading.Condition(threading.RLock())
        self.slots: dict[Key, tuple[Slot, int]] = {}
        self.opened: set[Key] = set()
        self.free = not self.turns
        self.pump_wanted = threading.Event()
        self.over = False
        self.calls = {turn[:3]: turn for turn in self.turns if turn.kind == CALL}
        self.depths: dict[int, int] = {}
        for turn in self.turns:
            if turn.kind == CALL:
                self.depths[turn.thread] = max(turn.depth, self.depths.get(turn.thread, -1))
        self.rests = {turn[:3] for turn in self.turns if turn.kind == REST}
        self.helper = threading.Thread(target=self.help, daemon=True)

    def begin(self, gpu: TorchGpu) -> None:
        """Start the thread that takes turns of operations while the host waits in a call."""
        del gpu
        self.helper.start()

    def end(self) -> None:
        """Let everything go."""
        if not self.free and self.at < len(self.turns):
            self.pump()
        with self.change:
            if not self.free and self.at < len(self.turns):
                self.let_go(f"the program ended before turn {self.at}: {self.turns[self.at]}")
            self.let_go(None)
            if any(slot.late.value for slot, _run in self.slots.values()):
                self.stalled = self.stalled or HOST_WAITED
        self.over = True
        self.pump_wanted.set()

    def let_go(self, why: str | None) -> None:
        """Hold nothing any more."""
        with self.change:
            self.stalled = self.stalled or why
            self.free = True
            for slot, run in list(self.slots.values()):
                slot.open(run)
            self.change.notify_all()

    # --- turns of the host ---

    def before(self, thread: int, depth: int, call: Call, blocks: bool) -> None:
        """Wait until the call's turn has come; one that may block takes its turn at once."""
        if self.wait_for((CALL, thread, depth), call[0]) and blocks:
            self.advance()
            self.pump_wanted.set()

    def after(self, thread: int, depth: int, call: Call, blocks: bool) -> None:
        """The call has returned: its turn is over; its rest has a turn of its own."""
        if not blocks and not self.free:
            self.advance()
        if (REST, thread, depth) in self.rests and self.wait_for((REST, thread, depth), call[0]):
            self.advance()
        if not self.free:
            self.pump()

    def wait_for(self, wanted: tuple[str, int, int], verb: str) -> bool:
        """Wait until this turn has come; False when nothing is directed any more."""
        limit = time.monotonic() + TURN_LIMIT
        while not self.free:
            with self.change:
                if self.at < len(self.turns) and self.turns[self.at][:3] == wanted:
                    return True
                if self.at >= len(self.turns):
                    self.let_go(None)
                    return False
                if wanted[0] == CALL and self.gone_elsewhere(wanted):
                    self.let_go(f"the program went elsewhere at {verb}")
                    return False
            self.pump()
            if time.monotonic() > limit:
                now = self.turns[self.at] if self.at < len(self.turns) else None
                self.let_go(f"turn {self.at} {now} did not end while {wanted} waited")
            with self.change:
                if not self.free and self.host_turn() and self.turns[self.at][:3] != wanted:
                    self.change.wait(0.001)
        return False

    def gone_elsewhere(self, wanted: tuple[str, int, int]) -> bool:
        """Whether the program took another path: the script has later calls, but not this one."""
        return wanted not in self.calls and wanted[2] < self.depths.get(wanted[1], -1)

    def host_turn(self) -> bool:
        """Whether the current turn is a host thread's."""
        return self.at < len(self.turns) and self.turns[self.at].kind != OP

    def advance(self) -> None:
        """The current turn is over."""
        with self.change:
            if not self.free:
                self.at += 1
                if self.at >= len(self.turns):
                    self.let_go(None)
            self.change.notify_all()

    # --- turns of operations ---

    def hold(self, key: Key) -> Hold | None:
        """Every operation is held that a gate can hold."""
        del key
        return None if self.free else Hold(GATE_LIMIT)

    def issued(self, key: Key, slot: Slot, run: int) -> None:
        """The operation has a row; if its turn has come already, its gate is opened."""
        with self.change:
            self.slots[key] = slot, run
            if self.free or key in self.opened:
                slot.open(run)
            self.change.notify_all()

    def pump(self) -> None:
        """Take the turns of operations until it is a host thread's turn."""
        while not self.free:
            with self.change:
                if self.at >= len(self.turns) or self.turns[self.at].kind != OP:
                    return
                turn, at = self.turns[self.at], self.at
                self.opened.add(turn.key)
                if turn.key in self.slots:
                    slot, run = self.slots[turn.key]
                    slot.open(run)
            if not self.finished(turn, at):
                return
            with self.change:
                if self.at == at:
                    self.at += 1
                    self.change.notify_all()

    def finished(self, turn: Turn, at: int) -> bool:
        """Wait until an operation is done; False when the direction has ended meanwhile."""
        limit = time.monotonic() + TURN_LIMIT
        while not self.free and self.at == at:
            known = self.slots.get(turn.key)
            if known is not None and known[0].done(known[1]):
                return True
            if time.monotonic() > limit:
                state = "not issued" if known is None else "not done"
                self.let_go(f"turn {at} {turn} took too long: {state}")
            time.sleep(0)
        return not self.free

    def help(self) -> None:
        """Take turns while a host thread waits in a call."""
        while not self.over:
            self.pump_wanted.wait()
            self.pump_wanted.clear()
            self.pump()

    # --- what the host decides ---

    def choice(self, thread: int, depth: int, count: int) -> int:
        """The script's option."""
        del count
        turn = self.calls.get((CALL, thread, depth))
        if self.wait_for((CALL, thread, depth), "choose"):
            self.advance()
            self.pump()
        return turn.result if turn is not None and turn.result is not None else 0

    def answer(self, thread: int, depth: int, asked: Any) -> bool:
        """The device's answer; a script's `true` is waited for."""
        turn = self.calls.get((CALL, thread, depth))
        wanted = turn.result if turn is not None else None
        limit = time.monotonic() + TURN_LIMIT
        found = asked()
        while wanted and not found and not self.free and time.monotonic() < limit:
            found = asked()
        if wanted is not None and found != wanted:
            self.let_go("a query was answered otherwise")
        return found
