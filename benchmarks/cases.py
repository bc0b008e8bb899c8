# ruff: noqa: INP001 - scripts, run from a checkout and never installed
"""What is measured: programs and sizes."""

from __future__ import annotations

from typing import Any, NamedTuple

STAGED = "fp8-prefill/staged"
COPIES, KERNELS = 5, 2
"""Operations of `staged`: copies a step, kernels a layer."""


class Case(NamedTuple):
    """A program of one size for one engine; `unit` is what its rate counts.

    Each of `processes` is a fresh one that decides it `repeats` times.
    """

    section: str
    program: str
    engine: str
    steps: int
    parameters: dict[str, Any]
    unit: str
    processes: int = 5
    repeats: int = 1

    @property
    def title(self) -> str:
        """The program with its parameters."""
        options = " ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.program} {options}"


def orders(quick: bool) -> list[Case]:
    """One host schedule, decided while the protocol runs: growth to a million operations."""
    sizes = (10**3, 10**4) if quick else (10**4, 10**5, 10**6)
    return [
        Case(
            "order, one host schedule", STAGED, "order",
            -(-size // (COPIES + KERNELS * layers)), {"layers": layers}, "ops",
        )
        for layers in (1, 4, 61)
        for size in sizes
    ]  # fmt: skip


def searches(quick: bool) -> list[Case]:
    """Host schedules, searched up to the order of independent calls."""
    sizes = [("own-streams", 2, 3), ("one-stream", 2, 3), ("one-stream", 2, 4)]
    sizes += [("one-lock", 2, 3), ("one-stream", 3, 2)]
    sizes += [] if quick else [("one-stream", 2, 6), ("one-stream", 3, 3)]
    return [
        Case(
            "order, host schedules", name, "order", 1,
            {"threads": threads, "calls": calls}, "executions", repeats=5,
        )
        for name, threads, calls in sizes
    ]  # fmt: skip


def states(quick: bool) -> list[Case]:
    """Explicit states with one host thread, two and three."""
    staged = [(16, 1), (64, 1), (16, 4)] if quick else [(64, 1), (256, 1), (1024, 1), (256, 4)]
    threaded = [("own-streams", 2, 8), ("one-stream", 2, 4), ("one-stream", 3, 2)]
    if not quick:
        threaded = [
            ("own-streams", 2, 8), ("own-streams", 2, 16), ("one-stream", 2, 4),
            ("one-stream", 2, 6), ("one-lock", 2, 4), ("own-streams", 3, 5), ("one-stream", 3, 3),
        ]  # fmt: skip
    return [
        Case("machine", STAGED, "machine", steps, {"layers": layers}, "states")
        for steps, layers in staged
    ] + [
        Case("machine", name, "machine", 1, {"threads": threads, "calls": calls}, "states")
        for name, threads, calls in threaded
    ]


COMMANDS: dict[str, list[str]] = {
    "(bare Python)": [],
    "--version": ["--version"],
    "list": ["list"],
    "check staged, 32 steps x 61 layers": [
        "check", STAGED, "--steps", "32", "--layers", "61",
    ],
    "check (the whole catalogue)": ["check"],
}  # fmt: skip
