"""Rows: what a kernel of an experiment is told, as 64-bit words in pinned memory.

A row begins with the fields of `ROW_FIELDS`; then come the addresses of the regions read, then for
each region written its address, the word to fill it with, and the address to copy from (0: fill).
"""

from __future__ import annotations

ROW_FIELDS: tuple[str, ...] = (
    "open",  # address of the gate's word; 0 for no gate
    "gates",  # address of the number of times that the gate kernel has run
    "count",  # address of the number of times that the operation has run
    "limit",  # how long a gate waits at most, ns on the device clock
    "delay",  # how long to wait once the gate is open, ns on the device clock
    "done",  # address of the word that counts finished runs, for the host
    "late",  # address of the word that says that a gate ran into its limit
    "reads",  # how many regions are read
    "writes",  # how many regions are written
    "words",  # 32-bit words in a region
    "report",  # address of the reports, (smallest, largest) a region read
    "stride",  # 32-bit words from one run's report to the next
)

ROW_WORDS = 128
MOST_REGIONS = 24
MOST_RUNS = 16
"""How often one operation may run in an experiment: replays of a graph's node."""

WORD = 8
"""Bytes of a row's word."""


def encoded(fields: dict[str, int], reads: list[int], writes: list[tuple[int, int, int]]) -> bytes:
    """A row as bytes; raises `ValueError` where it is too long."""
    if len(reads) > MOST_REGIONS or len(writes) > MOST_REGIONS:
        raise ValueError(f"a kernel touches at most {MOST_REGIONS} regions")
    head = {**fields, "reads": len(reads), "writes": len(writes)}
    words = [head[name] for name in ROW_FIELDS] + reads + [part for each in writes for part in each]
    return b"".join(value.to_bytes(WORD, "little") for value in words)


def decoded(data: bytes) -> tuple[dict[str, int], list[int], list[tuple[int, int, int]]]:
    """The fields, reads and writes of a row."""
    words = [int.from_bytes(data[at : at + WORD], "little") for at in range(0, len(data), WORD)]
    fields: dict[str, int] = dict(zip(ROW_FIELDS, words, strict=False))
    at = len(ROW_FIELDS)
    reads = words[at : at + fields["reads"]]
    at += len(reads)
    rest = words[at : at + 3 * fields["writes"]]
    writes = [(rest[i], rest[i + 1], rest[i + 2]) for i in range(0, len(rest), 3)]
    return fields, reads, writes
