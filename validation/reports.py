"""Results as text: tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .verdicts import hangs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as what stands in them."""
    cells = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in cells]  # fmt: skip
    return "\n".join(lines)


def share(hits: int, runs: int) -> str:
    """A count of a total."""
    return f"{hits:,} of {runs:,}"


def stamped(results: dict[str, Any]) -> str:
    """What the results were taken on."""
    info = results.get("device")
    if not info:
        return f"{results['date']}: no device answered"
    return (
        f"{info['backend']} on {info['device']}, driver {info['driver']}, runtime "
        f"{info['runtime']}, torch {info['torch']}, triton {info['triton']}; {results['date']}"
    )


def validation_text(results: dict[str, Any]) -> str:
    """Every part of a validation."""
    texts = [stamped(results)]
    for part, rows in results["parts"].items():
        faults = [f"  {row['name']}: {row['fault']}" for row in rows if row["fault"]]
        data = [row["data"] for row in rows if row["data"] is not None]
        body = PARTS[part](data) if data else ""
        texts.append("\n".join([f"\n{part}", *filter(None, [body]), *faults]))
    return "\n".join(texts)


def reproducer_text(data: list[dict[str, Any]]) -> str:
    """Each mode behind a delay and freely."""
    rows = [
        (
            each["mode"],
            share(each["delayed"]["a_matches"], each["delayed"]["runs"]),
            share(each["delayed"]["b_matches"], each["delayed"]["runs"]),
            share(each["free"]["a_matches"], each["free"]["runs"]),
            share(each["free"]["b_matches"], each["free"]["runs"]),
        )
        for each in data
    ]
    head = ("mode", "A right, delayed", "B right, delayed", "A right, free", "B right, free")
    notes = [
        f"  {each['mode']}: {text}"
        for each in data
        for text in list(each["delayed"]["examples"])[:1]
    ]
    return "\n".join([table(head, rows), *notes])


def plans_text(data: list[dict[str, Any]]) -> str:
    """Which plans came through unchanged."""
    rows = [
        (each["lengths"], each["way"], each["nbytes"], "yes" if each["identical"] else "NO")
        for each in data[0]["rows"]
    ]
    return table(("lengths", "way", "bytes", "identical"), rows)


def overhead_text(data: list[dict[str, Any]]) -> str:
    """Medians beside the floor."""
    one = data[0]
    rows = [
        (
            each["way"],
            f"{each['host_us']:.1f}",
            f"{each['host_busy_us']:.1f}",
            f"{each['device_us']:.1f}",
            each["copies"],
            each["host_waits"],
        )
        for each in one["rows"]
    ]
    rows.append(
        ("one copy", f"{one['floor_host_us']:.1f}", "", f"{one['floor_device_us']:.1f}", 1, 0)
    )
    head = ("way", "host µs", "host µs, busy", "device µs", "copies", "host waits")
    return f"{one['nbytes']:,} bytes a plan, medians of {one['runs']}\n{table(head, rows)}"


def sync_free_text(data: list[dict[str, Any]]) -> str:
    """Whether torch refused anything."""
    one = data[0]
    said = one["refused"] or "nothing was refused"
    return (
        f"{one['steps']} steps, staged packed and in five copies: {said}; outputs match: "
        f"{one['outputs_match']}; `.item()` there: {one['item']}"
    )


def uploads_text(data: list[dict[str, Any]]) -> str:
    """Shares of late uploads."""
    one = data[0]
    rows = [
        (
            f"{each['nbytes'] // 1024:,} KiB",
            share(each["late"], each["trials"]),
            f"{each['late'] / each['trials']:.1%}",
            f"{each['low']:.1%} to {each['high']:.1%}",
        )
        for each in one["pageable"]
    ]
    pinned = sum(each["late"] for each in one["pinned"])
    after = sum(each["late"] for each in one["pageable_launched_after"])
    first = sum(each["first_late"] for each in one["two_in_a_row"])
    second = sum(each["second_late"] for each in one["two_in_a_row"])
    pairs = sum(each["trials"] for each in one["two_in_a_row"])
    return "\n".join(
        [
            table(("pageable", "late", "share", "95 %"), rows),
            f"from page-locked memory: {pinned} late of {total(one['pinned'])}",
            f"reader launched afterwards: {after} late of {total(one['pageable_launched_after'])}",
            f"two in a row: the first late {first}, the second {second} of {pairs}",
        ]
    )


def pageable_waits_text(data: list[dict[str, Any]]) -> str:
    """In how many runs the host was held."""
    return table(
        ("size", *data[0]),
        [
            (f"{rows[0]['nbytes'] // 1024:,} KiB", *(share(r["held"], r["trials"]) for r in rows))
            for rows in zip(*data[0].values(), strict=True)
        ],
    )


def total(rows: list[dict[str, Any]]) -> int:
    """Trials over all rows."""
    return sum(row["trials"] for row in rows)


def mutants_text(data: list[Any]) -> str:
    """Every hazard that was forced, and the controls."""
    mutants = [each for each in data if isinstance(each, dict)]
    controls = [each for some in data if isinstance(some, list) for each in some]
    rows = []
    for each in mutants:
        if each.get("hang"):
            rows.append((each["name"], "deadlock", share(*hangs(each)), "-", "-", ""))
        for hazard in each["hazards"] or [{}] * (not each.get("hang")):
            forced = hazard.get("forceable")
            shown = share(hazard["shown"], hazard["replays"]) if forced else "-"
            predicted = hazard["as_predicted"] if forced else "-"
            why = hazard.get("why_not") or stalled(hazard) or each.get("not_run", "")
            rows.append(
                (each["name"], hazard.get("kind", "-"), shown, predicted, freely(each), why)
            )
    score = mutation_score(mutants)
    wrong = sum(each.get("wrong", 0) for each in controls)
    runs = sum(each.get("runs", 0) for each in controls)
    head = ("mutant", "hazard", "shown", "as predicted", "free, jittered", "")
    return "\n".join(
        [
            table(head, rows),
            f"shown: {score['shown']} of {score['forceable']} exposed and forceable",
            f"controls: {wrong} wrong in {runs:,} runs of {len(controls)} safe protocols",
        ]
    )


def stalled(hazard: dict[str, Any]) -> str:
    """Why replays were not followed."""
    return "; ".join(f"{n}× {why[:60]}" for why, n in list(hazard.get("stalled", {}).items())[:1])


def freely(mutant: dict[str, Any]) -> str:
    """How many runs were wrong that nothing directed."""
    if "free" not in mutant:
        return "-"
    return f"{mutant['free']['wrong']}, {mutant['jittered']['wrong']}"


def mutation_score(mutants: list[dict[str, Any]]) -> dict[str, int]:
    """Mutants; those that the profile exposes and gates can force; those always shown."""
    forceable = [
        each
        for each in mutants
        if "not_run" not in each
        and each.get("on_profile", "exposed") == "exposed"
        and any(h["forceable"] for h in each["hazards"])
    ]
    shown = [
        each
        for each in forceable
        if any(h["replays"] and h["shown"] == h["replays"] for h in each["hazards"])
    ]
    return {"mutants": len(mutants), "forceable": len(forceable), "shown": len(shown)}


def litmus_text(results: dict[str, Any]) -> str:
    """One line a program, then the sums."""
    rows = []
    for row in results["programs"]:
        if "not_run" in row:
            rows.append((row["title"], "not run", "", row["not_run"][:70]))
            continue
        seen = " ".join(f"{outcome}:{n}" for outcome, n in sorted(row["seen"].items()))
        unseen = " ".join(f"{outcome} ({why})" for outcome, why in row["unseen"].items())
        bad = " ".join(f"{outcome}:{n}" for outcome, n in row["forbidden_seen"].items())
        rows.append((row["title"], "FORBIDDEN " + bad if bad else "ok", seen, unseen))
    sums = results["summary"]
    said = (
        f"{sums['ran']} of {sums['programs']} programs ran, {sums['runs']:,} runs; allowed "
        f"outcomes seen: {sums['seen']} of {sums['allowed']} ({sums['share']:.0%}); "
        f"programs with a forbidden outcome: {len(sums['forbidden_seen'])}"
    )
    head = ("program", "", "seen", "allowed and not seen")
    return "\n".join([stamped(results), table(head, rows), said])


PARTS: dict[str, Callable[[list[Any]], str]] = {
    "reproducer": reproducer_text,
    "plans": plans_text,
    "overhead": overhead_text,
    "sync-free": sync_free_text,
    "mutants": mutants_text,
    "uploads": uploads_text,
    "pageable-waits": pageable_waits_text,
}
"""How each part is shown."""
