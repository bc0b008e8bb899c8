"""One missing edge of a protocol, forced on the GPU found here: what a script of `explain --torch`
runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..model.catalogue import find
from ..model.contract import CONTRACTS
from ..model.errors import BadInput, NotModelled, StreamorderError
from ..model.load import load
from ..model.protocol import Protocol
from .experiment import Experiment, run_all
from .mutants import Trials, force, why_not
from .pace import Free
from .runtime import Unsupported
from .script import Script, scripts
from .torch_runtime import require_gpu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.verdict import Site
    from .runtime import Runtime


class Case(NamedTuple):
    """What to force: a protocol by its name in the catalogue or as `FILE.py:function`, its
    parameters, a number of steps, and the two calls that lack an order, as `FILE.py:LINE CALL`.
    """

    protocol: str
    parameters: dict[str, Any]
    steps: int
    first: str
    second: str


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one clear line."""

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments."""
        raise BadInput(message)


def main(case: Case, folder: Path, words: Sequence[str]) -> int:
    """Force it, say what came of it, and return the exit code: 0 the wrong version was read as
    predicted, 1 it was not, 2 a wrong argument, 3 nothing could be forced, 4 no GPU.
    """
    try:
        options = arguments(words)
        entry = protocol_of(case, folder)
        require_gpu()
        code, lines = told(forced_apart(case, folder, options), entry)
    except StreamorderError as error:
        code, lines = error.exit_code, [f"streamorder: {error}"]
    sys.stdout.write("\n".join([*lines, ""]))
    return code


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """How often, how large, how long."""
    parser = Parser(description="Force a counterexample on the GPU found here.")
    parser.add_argument("--replays", default="300", help="how often (default: 300)")
    parser.add_argument("--bytes", default="16384", help="of each region (default: 16384)")
    parser.add_argument("--seconds", default="60", help="at most (default: 60)")
    options = parser.parse_args(words)
    for name in ("replays", "bytes", "seconds"):
        given = getattr(options, name)
        if not given.isdecimal() or int(given) < 1:
            raise BadInput(f"--{name} must be a positive whole number, not {given!r}")
        setattr(options, name, int(given))
    if options.bytes % 4:
        raise BadInput(f"--bytes must be a multiple of 4, not {options.bytes}")
    return options


def protocol_of(case: Case, folder: Path) -> Protocol:
    """The protocol, with the case's parameters as its defaults."""
    filename, _colon, function = case.protocol.rpartition(":")
    (found,) = load(f"{folder / filename}:{function}") if filename else find([case.protocol])
    found.bind(case.parameters)
    return Protocol(found.body, found.name, {**found.parameters, **case.parameters}, {})


def forced_apart(case: Case, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Force it in a process of its own, so that a GPU fault is a result."""
    given = {
        "case": tuple(case),
        "folder": str(folder),
        "replays": options.replays,
        "nbytes": options.bytes,
        "seconds": options.seconds,
    }
    target = f"{__name__}:forced"
    experiment = Experiment(case.protocol, target, given, limit=options.seconds + 60.0)
    (done,) = run_all([experiment])
    return done.data if done.ok else {"fault": done.fault}


def forced(
    runtime: Runtime,
    case: tuple[Any, ...],
    folder: str,
    replays: int,
    nbytes: int,
    seconds: float,
) -> dict[str, Any]:
    """Replay the missing edge on a device; plain data."""
    wanted = Case(*case)
    entry = protocol_of(wanted, Path(folder))
    contract = CONTRACTS["hip" if runtime.info.backend == "hip" else "cuda"]
    data: dict[str, Any] = {"device": str(runtime.info), "contract": contract.name}
    try:
        script = script_of(scripts(entry, contract, wanted.steps), wanted)
        if script is None:
            return {**data, "not_forced": f"under {contract.name} the protocol has no such edge"}
        if (reason := why_not(script)) is not None:
            return {**data, "not_forced": REASONS.get(reason, reason)}
        trials = Trials(runtime, entry, wanted.steps, nbytes)
        trials.run(Free())  # kernels are loaded before anything is timed or held
        return {**data, **force(trials, script, replays, time.monotonic() + seconds)}
    except (Unsupported, NotModelled) as error:
        return {**data, "not_forced": str(error)}


REASONS = {
    "late upload": "the late access is a copy that the host itself waits for: no gate can hold it",
    "no read tells": "no read tells the two orders apart",
}
"""Why gates cannot force an edge, in words."""


def script_of(found: Sequence[Script], case: Case) -> Script | None:
    """The script whose two accesses are those of the case, in either order."""
    wanted = {case.first, case.second}
    named = ((script, {called(script.first), called(script.second)}) for script in found)
    return next((script for script, ends in named if ends == wanted), None)


def called(site: Site | None) -> str:
    """A call by its line and words, wherever the file lies."""
    if site is None or site.where is None:
        return site.call if site else "nothing"
    return f"{Path(site.where.filename).name}:{site.where.line} {site.call}"


def told(data: dict[str, Any], entry: Protocol) -> tuple[int, list[str]]:
    """What came of it: the exit code, and what to say."""
    device = [data["device"]] if "device" in data else []
    if "fault" in data:
        return 1, [*device, f"{entry.name}: the process ended with a fault: {data['fault']}"]
    if "not_forced" in data:
        return 3, [*device, f"{entry.name}: not forced: {data['not_forced']}"]
    seen = f"{data['as_predicted']} of {data['replays']} replays read it"
    return 0 if data["as_predicted"] else 1, [
        *device,
        *(f"predicted: {line}" for line in data["predicted"]),
        f"{entry.name}: {seen}, {data['shown']} a wrong version",
        *(f"  {count} came to nothing: {why}" for why, count in data["stalled"].items()),
    ]
