# ruff: noqa: INP001 - a script, run from a checkout and never installed
"""The tables and sentences of docs/simulation.md, from the figures that were simulated."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from serving_cells import PROTOCOLS, PUBLISHED, dummy_cells

from streamorder.sim.serving_metrics import HEADLINE

if TYPE_CHECKING:
    from pathlib import Path

Data = dict[str, Any]

KINDS = ("silently wrong", "out of range", "harmless")
WORDS = {
    "output_tok_per_s": "output, tok/s",
    "median_itl_ms": "ITL, median, ms",
    "mean_ttft_ms": "TTFT, mean, ms",
}


class Check(NamedTuple):
    """A figure to reach: what was found, and whether it is reached."""

    text: str
    reached: bool


def table(head: list[str], lines: list[list[str]]) -> str:
    """A Markdown table."""
    rule = ["---", *(["---:"] * (len(head) - 1))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])


def dummy_table(data: Data) -> str:
    """Published beside simulated, dummy weights."""
    runs = data["dummy-weights"]
    lines = []
    for cell in dummy_cells():
        own = {p: runs[f"{cell.name} {p} async"] for p in PROTOCOLS}
        for name in HEADLINE:
            value, staged = own[PROTOCOLS[0]][name], own[PROTOCOLS[1]][name]
            published = cell.figures[name]
            lines.append([f"{cell.name}: {WORDS[name]}", f"{published:g}", f"{value:.2f}",
                          f"{value / published - 1:+.1%}", f"{staged:.2f}",
                          f"{staged / value - 1:+.2%}"])  # fmt: skip
    head = ["", "published", "simulated", "error", "staged", "staged against unpatched"]
    return table(head, lines)


def overlap_table(data: Data) -> str:
    """What plan updates met, predicted."""
    runs, older = data["dummy-weights"], data["rocm-7.2"]
    name = dummy_cells()[1].name
    shown = {
        "unpatched, ROCm 10": runs[f"{name} {PROTOCOLS[0]} async"],
        "unpatched, ROCm 10, no async scheduling": runs[f"{name} {PROTOCOLS[0]} sync"],
        "unpatched, ROCm 7.2": older[PROTOCOLS[0]],
        "staged, ROCm 10": runs[f"{name} {PROTOCOLS[1]} async"],
        "staged, ROCm 7.2": older[PROTOCOLS[1]],
    }
    head = ["8k/1k @ 32", "steps that prefill", "planned beside a pending prefill",
            "of these, back only after it", "median plan latency beside one",
            "plan updates that met a kernel", "silently wrong", "out of range", "harmless",
            "output, tok/s"]  # fmt: skip
    lines = [
        [title, str(run["prefill_steps"]), f"{run['overlap_share']:.1%}",
         f"{run['late']} of {run['overlapped']}", f"{run['plan_latency_pending_ms']:.2f} ms",
         str(sum(run["hazards"].values())),
         *(str(run["hazards"].get(kind, 0)) for kind in KINDS),
         f"{run['output_tok_per_s']:.1f}"]
        for title, run in shown.items()
    ]  # fmt: skip
    return table(head, lines)


def sweep_table(data: Data) -> str:
    """The sweep: fitted and predicted cells."""
    lines = []
    for row in data["real-weights"]:
        error_of = [row["simulated"], row["interpolation"], row["interpolation of logarithms"]]
        shown = ["" if v is None else f"{v / row['published'] - 1:+.1%}" for v in error_of]
        kind = "fitted" if row["fitted"] else "**predicted**"
        lines.append(
            [row["cell"], kind, f"{row['published']:g}", f"{row['simulated']:.1f}", *shown]
        )
    head = ["", "", "published, tok/s", "simulated", "error", "log-linear interpolation",
            "log-log interpolation"]  # fmt: skip
    return table(head, lines)


def sensitivity_table(data: Data) -> str:
    """What other assumptions would give."""
    head = ["8k/1k @ 32, unpatched", "output, tok/s", "ITL, median, ms", "TTFT, mean, ms",
            "planned beside a pending prefill"]  # fmt: skip
    lines = [
        [
            row["assumption"],
            *(f"{row[name]:.2f}" for name in HEADLINE),
            f"{row['overlap_share']:.1%}",
        ]
        for row in data["sensitivity"]
    ]
    return table(head, lines)


def exponent_table(data: Data) -> str:
    """What other exponents of the decoding sequences would give."""
    head = ["exponent", "root mean square error, fitted cells", "median error, predicted cells"]
    lines = [
        [f"{line['exponent']:g}", f"{line['root_mean_square']:.2%}", f"{line['predicted']:.2%}"]
        for line in data["exponents"]
    ]
    return table(head, lines)


def forms_table(data: Data) -> str:
    """The forms of a step's cost that were considered."""
    head = ["base, and", "parameters", "worst error, fitted cells", "median error, predicted cells"]
    lines = [
        [row["form"], str(row["parameters"]), f"{row['worst']:.1%}", f"{row['predicted']:.1%}"]
        for row in data["forms"]
    ]
    return table(head, lines)


def predicted_errors(data: Data) -> dict[str, float]:
    """The median error on predicted cells, of the model and of both interpolations."""
    rows = [row for row in data["real-weights"] if not row["fitted"]]
    found = {}
    for name in ("simulated", "interpolation", "interpolation of logarithms"):
        found[name] = median(abs(r[name] / r["published"] - 1) for r in rows if r[name] is not None)
    return found


def sentences(data: Data) -> str:
    """What comes of it, in words; what does not come out stands first."""
    missed, held = [], []
    for text, good in checks(data):
        (held if good else missed).append(text)
    said = ["**Does not come out:**", *(f"- {text}" for text in missed), ""] if missed else []
    return "\n".join([*said, "Comes out:", *(f"- {text}" for text in held)])


def checks(data: Data) -> list[Check]:
    """Each figure to reach, with what was found and whether it is reached."""
    runs = data["dummy-weights"]
    worst = 0.0
    apart = 0.0
    for cell in dummy_cells():
        direct, staged = (runs[f"{cell.name} {p} async"] for p in PROTOCOLS)
        for name in HEADLINE:
            worst = max(worst, abs(direct[name] / cell.figures[name] - 1))
            apart = max(apart, abs(staged[name] / direct[name] - 1))
    fitted = max(
        abs(r["simulated"] / r["published"] - 1) for r in data["real-weights"] if r["fitted"]
    )
    predicted = predicted_errors(data)
    name = dummy_cells()[1].name
    overlap = [run["overlap_share"] for key, run in runs.items()
               if key.startswith(f"{name} {PROTOCOLS[0]} async")]  # fmt: skip
    none = runs[f"{name} {PROTOCOLS[0]} sync"]["overlap_share"]
    ten = runs[f"{name} {PROTOCOLS[0]} async"]["plan_latency_pending_ms"]
    better = sum(s["model"] < min(s["interpolation"], s["interpolation of logarithms"])
                 for s in data["splits"])  # fmt: skip
    count = len(data["splits"])
    shares = " to ".join(f"{share:.1%}" for share in (min(overlap), max(overlap)))
    own, straight, logarithms = predicted.values()
    return [
        Check(
            f"dummy weights: all six fitted figures within {worst:.1%} (3 parameters)",
            worst <= 0.03,
        ),
        Check(
            f"real weights: the eight fitted cells within {fitted:.1%} (4 parameters)",
            fitted <= 0.03,
        ),
        Check(
            f"real weights: the median error on the four predicted cells is {own:.1%}; that of "
            f"log-linear interpolation between the fitted ones {straight:.1%}, of interpolation "
            f"of the logarithms {logarithms:.1%}",
            own < min(straight, logarithms),
        ),
        Check(
            "with other cells held back the model's median error is below both interpolations' in "
            f"{better} of the {count} choices that keep the ends of each shape",
            better == count,
        ),
        Check(
            f"unpatched and staged: throughput and latencies within {apart:.2%} of each other",
            apart <= 0.01,
        ),
        Check(
            f"planning overlaps a pending prefill in {shares} of the steps that prefill (three "
            "seeds; predicted; published: about 9 %)",
            min(overlap) >= 0.05 and max(overlap) <= 0.15,
        ),
        Check(f"without async scheduling in {none:.1%}", none == 0),
        Check(
            f"on ROCm 10 a plan update beside a pending prefill returns in {ten:.2f} ms "
            "(published: under 1 ms); it rests on copy rates that were assumed with that in view",
            ten < PUBLISHED["plan-updates"]["rocm10_latency_ms"],
        ),
    ]


def write_page(data: Data, page: Path) -> None:
    """Put the tables between their markers."""
    text = page.read_text(encoding="utf-8")
    parts = {
        "summary": sentences,
        "dummy": dummy_table,
        "overlap": overlap_table,
        "sweep": sweep_table,
        "exponents": exponent_table,
        "forms": forms_table,
        "sensitivity": sensitivity_table,
    }
    for name, made in parts.items():
        begin, finish = f"<!-- {name}: begin -->\n", f"\n<!-- {name}: end -->"
        before, _begin, rest = text.partition(begin)
        _old, _finish, after = rest.partition(finish)
        if not _begin or not _finish:
            raise SystemExit(f"{page}: no markers for {name}")
        text = before + begin + made(data) + finish + after
    page.write_text(text, encoding="utf-8")
