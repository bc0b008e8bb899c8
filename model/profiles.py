"""Profiles: what is known of a runtime beyond its contract, each piece with its evidence.

A *profile* is a contract and entries; an entry says in words what the runtime does, sets fields of
the *setting* from which maskings are drawn, and names its evidence:

- *documented*: a vendor's text says so;
- *source*: read from published source code;
- *observed*: seen on hardware, where and when is said.

Where source and observation disagree both are kept: `follows` is the one that decides, `against`
the other, under which everything is decided once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .contract import CUDA, HIP, Contract
from .errors import BadInput
from .masking import LARGE, OWN, SHARED, SMALL, UNMASKED, Masking

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCUMENTED, SOURCE, OBSERVED = "documented", "source", "observed"


class Setting(NamedTuple):
    """What maskings a runtime can have at a moment.

    - `queues` a device: the hardware queues for compute work, None for any number; `dynamic`: a
      stream can change its queue with each packet;
    - `engines`: how copy engines may be given out (`own`, `shared`);
    - `may`: fields of the masking that may be on or off, nobody knows when;
    - `masking`: everything that is certain.
    """

    queues: int | None = None
    dynamic: bool = False
    engines: tuple[str, ...] = (OWN,)
    may: tuple[str, ...] = ()
    masking: Masking = UNMASKED

    def changed(self, changes: dict[str, Any]) -> Setting:
        """This setting with some of its fields, or of its masking's, set; `may` adds up."""
        own = {name: value for name, value in changes.items() if name in self._fields}
        below = {name: value for name, value in changes.items() if name not in self._fields}
        if "may" in own:
            own["may"] = (*self.may, *(name for name in own["may"] if name not in self.may))
        certain = tuple(name for name in own.get("may", self.may) if name not in below)
        awaits = {*self.masking.awaits, *below.get("awaits", ())}
        masking = self.masking._replace(**{**below, "awaits": tuple(sorted(awaits))})
        return self._replace(**{**own, "may": certain, "masking": masking})

    @property
    def moves(self) -> bool:
        """Whether a stream can change its queue: with one queue there is none to change to."""
        return self.dynamic and self.queues != 1

    def variants(self, sizes_missing: bool) -> list[Masking]:
        """The maskings that may be in force, without the map of queues; the weakest first."""
        found = []
        for engines in self.engines:
            for unsized in (SMALL, LARGE) if sizes_missing else (SMALL,):
                base = self.masking._replace(engines=engines, unsized=unsized)
                found.append(base)
                for count in range(1, 1 << len(self.may)):
                    on = [name for i, name in enumerate(self.may) if count >> i & 1]
                    found.append(base._replace(**dict.fromkeys(on, True)))
        return found


class Reading(NamedTuple):
    """One account of what a runtime does: the kind of evidence, where it stands, what it says, and
    the fields that it sets.
    """

    kind: str
    where: str
    says: str
    sets: dict[str, Any]

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return {"evidence": self.kind, "where": self.where, "says": self.says}


class Entry(NamedTuple):
    """One piece of a profile: what it is about, the reading it follows, the one it does not."""

    about: str
    follows: Reading
    against: Reading | None = None

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        against = self.against.as_data() if self.against else None
        return {"about": self.about, **self.follows.as_data(), "against": against}


class Profile(NamedTuple):
    """A runtime: its name, a title, its contract, and what is known beyond it."""

    name: str
    title: str
    contract: Contract
    entries: tuple[Entry, ...]

    def setting(self, more: Iterable[Entry] = (), *, against: bool = False) -> Setting:
        """The setting by the readings followed, or by those that are not where there are some."""
        setting = Setting()
        for entry in (*self.entries, *more):
            reading = entry.against if against and entry.against else entry.follows
            setting = setting.changed(reading.sets)
        return setting


def source(where: str, says: str, **sets: Any) -> Reading:
    """A reading of source code."""
    return Reading(SOURCE, where, says, sets)


def documented(where: str, says: str, **sets: Any) -> Reading:
    """A reading of a vendor's text."""
    return Reading(DOCUMENTED, where, says, sets)


def observed(where: str, says: str, **sets: Any) -> Reading:
    """An observation."""
    return Reading(OBSERVED, where, says, sets)


MI355X = "MI355X, vLLM issue 58886"
H200 = "H200, driver 580.159.04, CUDA 13.0: docs/validation.md"

RING = Entry(
    "launch queue",
    source(
        "ROCclr rocvirtual.cpp (AQL ring), ROC_AQL_QUEUE_SIZE",
        "a queue holds 16384 packets, then the host waits for a place",
        ring=16384,
    ),
)
HEAD_OF_LINE = Entry(
    "packets",
    source(
        "ROCr hsa.h (barrier bit); ROCclr rocvirtual.cpp dispatchBlockingWait; hip_event.cpp",
        "a packet starts after every earlier one of its queue, stream waits and records included",
        records_queue=True,
    ),
)

CUDA_13 = Profile(
    "cuda-13",
    "CUDA 13: eight connections, copy engines, modules loaded at first use",
    CUDA,
    (
        Entry(
            "queues",
            documented(
                "MPS guide, CUDA_DEVICE_MAX_CONNECTIONS",
                "8 connections; streams beyond share one in order, which ones is not said",
                queues=8,
            ),
        ),
        Entry(
            "copies",
            documented(
                "MPS guide, CUDA_DEVICE_MAX_CONNECTIONS; runtime API, asyncEngineCount",
                "copies go through copy engines, which the driver gives out",
                copy_limit=0,
                engines=(OWN, SHARED),
            ),
        ),
        Entry(
            "first use",
            documented(
                "CUDA C++ Programming Guide, Lazy Loading: Concurrent Execution",
                "loading a kernel at its first launch may synchronise the context",
                may=("first_use_drains",),
            ),
        ),
        Entry(
            "asynchronous copies of pageable memory",
            observed(
                H200,
                "the host awaits a download to pageable memory, and an upload of 4 MiB or more",
                pageable_limit=4 * 1024 * 1024 - 1,
                downloads_awaited=True,
            ),
            against=documented(
                "runtime API, API synchronization behavior",
                "such a copy may be synchronous, and may not",
            ),
        ),
    ),
)

ROCM_7_2 = Profile(
    "rocm-7.2",
    "ROCm 7.2: four queues with a fixed map, small copies by kernel, most plan copies late",
    HIP,
    (
        Entry(
            "queues",
            source(
                "ROCclr rocdevice.cpp acquireQueue (6.3 and 7.1, interpolated)",
                "4 queues; a stream keeps the one it got when it was made",
                queues=4,
            ),
        ),
        HEAD_OF_LINE,
        Entry(
            "copies",
            source(
                "ROCclr rocblit.cpp useShaderCopyBufferPath (7.1, interpolated)",
                "up to 16 KiB by a kernel on the queue, larger ones by an SDMA engine, which "
                "streams may share",
                copy_limit=16 * 1024,
                engines=(OWN, SHARED),
            ),
        ),
        Entry(
            "copies behind pending work",
            observed(
                f"{MI355X}, ROCm 7.2: about 55 of 80 plan updates a rank returned only after the "
                "pending prefill",
                "a copy may start only after all work issued so far",
                may=("copies_after_all",),
            ),
            against=source(
                "ROCclr rocvirtual.cpp, hip_memory.cpp (7.1)",
                "a copy waits for its own stream, queue and engine alone",
            ),
        ),
        RING,
    ),
)

ROCM_10 = Profile(
    "rocm-10",
    "ROCm 10: four queues picked at each submission, an SDMA engine a stream",
    HIP,
    (
        Entry(
            "queues",
            source(
                "ROCclr rocdevice.cpp acquireQueue, rocvirtual.cpp ReleaseHwQueue; "
                "DEBUG_HIP_DYNAMIC_QUEUES=2",
                "4 queues; with more streams than queues a stream gets one at each submission",
                queues=4,
                dynamic=True,
            ),
        ),
        HEAD_OF_LINE,
        Entry(
            "copies",
            source(
                "ROCclr rocblit.cpp useShaderCopyBufferPath",
                "up to 16 KiB by a kernel on the queue, larger ones by an SDMA engine",
                copy_limit=16 * 1024,
            ),
        ),
        Entry(
            "engines",
            documented(
                "ROCm changelog, HIP 7.11",
                "each stream has an SDMA engine of its own, while there is one",
                engines=(OWN, SHARED),
            ),
        ),
        Entry(
            "large pageable uploads",
            source(
                "ROCclr rocblit.cpp hsaCopyStagedOrPinned",
                "the host awaits an asynchronous upload from pageable memory above 64 KiB",
                pageable_limit=64 * 1024,
            ),
        ),
        RING,
    ),
)

PROFILES = {profile.name: profile for profile in (CUDA_13, ROCM_7_2, ROCM_10)}
"""Every profile by name."""


def profile_named(name: str) -> Profile:
    """The profile of this name; raises `BadInput` with the names that exist."""
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(PROFILES)
        raise BadInput(f"unknown runtime {name!r}: it is one of {known}") from None
