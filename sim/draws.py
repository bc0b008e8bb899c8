"""Random numbers by name: the same seed, label and index give the same number in every run.

No draw depends on how many were made before it, so that two protocols, or one protocol with and
without a feature, meet the same prompts and the same durations (common random numbers).
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(word: int) -> int:
    """A 64-bit word scrambled (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)


@lru_cache(maxsize=1024)
def label_word(label: str) -> int:
    """A label as a 64-bit word."""
    data = label.encode()
    return crc32(data) << 32 | crc32(data[::-1] + b"\x01")


class Draws:
    """Random numbers of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._base = mixed((seed + 1) * GOLDEN & MASK)

    def chance(self, label: str, index: int) -> float:
        """A number strictly between 0 and 1."""
        word = mixed(self._base ^ label_word(label))
        return (mixed(word + index * GOLDEN & MASK) + 0.5) / (MASK + 1.0)

    def whole(self, label: str, index: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return min(high, low + int(self.chance(label, index) * (high - low + 1)))
