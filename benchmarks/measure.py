# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""One measurement in this process: `measure.py decide '{"program": ...}'` prints JSON.

Started by `run.py`, once for each figure, so that nothing is warm and peak memory is its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def peak_mb() -> float:
    """The most memory that this process has held, in MB.

    Linux also has the figure of the running image alone: `ru_maxrss` begins at what the parent
    held when it forked.
    """
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1024)


def decide(
    program: str, engine: str, steps: int, parameters: dict[str, Any], repeats: int
) -> dict[str, Any]:
    """Check a program under CUDA's contract; the counts, and the seconds of each repeat."""
    from programs import program as named

    from streamorder import check
    from streamorder.model.check import Limits

    boundless = Limits(executions=10**12, states=10**12, seconds=1e9)
    target, seconds, cpu_seconds = named(program), [], []
    verdict = None
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        verdict = check(target, "cuda", engine=engine, steps=steps, limits=boundless, **parameters)
        seconds.append(time.perf_counter() - wall)
        cpu_seconds.append(time.process_time() - cpu)
    assert verdict is not None
    return {
        "outcome": verdict.outcome,
        "ops": verdict.ops,
        "executions": verdict.executions,
        "states": verdict.states,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_mb": peak_mb(),
    }


def command(arguments: list[str]) -> dict[str, Any]:
    """Run the command `streamorder` with these arguments, for its peak memory alone."""
    if arguments:
        from streamorder.cli import main

        # `--version` ends by raising SystemExit, as argparse does.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main(arguments)
    return {"peak_mb": peak_mb()}


if __name__ == "__main__":
    what, given = sys.argv[1], json.loads(sys.argv[2])
    result = decide(**given) if what == "decide" else command(given)
    sys.stdout.write(json.dumps(result) + "\n")
