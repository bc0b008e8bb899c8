"""At which sizes an asynchronous copy of pageable memory keeps the host waiting (R2.6, R2.7).

The litmus programs of these rules hold a stream until the host, after the copy's call, lets it go:
where the call waits for the stream, the program hangs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .litmus_run import run_program

if TYPE_CHECKING:
    from .runtime import Runtime

PROGRAMS = {"upload": "R2_6_may_wait", "download": "R2_7_download"}
"""The litmus program of each direction."""

SIZES = tuple(1 << shift for shift in range(12, 27))
"""4 KiB to 64 MiB."""

SECONDS = 20.0


def pageable_waits(
    runtime: Runtime, sizes: tuple[int, ...] = SIZES, trials: int = 5
) -> dict[str, Any]:
    """In how many runs of each direction and size (bytes) the host was held."""
    return {
        direction: [held(runtime, name, size, trials) for size in sizes]
        for direction, name in PROGRAMS.items()
    }


def held(runtime: Runtime, name: str, nbytes: int, trials: int) -> dict[str, Any]:
    """One direction and size."""
    data = run_program(runtime, name, nbytes, effort=(trials, 0, 0, SECONDS))
    seen = data.get("seen", {})
    return {"nbytes": nbytes, "trials": sum(seen.values()), "held": seen.get("hang", 0)}
