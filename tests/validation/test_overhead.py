"""How publishing is timed: in turns, and what warms up does not count."""

from __future__ import annotations

from streamorder.validation.overhead import WARM_UP, Subject, in_turns, nothing


def test_in_turns() -> None:
    """Every subject once a round; the median of the rounds that count."""
    asked: list[str] = []

    def timed(subject: Subject) -> float:
        asked.append(subject.name)
        return float(len(asked))

    found = in_turns([Subject(name, nothing, None) for name in "ab"], timed, 3)
    assert asked == ["a", "b"] * (WARM_UP + 3)
    assert found == {"a": 2.0 * WARM_UP + 3, "b": 2.0 * WARM_UP + 4}
