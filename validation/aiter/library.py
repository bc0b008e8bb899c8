"""Find AITER on this machine, or say in one line why its attention cannot run here.

AITER is installed from its own repository. PyPI's `aiter` is an unrelated package of the same name,
and PyPI's `amd-aiter` is older than the prefill planner. Importing the real one where ROCm is
missing raises, and may even leave the process (`SystemExit`), so ROCm is looked for first.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from ...model.errors import CannotRunHere, in_one_line
from .calling import Function, function_of

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFILL: Mapping[str, str] = {
    "get_ps_metadata_info_v1": "aiter",
    "get_ps_metadata_v1": "aiter",
    "mla_prefill_ps_asm_fwd": "aiter",
    "mla_reduce_v1": "aiter",
}
"""The functions of persistent FP8 prefill, and the module each is in."""

DECODE: Mapping[str, str] = {
    "get_mla_metadata_info_v1": "aiter",
    "get_mla_metadata_v1": "aiter",
    "mla_decode_fwd": "aiter.mla",
}
"""The functions of persistent decode."""

ARCHITECTURES = {"get_ps_metadata_v1": ("gfx950",), "get_mla_metadata_v1": ("gfx942", "gfx950")}
"""Where the kernels that a planner plans for exist; gfx942 has the prefill planner alone."""

SOURCE = "install it from https://github.com/ROCm/aiter"


@dataclass(frozen=True, slots=True)
class Aiter:
    """AITER as it is installed here: its functions, the device's architecture and its units.

    `version` is that of the distribution `amd-aiter`, or "unknown".
    """

    functions: Mapping[str, Function]
    architecture: str
    units: int
    version: str

    def __getitem__(self, name: str) -> Function:
        return self.functions[name]


def find_aiter(needed: Mapping[str, str] = PREFILL) -> Aiter:
    """Import AITER, after checking for what it needs; `needed` is PREFILL or DECODE.

    Raises:
        CannotRunHere: With one line, when there is no torch for ROCm, no AMD GPU, another
            architecture, no AITER, the unrelated package, or one without these functions.
    """
    architecture, units = _device()
    version = _version()
    _check_architecture(needed, architecture)
    module = _imported("aiter")
    if not hasattr(module, "jit"):
        raise CannotRunHere(
            f"the package aiter that is installed here is not AMD's AITER but PyPI's aiter, "
            f"an unrelated one: uninstall it, and {SOURCE}"
        )
    functions: dict[str, Function] = {}
    for name, home in needed.items():
        place = module if home == "aiter" else _imported(home)
        if not hasattr(place, name):
            raise CannotRunHere(
                f"this AITER (version {version}) has no {name}: {SOURCE} "
                "(PyPI's amd-aiter 0.1.7 is older than the prefill planner)"
            )
        functions[name] = function_of(place, name)
    return Aiter(functions, architecture, units, version)


def _device() -> tuple[str, int]:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise CannotRunHere("AITER needs torch for ROCm, and there is no torch here") from error
    if getattr(torch.version, "hip", None) is None:
        raise CannotRunHere(
            f"no ROCm: torch {torch.__version__} is built without it, and AITER runs on AMD GPUs"
        )
    if not torch.cuda.is_available():
        raise CannotRunHere("no AMD GPU: torch is built for ROCm, but finds no device")
    device: Any = torch.cuda.get_device_properties(torch.cuda.current_device())
    return device.gcnArchName.partition(":")[0], device.multi_processor_count


def _check_architecture(needed: Mapping[str, str], architecture: str) -> None:
    for planner, known in ARCHITECTURES.items():
        if planner in needed and architecture not in known:
            kind = "FP8 prefill" if planner in PREFILL else "decode"
            raise CannotRunHere(
                f"AITER has persistent {kind} kernels for {' and '.join(known)}, not for "
                f"{architecture}, which is the GPU here"
            )


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name == "aiter":
            raise CannotRunHere(f"AITER is not installed: {SOURCE}") from error
        raise CannotRunHere(f"importing {name} failed: {in_one_line(error)}") from error
    # Where it cannot build what it needs, the import ends the process.
    except (Exception, SystemExit) as error:
        raise CannotRunHere(f"importing {name} failed: {in_one_line(error)}") from error


def _version() -> str:
    try:
        return metadata.version("amd-aiter")
    except metadata.PackageNotFoundError:
        return "unknown"
