"""Versions as memory holds them: one byte each, repeated, so that a fill writes one."""

from __future__ import annotations

import threading

from ..model.memory import UNWRITTEN, Idempotent
from ..model.refined import TORN

LARGEST = 120
STALE = "stale"
"""What a region held that nothing in this replay has written: another replay's version."""


class Versions:
    """Bytes for the versions of one replay.

    0 stands for memory that nothing has written. Numbering begins elsewhere in each replay, so that
    what an earlier one left is not taken for something that this one wrote.
    """

    def __init__(self, replay: int = 0) -> None:
        self.lock = threading.Lock()
        self.codes: dict[object, int] = {UNWRITTEN: 0}
        self.names: dict[int, object] = {0: UNWRITTEN}
        self.next = 1 + replay * 37 % LARGEST

    def code(self, version: object) -> int:
        """The byte of a version."""
        if isinstance(version, Idempotent):
            version = version.value
        with self.lock:
            if version not in self.codes:
                if len(self.codes) > LARGEST:
                    raise ValueError(f"more than {LARGEST} versions in one experiment")
                self.codes[version] = self.next
                self.names[self.next] = version
                self.next = self.next % LARGEST + 1
            return self.codes[version]

    def word(self, version: object) -> int:
        """The 32-bit word of a version."""
        return self.code(version) * 0x01010101

    def of_bytes(self, data: bytes) -> object:
        """The version that a region holds: `TORN` where it holds two."""
        first = data[0]
        if data.count(first) != len(data):
            return TORN
        return self.names.get(first, STALE)

    def of_words(self, smallest: int, largest: int) -> object:
        """The version that a kernel saw, by the smallest and the largest word."""
        if smallest != largest:
            return TORN
        first = smallest & 0xFF
        return self.names.get(first, STALE) if smallest == first * 0x01010101 else STALE
