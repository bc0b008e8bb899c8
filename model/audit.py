"""Sync audit: where the host waits for the device, how often a step, and whether it is declared."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from .again import from_the_start
from .contract import Contract, contract_named
from .protocol import Protocol, protocol
from .trace import described

if TYPE_CHECKING:
    from collections.abc import Callable

    from .host import Host, Node
    from .schedule import Schedule
    from .where import Where

SCHEDULES, SECONDS = 1_000, 30.0
"""How many host schedules of a protocol with choices or threads are listened to, and how long."""


class Wait(NamedTuple):
    """A source line at which the host waits for the device.

    `per_step` is the largest number of waits there in one step (outside the loop: in all),
    `declared` the reason given to `sync_allowed`, None where there is none.
    """

    where: Where | None
    call: str
    per_step: int
    in_steps: bool
    declared: str | None

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "file": self.where.file if self.where else None,
            "line": self.where.line if self.where else None,
            "call": self.call,
            "per_step": self.per_step,
            "in_steps": self.in_steps,
            "declared": self.declared,
        }


class Audit(NamedTuple):
    """The host waits of one protocol under one contract; `reason` says why there may be more than
    these, None where every host schedule was listened to.
    """

    name: str
    contract: str
    steps: int
    waits: tuple[Wait, ...]
    reason: str | None = None

    @property
    def exit_code(self) -> int:
        """1 where a wait is undeclared, 3 where none was found and not all was listened to."""
        return 1 if self.undeclared else 3 if self.reason else 0

    @property
    def undeclared(self) -> tuple[Wait, ...]:
        """The waits that nothing declares."""
        return tuple(wait for wait in self.waits if wait.declared is None)

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "name": self.name,
            "contract": self.contract,
            "steps": self.steps,
            "undeclared": len(self.undeclared),
            "reason": self.reason,
            "waits": [wait.as_data() for wait in self.waits],
        }


def audit(
    target: Protocol | Callable[..., None],
    contract: str | Contract = "cuda",
    *,
    steps: int = 4,
    **parameters: Any,
) -> Audit:
    """List the host's waits for the device by source line.

    Only a wait that has something to wait for counts: synchronising an event that was never
    recorded, or an idle stream, does not. Raises `BadInput` as `check` does.
    """
    from .host import Host

    target = target if isinstance(target, Protocol) else protocol()(target)
    promised = contract_named(contract) if isinstance(contract, str) else contract
    host = Host(target.bind(parameters), steps)
    reading = promised.readings()[0]
    tally = from_the_start(lambda: listen(host, reading))
    host.verify()
    return Audit(target.name, promised.name, steps, tuple(tally.waits()), tally.cut)


def listen(host: Host, contract: Contract) -> Tally:
    """Tally the host's waits in every schedule, up to a number of them."""
    from .search import Search
    from .tree import schedule_of

    tally = Tally()

    def listening() -> Schedule:
        tally.close()
        schedule = schedule_of(host, contract, ())
        schedule.on_wait = tally.add
        return schedule

    search = Search(listening, time.monotonic() + SECONDS)
    number = 0
    for number, _schedule in enumerate(search, 1):
        if number > SCHEDULES:
            search.spent = True
            break
    tally.close()
    if search.spent:
        tally.cut = f"the search ended early: {number:,} host schedules listened to, more to come"
    return tally


def by_line(item: tuple[tuple[Any, ...], Any]) -> tuple[Any, ...]:
    """The order of source lines: by file, line and reason."""
    where, allowed = item[0]
    return ("", 0, "") if where is None else (where.filename, where.line, allowed or "")


class Tally:
    """Waits of one schedule after another; of each line, the most in one step. `cut` says why there
    may be more.
    """

    def __init__(self) -> None:
        self.now: dict[tuple[Any, ...], int] = {}
        self.most: dict[tuple[Any, ...], int] = {}
        self.calls: dict[tuple[Any, ...], str] = {}
        self.cut: str | None = None

    def add(self, node: Node) -> None:
        """Count a wait of the current schedule."""
        assert node.call is not None
        key = (node.where, node.allowed, node.step)
        self.now[key] = self.now.get(key, 0) + 1
        self.calls.setdefault(key[:2], described(node.call))

    def close(self) -> None:
        """The current schedule is over."""
        for key, count in self.now.items():
            self.most[key] = max(count, self.most.get(key, 0))
        self.now = {}

    def waits(self) -> list[Wait]:
        """One wait a source line and reason, calls that differ only by object together."""
        lines: dict[tuple[Any, ...], dict[Any, int]] = {}
        for (where, allowed, step), count in self.most.items():
            lines.setdefault((where, allowed), {})[step] = count
        return [
            Wait(
                where,
                self.calls[where, allowed],
                max(steps.values()),
                any(step is not None for step in steps),
                allowed,
            )
            for (where, allowed), steps in sorted(lines.items(), key=by_line)
        ]
