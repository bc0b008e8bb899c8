"""The costs of a device file: how long calls keep the host busy, and operations the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.memory import DEVICE, MANAGED, PAGEABLE
from .timed import Costs, Hardware, Timed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..model.memory import Region
    from .cursors import Cursor
    from .device import Device
    from .draws import Draws
    from .durations import Duration
    from .gpu import SimGpu
    from .ops import Op
    from .timed import Watch

GIGA, KIB = 1e9, 1024
ON_DEVICE = frozenset({DEVICE, MANAGED})
COPIES = frozenset({"memcpy", "memcpy_async", "memset", "memset_async"})
LAUNCHES = frozenset({"launch", "graph_launch", "host_func"})


class DeviceCosts(Costs):
    """Draws every duration that a device file states; one object a run, for it counts its draws.

    Two runs of one seed draw the same numbers for the n-th launch, the n-th copy and so on.

    Args:
        device: the device file.
        draws: the random numbers of the run.
        sizes: bytes of a region, by its name (`plan.work_info`) or its part's (`work_info`); others
            have what the protocol says (`nbytes`), or the device file's `region_kib`.
    """

    def __init__(
        self, device: Device, draws: Draws, sizes: Mapping[str, int] | None = None
    ) -> None:
        self.device = device
        self.draws = draws
        self.sizes = dict(sizes or {})
        self.counts: dict[str, int] = {}
        self.bytes: dict[Region, int] = {}
        self.stages_on_host = not device.contract.upload_awaits_write
        self._host = device.durations["host"]
        self._copy = device.durations["copy"]
        self._kernel = device.durations["kernel"]
        self._numbers = {**device.numbers["copy"], **device.numbers["host"]}

    # --- the host ---

    def call(self, cursor: Cursor) -> float:
        """By the verb; loads and stores take their bytes at the host's rate."""
        call = cursor.call
        assert call is not None
        verb = call[0]
        if verb in LAUNCHES:
            return self.drawn("host.launch", self._host["launch_us"])
        if verb == "write":
            return self.stores(call[1])
        if verb == "read":
            return self.stores(region for region, _expected in call[1])
        if verb in COPIES:
            return self.drawn("host.copy", self._host["copy_us"]) + self.staging(call)
        if verb == "record":
            return self.drawn("host.record", self._host["record_us"])
        return self.drawn("host.call", self._host["call_us"])

    def stores(self, regions: Iterable[Region]) -> float:
        """Seconds for the host to store or load these regions."""
        return self.size(regions) / (self._numbers["write_gb_per_s"] * GIGA)

    def staging(self, call: Any) -> float:
        """Seconds in which the host itself copies pageable memory to where an engine reads it. HIP
        lets the engine read it in place, and the host waits.
        """
        if call[0] not in {"memcpy", "memcpy_async"} or not self.stages_on_host:
            return 0.0
        if call[1].src != PAGEABLE or call[1].dst not in ON_DEVICE:
            return 0.0
        size = self.size(dst for dst, _src in call[1])
        return size / (self._numbers["pageable_gb_per_s"] * GIGA)

    def returning(self, cursor: Cursor) -> float:
        """Waking up after a wait."""
        del cursor
        return self.drawn("host.wake", self._host["wake_us"])

    # --- the device ---

    def op(self, op: Op) -> float:
        """Kernels by their name, copies by their bytes."""
        if op.kind == "copy":
            return self.copying(op)
        name = op.kernel or op.kind
        duration = self.device.kernels.get(name, self._kernel["default_us"])
        start = self.drawn("kernel.start", self._kernel["start_us"])
        return start + self.drawn(f"kernel.{name}", duration)

    def copying(self, op: Op) -> float:
        """A copy: a start, and its bytes at the rate of the slower end."""
        size = self.size(region for region, _version in op.writes)
        ends = {op.writes[0][0].kind, op.reads[0][0].kind if op.reads else PAGEABLE}
        if ends <= ON_DEVICE or size <= self._numbers["blit_up_to_kib"] * KIB:
            start = self.drawn("copy.blit", self._copy["blit_us"])  # R2.12: a kernel copies
        else:
            start = self.drawn("copy.start", self._copy["start_us"])
        in_place = PAGEABLE in ends and not self.stages_on_host
        rate = self._numbers["pageable_gb_per_s" if in_place else "pinned_gb_per_s"]
        return start + size / (rate * GIGA)

    def size(self, regions: Iterable[Region]) -> int:
        """Bytes of some regions."""
        return sum(self.bytes.get(region) or self.sized(region) for region in regions)

    def sized(self, region: Region) -> int:
        """Bytes of a region, remembered."""
        names = (repr(region), region.part, region.buffer.name)
        known = [self.sizes[name] for name in names if name in self.sizes]
        default = region.nbytes or int(self._numbers["region_kib"] * KIB)
        self.bytes[region] = known[0] if known else default
        return self.bytes[region]

    # --- drawing ---

    def drawn(self, label: str, duration: Duration) -> float:
        """The next draw of a duration."""
        index = self.counts[label] = self.counts.get(label, -1) + 1
        return duration.at(self.draws.chance(label, index), index)

    def choose(self, cursor: Cursor) -> int:
        """What the host chooses: each option is as likely as the others."""
        assert cursor.call is not None
        index = self.counts["choose"] = self.counts.get("choose", -1) + 1
        return self.draws.whole("choose", index, 0, cursor.call[1] - 1)


class DeviceClock(Timed):
    """Simulated seconds on a device: its queues, its copy engines, and what its runtime hides.

    Where a runtime may let the NULL stream's copies start only after all work issued so far (the
    profile's `copies_after_all`), they do in the share of the steps that the device file states.
    """

    def __init__(self, costs: DeviceCosts, watch: Watch | None = None, *, trace: bool = False,
                 hazards: bool = False) -> None:  # fmt: skip
        device = costs.device
        queues, engines = device.numbers["device"]["hardware_queues"], device.numbers["copy"]
        hardware = Hardware(max(1, int(queues)), copy_engines=max(1, int(engines["engines"])))
        super().__init__(costs, hardware, watch, costs.choose, trace=trace, hazards=hazards)
        self.share = device.numbers["masking"]["null_copies_after_all_share"]
        self.draws = costs.draws

    def issued(self, sim: SimGpu, op: Op) -> None:
        """A copy of the NULL stream may have to wait for everything that is pending."""
        if op.kind == "copy" and op.stream.is_null and self.after_all(op.step):
            op.before = (*op.before, *(other for other in sim.pending if other is not op))
        super().issued(sim, op)

    def after_all(self, step: int | None) -> bool:
        """Whether it does in this step."""
        return self.draws.chance("masking.null", step or 0) < self.share
