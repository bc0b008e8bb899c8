"""A runtime for several values of one thing: how many queues, how large a ring, a variable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .environment import SWITCHES, entries_of
from .errors import BadInput
from .profiles import profile_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .profiles import Profile
    from .runtime import Asked, OnRuntime

VARIABLES = {
    "hip": {"queues": "GPU_MAX_HW_QUEUES", "ring": "ROC_AQL_QUEUE_SIZE"},
    "cuda": {"queues": "CUDA_DEVICE_MAX_CONNECTIONS"},
}
"""The variables that set what can be swept by a plain name; others set the field itself."""

FIELDS = ("queues", "ring")
MOST_POINTS = 64


def points(profile: Profile, sweep: str | None) -> list[tuple[str, dict[str, str], dict[str, int]]]:
    """The values of a sweep as (value, environment, fields); raises `BadInput` for a bad one."""
    if sweep is None:
        return []
    match = re.fullmatch(r"(\w+)=(\d+)\.\.(\d+)", sweep)
    name = match[1] if match else ""
    known = (*FIELDS, *SWITCHES[profile.contract.name])
    if match is None or name not in known:
        raise BadInput(f"--sweep takes NAME=LOW..HIGH with NAME one of {', '.join(known)}")
    low, high = int(match[2]), int(match[3])
    if not 1 <= high - low + 1 <= MOST_POINTS or (name in FIELDS and low < 1):
        raise BadInput(f"--sweep {name}: from {low} to {high} is no range of 1 to {MOST_POINTS}")
    variable = VARIABLES[profile.contract.name].get(name, name)
    found = []
    for value in range(low, high + 1):
        by_field = variable in FIELDS
        env: dict[str, str] = {} if by_field else {variable: str(value)}
        entries_of(profile, env)
        found.append((str(value), env, {variable: value} if by_field else {}))
    return found


def swept(
    asked: Asked, runtime: str, env: Mapping[str, str], sweep: str
) -> tuple[tuple[str, OnRuntime], ...]:
    """What the runtime makes of a protocol for each value."""
    from .runtime import on_runtime

    return tuple(
        (value, on_runtime(asked, runtime, {**env, **more}, fields))
        for value, more, fields in points(profile_named(runtime), sweep)
    )
