"""Device files: what calls, copies and kernels cost on a device under one runtime, as TOML.

Every key carries its unit (`_us`, `_gb_per_s`, `_kib`); a duration is a number or a distribution
(see `durations`). `evidence` says of each section whether its figures are documented, measured
(where and when) or assumed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.errors import BadInput
from ..model.profiles import profile_named
from .durations import Duration, duration, number

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from ..model.contract import Contract

HERE = Path(__file__).parent / "devices"

DURATIONS = {
    "host": ("call_us", "launch_us", "copy_us", "record_us", "wake_us"),
    "copy": ("start_us", "blit_us"),
    "kernel": ("start_us", "default_us"),
}
"""The durations of each section of a device file."""

NUMBERS = {
    "device": ("compute_units", "hardware_queues"),
    "host": ("write_gb_per_s",),
    "copy": ("pinned_gb_per_s", "pageable_gb_per_s", "blit_up_to_kib", "region_kib", "engines"),
    "masking": ("null_copies_after_all_share",),
}
"""The plain numbers of each section."""


class Device(NamedTuple):
    """A device under one runtime: a profile of it, its costs, and what they rest on.

    - `runtime` names a profile (`model.profiles`), whose contract says what calls do;
    - `durations["host"]["launch_us"]` is a `Duration`, `numbers["copy"]["pinned_gb_per_s"]` a
      number in the unit of its key; `kernels` are durations of kernels by name;
    - `evidence` says for each section what its figures rest on.

    Host: `call` any call not named, `launch` a kernel launch, `copy` issuing a copy, `record` an
    event record, `wake` returning from a wait. Copy: `start` latency of a copy engine, `blit` of a
    copy by kernel. Kernel: `start` from issue to start on an idle device. Masking:
    `null_copies_after_all` the share of the steps in which the NULL stream's copies start only
    after all work issued so far.
    """

    name: str
    title: str
    runtime: str
    durations: dict[str, dict[str, Duration]]
    numbers: dict[str, dict[str, float]]
    kernels: dict[str, Duration]
    evidence: dict[str, str]

    @property
    def contract(self) -> Contract:
        """What the runtime promises."""
        return profile_named(self.runtime).contract


def device_names() -> list[str]:
    """The devices that come with the package."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def load_device(name: str) -> Device:
    """A device by name, or from a file if the name ends with `.toml`.

    Raises:
        BadInput: there is none, or the file is wrong; names the key and how to mend it.
    """
    path = Path(name) if name.endswith(".toml") else HERE / f"{name}.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        known = ", ".join(device_names())
        raise BadInput(
            f"no device {name!r}: it is one of {known}, or a file that ends with .toml"
        ) from None
    try:
        return device_from(tomllib.loads(text), path.stem)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}") from None
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def device_from(data: dict[str, Any], name: str) -> Device:
    """A device from the tables of its file."""
    check_keys(data)
    durations = {
        section: {key: duration(data[section][key], 1e-6, f"{section}.{key}") for key in keys}
        for section, keys in DURATIONS.items()
    }
    numbers = {
        section: {key: number(data[section][key], f"{section}.{key}") for key in keys}
        for section, keys in NUMBERS.items()
    }
    for rate in ("host.write_gb_per_s", "copy.pinned_gb_per_s", "copy.pageable_gb_per_s"):
        section, key = rate.split(".")
        if not numbers[section][key]:
            raise BadInput(f"{rate} must be more than 0")
    kernels = {
        kernel.removesuffix("_us"): duration(value, 1e-6, f"kernel.us.{kernel}")
        for kernel, value in data["kernel"].get("named", {}).items()
    }
    runtime = profile_named(data["device"]["runtime"]).name
    title = str(data["device"]["title"])
    return Device(name, title, runtime, durations, numbers, kernels, dict(data["evidence"]))


def check_keys(data: dict[str, Any]) -> None:
    """Refuse a file with a section or key too few or too many."""
    known = {section: {*DURATIONS.get(section, ()), *NUMBERS.get(section, ())}
             for section in {*DURATIONS, *NUMBERS}}  # fmt: skip
    known["device"] |= {"title", "runtime"}
    for section, keys in known.items():
        given = data.get(section)
        if not isinstance(given, dict):
            raise BadInput(f"section [{section}] is missing")
        for key in sorted(keys - set(given)):
            raise BadInput(f"[{section}] lacks {key}")
        for key in sorted(set(given) - keys - ({"named"} if section == "kernel" else set())):
            raise BadInput(f"[{section}] has no key {key}; it has {', '.join(sorted(keys))}")
    evidence = data.get("evidence")
    for section in known:
        if not isinstance(evidence, dict) or not str(evidence.get(section, "")).strip():
            raise BadInput(f"[evidence] must say what the figures of [{section}] rest on")
    for section in sorted(set(data) - set(known) - {"evidence"}):
        raise BadInput(f"no section [{section}] is known; they are {', '.join(sorted(known))}")
