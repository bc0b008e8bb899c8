"""Seed one fault at a time into the model and see whether the tests notice.

python tests/mutation/mutate.py [--sample N] [--seed S] [--files GLOB ...] [--jobs N] [--list]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from mutants import Mutant, mutants
from suite import ROOT, Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILES = tuple(
    f"model/{name}.py"
    for name in (
        "streams", "copies", "signals", "graphs", "allocation", "frontend", "contract", "clocks",
        "values", "schedule", "search", "host_order", "direct", "order", "tree", "sync", "host",
        "effects", "machine", "explore", "again", "edges", "recorder", "masked", "queue_maps",
        "runtime", "profiles", "environment", "waits_for",
    )
)  # fmt: skip
EQUIVALENT = Path(__file__).with_name("equivalent.json")
PATIENCE = 4
"""A run that takes this many times as long as without a fault counts as a hang."""


def main() -> int:
    """Run the campaign; 1 when a mutant survives."""
    options = arguments()
    chosen = selected(options.files, options.sample, options.seed)
    if options.list:
        for mutant in chosen:
            say(str(mutant))
        say(f"{len(chosen)} mutants")
        return 0
    done = earlier(options.out) if options.resume else []
    known = {(one["file"], one["before"], one["after"]) for one in done}
    left = [mutant for mutant in chosen if mutant.key not in known]
    with (
        tempfile.TemporaryDirectory() as home,
        options.out.open("a" if options.resume else "w", encoding="utf-8") as log,
    ):
        for result in campaign(left, Path(home), options.jobs):
            done.append(result)
            log.write(json.dumps(result) + "\n")
            log.flush()
            say(line_of(result))
    say(table(done))
    survivors = [one for one in done if not one["killed"]]
    for one in survivors:
        say(line_of(one))
    return int(bool(survivors))


def arguments() -> Any:
    """The command line."""
    parser = argparse.ArgumentParser(description="Seed faults; see whether the tests notice.")
    parser.add_argument("--files", nargs="*", default=["*"], metavar="GLOB", help="clocks, e*")
    parser.add_argument("--sample", type=int, metavar="N", help="that many, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--out", type=Path, default=Path("mutation.jsonl"), help="the results")
    parser.add_argument("--resume", action="store_true", help="go on with the results in --out")
    return parser.parse_args()


def say(line: str) -> None:
    """One line of output, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# --- which ---


def selected(globs: list[str], sample: int | None, seed: int) -> list[Mutant]:
    """The mutants of the files asked for, without those that are listed as equivalent."""
    equivalent = listed_equivalent()
    found: dict[tuple[str, str, str], Mutant] = {}
    for file in FILES:
        if any(fnmatchcase(Path(file).stem, glob) for glob in globs):
            for mutant in mutants(file, (ROOT / file).read_text(encoding="utf-8")):
                found.setdefault(mutant.key, mutant)
    for key in equivalent - found.keys():
        if any(fnmatchcase(Path(key[0]).stem, glob) for glob in globs):
            say(f"{EQUIVALENT.name} names no mutant any more: {key[0]}: {key[1]} -> {key[2]}")
    left = [mutant for key, mutant in found.items() if key not in equivalent]
    if sample is None or sample >= len(left):
        return left
    return sorted(random.Random(seed).sample(left, sample), key=left.index)  # noqa: S311


def listed_equivalent() -> set[tuple[str, str, str]]:
    """The mutants that change nothing a test could see; each with its reason."""
    entries = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    if any(not one["reason"].strip() for one in entries):
        raise SystemExit(f"{EQUIVALENT.name}: every entry needs a reason")
    return {(one["file"], one["before"], one["after"]) for one in entries}


def earlier(out: Path) -> list[dict[str, Any]]:
    """The results of a run that was broken off."""
    if not out.exists():
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


# --- running ---


class Baseline:
    """How the tests go without a fault: what is left out, and how long each run may take."""

    def __init__(self, tree: Tree, files: Iterable[str]) -> None:
        self.left_out: set[str] = set()
        self.limits: dict[tuple[str, ...], float] = {}
        for file in files:
            for stage in tree.stages(file):
                if tuple(stage) not in self.limits:
                    ran = tree.run(stage, (), None)
                    self.left_out.update(ran.failed)
                    self.limits[tuple(stage)] = 10 + PATIENCE * ran.seconds
                    say(f"without a fault: {ran.seconds:.1f} s for {' '.join(stage)}")
        for test in sorted(self.left_out):
            say(f"left out, as it fails without a fault: {test}")


def campaign(chosen: list[Mutant], home: Path, jobs: int) -> Iterator[dict[str, Any]]:
    """The result of each mutant, in the order chosen."""
    trees: SimpleQueue[Tree] = SimpleQueue()
    first = Tree(home / "0")
    # Copies of one copy: somebody may be working on the tree.
    for tree in (first, *(Tree(home / str(job), first.root) for job in range(1, jobs))):
        trees.put(tree)
    baseline = Baseline(first, dict.fromkeys(mutant.file for mutant in chosen))

    def judge(mutant: Mutant) -> dict[str, Any]:
        own = trees.get()
        try:
            return judged(mutant, own, baseline)
        finally:
            trees.put(own)

    killers: Counter[str] = Counter()
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(judge, chosen):
            killers[result["killer"]] += result["killed"]
            yield result
    again = [test for test in killers if "::" in test] or first.stages("")[0]
    for test in first.run(again, (), None).failed:
        say(f"not to be relied on, fails without a fault too: {test} (killed {killers[test]})")


def judged(mutant: Mutant, tree: Tree, baseline: Baseline) -> dict[str, Any]:
    """Whether some test fails with the fault in place."""
    sound = tree.read(mutant.file)
    tree.write(mutant.file, mutant.source)
    try:
        killer, seconds = "", 0.0
        for stage in tree.stages(mutant.file):
            ran = tree.run(stage, tuple(baseline.left_out), baseline.limits[tuple(stage)])
            seconds += ran.seconds
            if ran.failed:
                killer = ran.failed[0]
                break
    finally:
        tree.write(mutant.file, sound)
    result: dict[str, Any] = {**mutant._asdict(), "killed": bool(killer)}
    result.update(killer=killer, seconds=round(seconds, 2))
    del result["source"]
    return result


# --- what came out ---


def line_of(result: dict[str, Any]) -> str:
    """One mutant's result."""
    change = f"{result['file']}:{result['line']}  - {result['before']}  + {result['after']}"
    if result["killed"]:
        return f"killed    {change}  ({result['killer']}, {result['seconds']:.1f} s)"
    return f"SURVIVED  {change}"


def table(results: list[dict[str, Any]]) -> str:
    """Killed of all, file by file."""
    every = Counter(one["file"] for one in results)
    killed = Counter(one["file"] for one in results if one["killed"])
    lines = [f"{file:22} {killed[file]:5} of {every[file]:5}" for file in every]
    share = 100 * killed.total() / max(1, every.total())
    return "\n".join([*lines, f"killed {killed.total()} of {every.total()}: {share:.1f} %"])


if __name__ == "__main__":
    sys.exit(main())
