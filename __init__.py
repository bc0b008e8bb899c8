"""Streamorder: a formal model and simulator of GPU stream ordering.

What a user imports, and nothing else:

- `protocol`: declare a function `f(gpu, ...)` a protocol; `Gpu` is what it is written against;
- `check`: decide a protocol under a contract, for every interleaving; a `Verdict`;
- `exhaustive`: make a protocol a pytest test, for every combination of parameters;
- `promela`, `tla`: a protocol as a model for SPIN or TLC;
- `audit`: where the host waits for the device; an `Audit`;
- `repair`: minimal additions after which a refuted protocol holds; `Repairs`;
- `catalogue`: the protocol library by name;
- `Contract`, `CUDA`, `CUDA_HMM`, `HIP`: what a runtime promises;
- `StreamorderError` and its kinds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .model.engines import add_engine

if TYPE_CHECKING:
    from .model.audit import Audit, Wait, audit
    from .model.catalogue import catalogue
    from .model.check import Limits, check
    from .model.contract import CUDA, CUDA_HMM, HIP, Contract
    from .model.errors import (
        BadInput,
        BadProtocol,
        BudgetSpent,
        CannotRunHere,
        NotModelled,
        StreamorderError,
    )
    from .model.export.export import promela, tla
    from .model.gpu import Gpu
    from .model.protocol import Protocol, protocol
    from .model.repair import Offer, Repairs, repair
    from .model.verdict import MissingEdge, Outcome, Site, Verdict
    from .report.sweep import exhaustive

__version__ = "0.1.0"

__all__ = [
    "CUDA",
    "CUDA_HMM",
    "HIP",
    "Audit",
    "BadInput",
    "BadProtocol",
    "BudgetSpent",
    "CannotRunHere",
    "Contract",
    "Gpu",
    "Limits",
    "MissingEdge",
    "NotModelled",
    "Offer",
    "Outcome",
    "Protocol",
    "Repairs",
    "Site",
    "StreamorderError",
    "Verdict",
    "Wait",
    "__version__",
    "audit",
    "catalogue",
    "check",
    "exhaustive",
    "promela",
    "protocol",
    "repair",
    "tla",
]

_HOMES = {
    "model.audit": ("Audit", "Wait", "audit"),
    "model.catalogue": ("catalogue",),
    "model.check": ("Limits", "check"),
    "model.contract": ("CUDA", "CUDA_HMM", "HIP", "Contract"),
    "model.errors": (
        "BadInput", "BadProtocol", "BudgetSpent", "CannotRunHere", "NotModelled",
        "StreamorderError",
    ),
    "model.export.export": ("promela", "tla"),
    "model.gpu": ("Gpu",),
    "model.protocol": ("Protocol", "protocol"),
    "model.repair": ("Offer", "Repairs", "repair"),
    "model.verdict": ("MissingEdge", "Outcome", "Site", "Verdict"),
    "report.sweep": ("exhaustive",),
}  # fmt: skip
"""The modules that the public names come from, each imported when a name is asked for:
the command must start fast.
"""

add_engine(
    "sim",
    "SimPy processes in every order; the code that also runs with costs",
    lambda: import_module(".sim.decide", __name__).decide_sim,
)


def __getattr__(name: str) -> Any:
    """A public name, from then on an ordinary attribute."""
    for module, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f".{module}", __name__), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, whether or not they were asked for."""
    return sorted({*globals(), *__all__})
