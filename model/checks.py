"""What every call checks about its arguments, and how objects get their identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .errors import BadProtocol
from .memory import (
    DEVICE,
    PAGEABLE,
    Buffer,
    Expectation,
    Idempotent,
    Opaque,
    Pairs,
    Region,
    each,
    kernel_on_pageable,
)
from .objects import Handle, HostThread, Stream
from .step import Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .calls import Editor, Reading, Reads
    from .gpu import Gpu


class Checks:
    """Objects by creation, and argument checks; the base of the stream API.

    An object's identity is (class, host thread, how many objects that thread had made, name), so
    that every trace of the same program finds the same objects again.
    """

    current: Checks | None = None
    """The one that is in use: an object kept from another one is refused."""

    def __init__(self, steps: int) -> None:
        self.step_count = steps
        self.cells: list[Handle] = []
        self.regions: list[Region] = []
        self.threads: list[HostThread] = []
        self.syncs: list[Handle] = []
        self.serials = 0
        self.early_used = False
        self.cells_used = False
        self.threads_used = False
        self.queue_lanes: dict[str, list[int]] = {}
        self.sizes_missing = False
        self.loop: Any = None
        self.editor: Editor | None = None
        self._made: dict[tuple[Any, ...], Any] = {}
        self._copies: dict[tuple[Any, Any], Pairs] = {}
        self.streams: list[Stream] = []
        self.nulls: dict[int, Stream] = {}
        self.reading: Any = None
        self.null_stream = self.null(0)
        self.threads.append(HostThread(self.as_gpu, "host", 0))
        self.device_itself = Handle(self.as_gpu, "device", 0)

    @property
    def as_gpu(self) -> Gpu:
        """This object as what it is in the end."""
        return cast("Gpu", self)

    def attach(self, reading: Reading) -> None:
        """Hand the calls that follow to this reading."""
        self.reading = reading
        self._call = reading.call if self.editor is None else self.editor.call
        Checks.current = self

    def count(self) -> int:
        """The next object's serial number."""
        self.serials += 1
        return self.serials

    def null(self, device: int = 0) -> Stream:
        """The legacy NULL stream of a device (R1.3)."""
        if device not in self.nulls:
            name = f"NULL{device or ''}"
            made = Stream(
                self.as_gpu, name, len(self.cells), blocking=True, is_null=True, device=device
            )
            self.nulls[device] = made
            self.cells.append(made)
            self.streams.append(made)
            if self.reading is not None:
                self.reading.mark("grown", made)
        return self.nulls[device]

    def scratch(self, source: Region, number: int) -> Region:
        """A region that no protocol names: what a copy has read of a source and not yet written."""
        key = ("scratch", source, number)
        if key not in self._made:
            made = Buffer(self.as_gpu, f"{source!r} (read)", len(self.regions), DEVICE, ())
            self.regions.extend(made.regions)
            self._made[key] = made
        return self._made[key].regions[0]

    def hidden(self, name: str, *key: object) -> Stream:
        """A lane that no protocol names: a graph's branch, an agent's post, an early kernel."""
        found = self._made.get((name, *key))
        if found is None:
            found = Stream(self.as_gpu, name, len(self.cells), blocking=False, is_null=False)
            self._made[(name, *key)] = found
            self.cells.append(found)
        return found

    def _make(self, cls: type[Any], table: list[Any], name: str, *args: object) -> Any:
        """Make an object, or find the one that this creation made in an earlier trace."""
        if not isinstance(name, str):
            raise BadProtocol(f"{noun_of(cls)}'s name must be a string, not {name!r}")
        reading = self.reading
        reading.made += 1
        key = (cls, reading.thread, reading.made, name, args)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = cls(self, name, len(table), *args)
            if not isinstance(found, Buffer):
                table.append(found)
            elif found.of is None:
                table.extend(found.regions)
        reading.mark("made", found)
        return found

    def _foreign(self, thing: object, noun: str) -> BadProtocol:
        if isinstance(thing, (Handle, Region)):
            owner = thing.buffer.gpu if isinstance(thing, Region) else thing.gpu
            if owner is not self or Checks.current is not self:
                return BadProtocol(
                    f"{type(thing).__name__.lower()} {thing!r} belongs to another Gpu: make it "
                    "inside the protocol, from the gpu it is given"
                )
        return BadProtocol(f"expected {with_article(noun)}, got {thing!r}")

    def _own(self, thing: object, cls: type[Handle]) -> None:
        if Checks.current is not self:
            raise self._foreign(thing, "")
        if type(thing) is not cls or thing.gpu is not self:
            noun = "host thread" if cls is HostThread else cls.__name__.lower()
            raise self._foreign(thing, noun)

    def _word(self, value: object) -> int:
        if type(value) is not int:
            raise BadProtocol(f"a cell holds a whole number, not {value!r}")
        return value

    def _device_number(self, device: object) -> int:
        if type(device) is not int or device < 0:
            raise BadProtocol(f"a device is a number from 0, not {device!r}")
        return device

    def _regions(self, targets: object) -> tuple[Region, ...]:
        if type(targets) is Region and targets.buffer.gpu is self:
            return (targets,)
        if type(targets) is Buffer and targets.gpu is self:
            return targets.regions
        noun = "buffer or a part of one"
        found = tuple(each(targets, lambda thing: self._foreign(thing, noun)))
        for region in found:
            if region.buffer.gpu is not self:
                raise self._foreign(region, noun)
        return found

    def _one_target(self, target: object) -> tuple[Region, ...]:
        if not isinstance(target, (Buffer, Region)):
            raise self._foreign(target, "buffer or a part of one")
        return self._regions(target)

    def _host_memory(self, target: Buffer | Region, verb: str) -> tuple[Region, ...]:
        regions = self._one_target(target)
        if regions[0].kind == DEVICE:
            raise BadProtocol(
                f"the host cannot {verb} device buffer {regions[0].buffer.name!r}: copy through "
                "pinned or pageable memory, or launch a kernel"
            )
        return regions

    def _kernel_memory(self, targets: object) -> tuple[Region, ...]:
        regions = self._regions(targets)
        for region in regions:
            if region.kind == PAGEABLE:
                raise kernel_on_pageable(region.buffer)
        return regions

    def _host_function_memory(self, targets: object) -> tuple[Region, ...]:
        regions = self._regions(targets)
        for region in regions:
            if region.kind == DEVICE:
                raise BadProtocol(
                    f"a host function cannot access device buffer {region.buffer.name!r}"
                )
        return regions

    def _fillable(self, target: Buffer | Region) -> tuple[Region, ...]:
        regions = self._one_target(target)
        if regions[0].kind == PAGEABLE:
            raise BadProtocol(
                f"memset cannot fill pageable buffer {regions[0].buffer.name!r}: the runtimes "
                "take device, pinned or managed memory; use write()"
            )
        return regions

    def check_version(self, value: object) -> object:
        """A version: a number, a string or another immutable value; `BadProtocol` otherwise."""
        if type(value) is int:
            if value == -1:
                # Python gives -1 the hash of -2, and traces are compared by hash.
                self.reading.mark("version", "-1")
            return value
        if isinstance(value, Idempotent):
            raise BadProtocol("idempotent() is for writes: a reader expects the version itself")
        if isinstance(value, Step):
            return value
        if isinstance(value, (Opaque, Handle, Region)):
            raise BadProtocol(f"a version is a number or a string, not {value!r}")
        try:
            hash(value)
        except TypeError:
            raise BadProtocol(f"a version must be hashable, not {value!r}") from None
        return value

    def _reads(self, reads: Any, host: bool = False) -> Reads:
        if isinstance(reads, Expectation):
            raise BadProtocol("the expectation belongs to another Gpu")
        allowed = self._host_function_memory if host else self._kernel_memory
        if hasattr(reads, "items"):
            return tuple(
                (region, self.check_version(version))
                for target, version in reads.items()
                for region in allowed(target)
            )
        return tuple((region, None) for region in allowed(reads))

    def _writes(self, writes: Mapping[Any, Any], host: bool = False) -> Reads:
        if not hasattr(writes, "items"):
            raise BadProtocol("writes is a mapping from regions to versions")
        return tuple(
            pair
            for target, version in writes.items()
            for pair in self._written(target, version, host)
        )

    def _written(self, target: object, version: object, host: bool) -> Iterator[tuple[Region, Any]]:
        allowed = self._host_function_memory if host else self._kernel_memory
        regions = allowed(target)
        if isinstance(version, (Buffer, Region)):
            yield from zip(regions, self._alike(regions, allowed(version)), strict=True)
        else:
            marked = isinstance(version, Idempotent)
            checked = version if marked else self.check_version(version)
            yield from ((region, checked) for region in regions)

    def _pairs(self, dst: Buffer | Region, src: Buffer | Region) -> Pairs:
        # The same copies come back step after step: each is checked once.
        try:
            return self._copies[dst, src]
        except (KeyError, TypeError):
            pass
        targets, sources = self._one_target(dst), self._one_target(src)
        pairs = Pairs(zip(targets, self._alike(targets, sources), strict=True))
        self._copies[dst, src] = pairs
        return pairs

    def _alike(
        self, targets: tuple[Region, ...], sources: tuple[Region, ...]
    ) -> tuple[Region, ...]:
        """The sources in the order of the targets; whole buffers must have the same parts."""
        if len(targets) == 1 == len(sources):
            return sources
        by_part = {region.part: region for region in sources}
        if [t.part for t in targets if t.part not in by_part] or len(targets) != len(sources):
            raise BadProtocol(
                f"{targets[0].buffer.name!r} and {sources[0].buffer.name!r} have different parts: "
                "copy part by part"
            )
        return tuple(by_part[target.part] for target in targets)


def with_article(noun: str) -> str:
    """A noun with its article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def noun_of(cls: type[Any]) -> str:
    """What an object of a class is called."""
    return with_article("host thread" if cls is HostThread else cls.__name__.lower())
