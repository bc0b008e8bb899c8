"""Environment variables that change what a runtime adds (R4.6), as entries of its profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .errors import BadInput
from .masking import CLASSES, COPIES, FILLS, KERNELS, VALUES
from .profiles import MI355X, Entry, documented, observed, source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .profiles import Profile


class Switch(NamedTuple):
    """A variable: the values it takes, in words and as a test, and the entry that a value makes."""

    takes: str
    fits: Callable[[str], bool]
    entry: Callable[[str], Entry]


def one_of(*values: str) -> Callable[[str], bool]:
    """A test for some words."""
    return lambda value: value in values


def number(low: int, high: int) -> Callable[[str], bool]:
    """A test for whole numbers."""
    return lambda value: value.isdecimal() and low <= int(value) <= high


DISPATCH = "ROCclr command.cpp, commandqueue.cpp"


def hardware_queues(value: str) -> Entry:
    """R4.2."""
    says = f"{value} queue{'s' * (value != '1')} a priority"
    by_source = source("ROCclr flags.hpp, rocdevice.cpp", says, queues=int(value))
    if value != "1":
        return Entry("queues", by_source)
    seen = observed(
        f"{MI355X}, ROCm 10: the stale plan does not show",
        f"{says}, and copies keep its order too, however large",
        queues=1,
        copy_limit=None,
    )
    copies = f"{says}; copies above the limit go to an SDMA engine, outside it"
    return Entry("queues", seen, by_source._replace(says=copies))


def serialize_copy(value: str) -> Entry:
    """R4.6: bit 1 is live, bit 0 by observation only."""
    about = "copies serialised"
    after_issue = (COPIES, FILLS, VALUES) if int(value) & 2 else ()
    said = "the host awaits each copy, fill and value operation" if after_issue else "no effect"
    if not int(value) & 1:
        return Entry(about, source(DISPATCH, said, awaits=after_issue))
    seen = observed(
        f"{MI355X}, ROCm 10: the stale plan does not show",
        "a copy starts after all work issued so far" + (f"; {said}" if after_issue else ""),
        copies_after_all=True,
        awaits=after_issue,
    )
    no_bit = f"bit 0 has no effect under direct dispatch; {said}"
    said = no_bit if after_issue else "no effect under direct dispatch"
    return Entry(about, seen, source(DISPATCH, said, awaits=after_issue))


def serialize_kernel(value: str) -> Entry:
    """R4.6: bit 1 is live, bit 0 is not."""
    live = bool(int(value) & 2)
    says = "the host awaits each kernel" if live else "no effect under direct dispatch"
    return Entry("kernels serialised", source(DISPATCH, says, awaits=(KERNELS,) if live else ()))


def launch_blocking(value: str) -> Entry:
    """R4.6, HIP."""
    return Entry(
        "launch blocking",
        source(
            "ROCclr command.cpp",
            "the host awaits each kernel, no copy" if value == "1" else "off",
            awaits=(KERNELS,) if value == "1" else (),
        ),
    )


def wait_command(value: str) -> Entry:
    """R4.6."""
    return Entry(
        "wait after every command",
        source("ROCclr device.cpp", "on" if value == "1" else "off",
               awaits=CLASSES if value == "1" else ()),
    )  # fmt: skip


def sdma(value: str) -> Entry:
    """R4.6."""
    where = "ROCr documentation, HSA_ENABLE_SDMA"
    if value == "1":
        return Entry("copies", documented(where, "copy engines are used, as ever"))
    return Entry(
        "copies", documented(where, "every copy by a kernel on its queue", copy_limit=None)
    )


def blit_size(value: str) -> Entry:
    """R2.12."""
    return Entry(
        "copies",
        source(
            "ROCclr rocblit.cpp, GPU_FORCE_BLIT_COPY_SIZE",
            f"up to {value} KiB by a kernel on the queue",
            copy_limit=int(value) * 1024,
        ),
    )


def dynamic_queues(value: str) -> Entry:
    """R4.2."""
    says = "a stream keeps its queue" if value == "0" else "a stream gets a queue at submission"
    where = "ROCclr rocvirtual.cpp, DEBUG_HIP_DYNAMIC_QUEUES"
    return Entry("queues", source(where, says, dynamic=value != "0"))


def ring(value: str) -> Entry:
    """R4.5."""
    return Entry(
        "launch queue",
        source("ROCclr rocvirtual.cpp, ROC_AQL_QUEUE_SIZE",
               f"a queue holds {value} packets", ring=int(value)),
    )  # fmt: skip


def cuda_launch_blocking(value: str) -> Entry:
    """R4.6, CUDA."""
    return Entry(
        "launch blocking",
        documented(
            "CUDA C++ Programming Guide, CUDA_LAUNCH_BLOCKING",
            "kernel launches are synchronous" if value == "1" else "off",
            awaits=(KERNELS,) if value == "1" else (),
        ),
    )


def connections(value: str) -> Entry:
    """R4.1."""
    return Entry(
        "queues",
        documented("MPS guide, CUDA_DEVICE_MAX_CONNECTIONS",
                   f"{value} connection{'s' * (value != '1')}", queues=int(value)),
    )  # fmt: skip


def module_loading(value: str) -> Entry:
    """Lazy loading."""
    where = "CUDA C++ Programming Guide, CUDA_MODULE_LOADING"
    if value == "EAGER":
        says = "kernels are loaded at the start"
        return Entry("first use", documented(where, says, first_use_drains=False))
    return Entry("first use", documented(where, "kernels are loaded at their first launch"))


SWITCHES: dict[str, dict[str, Switch]] = {
    "hip": {
        "GPU_MAX_HW_QUEUES": Switch("1 to 64", number(1, 64), hardware_queues),
        "DEBUG_HIP_DYNAMIC_QUEUES": Switch("0, 1 or 2", number(0, 2), dynamic_queues),
        "AMD_SERIALIZE_COPY": Switch("0 to 3", number(0, 3), serialize_copy),
        "AMD_SERIALIZE_KERNEL": Switch("0 to 3", number(0, 3), serialize_kernel),
        "HIP_LAUNCH_BLOCKING": Switch("0 or 1", one_of("0", "1"), launch_blocking),
        "AMD_OCL_WAIT_COMMAND": Switch("0 or 1", one_of("0", "1"), wait_command),
        "HSA_ENABLE_SDMA": Switch("0 or 1", one_of("0", "1"), sdma),
        "GPU_FORCE_BLIT_COPY_SIZE": Switch("a size in KiB", number(0, 1 << 30), blit_size),
        "ROC_AQL_QUEUE_SIZE": Switch("a number of packets", number(1, 1 << 20), ring),
    },
    "cuda": {
        "CUDA_LAUNCH_BLOCKING": Switch("0 or 1", one_of("0", "1"), cuda_launch_blocking),
        "CUDA_DEVICE_MAX_CONNECTIONS": Switch("1 to 32", number(1, 32), connections),
        "CUDA_MODULE_LOADING": Switch("LAZY or EAGER", one_of("LAZY", "EAGER"), module_loading),
    },
}
"""The variables that each contract's runtimes know."""

NOT_MODELLED = frozenset(
    {"AMD_DIRECT_DISPATCH", "ROC_CPU_WAIT_FOR_SIGNAL", "GPU_STREAMOPS_CP_WAIT",
     "HIP_MAX_SIGNAL_WAIT", "DEBUG_HIP_FORCE_GRAPH_QUEUES", "DEBUG_HIP_FORCE_ASYNC_QUEUE",
     "DEBUG_HIP_IGNORE_STREAM_PRIORITY", "GPU_PINNED_MIN_XFER_SIZE", "HSA_ENABLE_PEER_SDMA"}
)  # fmt: skip
"""Variables that change an order or a wait in a way that no masking says."""


def entries_of(profile: Profile, env: Mapping[str, str]) -> tuple[Entry, ...]:
    """The entries that variables add to a profile.

    Raises `BadInput` for a variable that this runtime does not know, one that is not modelled, and
    a value that a variable does not take.
    """
    switches = SWITCHES[profile.contract.name]
    found = []
    for name, value in env.items():
        if name in NOT_MODELLED:
            raise BadInput(f"--env {name}: its effect is not modelled; leave it out")
        if name not in switches:
            known = ", ".join(switches)
            raise BadInput(f"--env {name}: {profile.name} knows no such variable; it knows {known}")
        switch = switches[name]
        if not switch.fits(value):
            raise BadInput(f"--env {name} takes {switch.takes}, not {value!r}")
        found.append(switch.entry(value))
    return tuple(found)
