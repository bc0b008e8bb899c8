"""A page that steps through the counterexamples of verdicts: one HTML file that loads nothing.

Without JavaScript the text, the source lines and the complete pictures are there; with it one steps
forward and back, sees what memory holds after each event, and asks for the order among the events.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .drawing import STYLE, Drawing, whole
from .lanes import swim_lanes
from .scene import key, scenes, source_line, title
from .text import one as as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.trace import Event
    from ..model.verdict import MissingEdge, Verdict
    from .scene import Scene

ASSETS = Path(__file__).parent / "assets"

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""The browser itself refuses whatever the page would load."""

WIDEST = 250
"""Pixels that a lane takes at most: three of them and the memory stand side by side."""

HELP = (
    "<kbd>→</kbd> <kbd>←</kbd> step, <kbd>Home</kbd> <kbd>End</kbd> first and last, <kbd>m</kbd> "
    "the marked accesses, <kbd>h</kbd> what happens before what, <kbd>n</kbd> <kbd>p</kbd> next "
    "and previous missing edge"
)

CONTROLS = (
    '<div class="controls"><button data-do="first" title="Home">first</button>'
    '<button data-do="back" title="←">◀ back</button>'
    '<button data-do="forward" title="→">forward ▶</button>'
    '<button data-do="last" title="End">last</button>'
    '<input data-do="slide" type="range" min="0" max="{last}" value="{last}" aria-label="step">'
    '<output>{last} of {last}</output><button data-do="marks" title="m">marked accesses</button>'
    '<label><input data-do="orders" type="checkbox"{off}> happens-before</label>'
    '<p class="here" aria-live="polite"></p></div>'
)


def page(verdicts: Sequence[Verdict]) -> str:
    """The page of some verdicts, as HTML.

    Raises `BadInput` where a picture would have more lanes or events than a person can read.
    """
    told = [(verdict, one) for verdict in verdicts for one in scenes(verdict)]
    names = dict.fromkeys(verdict.name for verdict in verdicts)
    body = [f"<h1>{text(', '.join(names))}</h1>"]
    body += [f"<p>{headline(verdict)}</p>" for verdict in verdicts]
    if len(told) > 1:
        body.append(contents([one for _verdict, one in told]))
    for at, (verdict, one) in enumerate(told):
        body.append(section(one, verdict.missing_edges[one.number - 1], at))
    body.append(f'<p class="soft">{HELP}</p>' if told else "")
    body += [
        f"<h2>As text</h2><pre>{text(as_text(v, pictures=99, timed=False))}</pre>" for v in verdicts
    ]
    data = json.dumps([stepped(one) for _verdict, one in told]).replace("</", "<\\/")
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(', '.join(names))}: Streamorder</title>",
            '<link rel="icon" href="data:,">',
            f"<style>\n{STYLE}\n{asset('stepper.css')}</style>\n</head>\n<body>",
            *body,
            f'<script id="scenes" type="application/json">{data}</script>',
            f"<script>\n{asset('stepper.js')}</script>\n</body>\n</html>\n",
        ]
    )


def asset(name: str) -> str:
    """A file that is shipped beside this module."""
    return (ASSETS / name).read_text(encoding="utf-8")


def text(words: object) -> str:
    """Words as HTML."""
    return escape(str(words), quote=False)


def headline(verdict: Verdict) -> str:
    """Contract, verdict and what it covers."""
    covers = ", ".join(verdict.bounds)
    said = (
        f'{text(title(verdict))}: <span class="verdict">{verdict.verdict}</span> ({text(covers)})'
    )
    return said + (f": {text(verdict.reason)}" if verdict.reason else "")


def contents(told: list[Scene]) -> str:
    """Links to each missing edge."""
    links = [
        f'<li><a href="#edge{at + 1}" data-show="{at}">{text(one.kind)}</a> '
        f'<span class="soft">{text(one.title)}</span></li>'
        for at, one in enumerate(told)
    ]
    return f"<ol>{''.join(links)}</ol>"


def section(one: Scene, edge: MissingEdge, at: int) -> str:
    """One missing edge: what it is, where it stands, the picture and what memory holds."""
    count = f" ({one.number} of {one.of})" if one.of > 1 else ""
    off = "" if one.ordered else " disabled"
    drawing = Drawing(one, folded=False, words=False, widest=WIDEST).svg(name=str(at), style=False)
    rows = "".join(
        f"<tr><td>{text(memory.name)}</td><td>{text(memory.versions[-1])}</td></tr>"
        for memory in one.memory
    )
    return "\n".join(
        [
            f'<section class="missing-edge" id="edge{at + 1}">',
            f"<h2>{text(one.title)}: {text(one.kind)}{count}</h2>",
            f"<p>{text(one.sentence)}</p>",
            f'<p class="bad">so {text(one.consequence)}</p>' if one.consequence else "",
            sites(edge),
            CONTROLS.format(last=len(one.events), off=off),
            f'<div class="stage"><div class="lanes">{drawing}</div>',
            '<div class="memory"><table><thead><tr><th>memory</th><th>version</th></tr></thead>',
            f"<tbody>{rows}</tbody></table></div></div>",
            f"<details><summary>Events</summary>{listing(one)}</details>",
            "</section>",
        ]
    )


def sites(edge: MissingEdge) -> str:
    """The two source lines that the edge is about."""
    rows = [
        f"<tr><td>{text(site.where)}</td><td>{text(source_line(site.where) or site.call)}</td></tr>"
        for site in dict.fromkeys((edge.first, edge.second))
        if site.where is not None
    ]
    return f'<table class="sites"><tbody>{"".join(rows)}</tbody></table>'


def listing(one: Scene) -> str:
    """Every event in full, as swim lanes and as a list."""
    rows = "".join(f"<li>{text(said(event))}</li>" for event in one.events)
    return f"<pre>{text(swim_lanes(one.events, width=120))}</pre><ol>{rows}</ol>"


def said(event: Event) -> str:
    """An event in words, as the page tells it at each step."""
    mark = {"first": " [marked: the first access]", "second": " [marked: the second access]"}
    return f"{event.lane}: {whole(event)}{mark.get(event.role or '', '')}"


def stepped(one: Scene) -> dict[str, Any]:
    """What the page's script needs: every step with the versions held, the order, the marks."""
    held = list(zip(*(memory.versions for memory in one.memory), strict=True))
    held = held or [()] * (len(one.events) + 1)
    start = {"event": None, "said": "before the first event", "memory": held[0], "wrong": []}
    steps = [start, *(step(one, event, held[event.number]) for event in one.events)]
    return {"steps": steps, "orders": one.edges, "missing": one.missing}


def step(one: Scene, event: Event, held: Sequence[str]) -> dict[str, Any]:
    """One event and what memory holds after it."""
    wrong = {key(touch) for touch in event.touches if touch.wrong}
    places = [at for at, memory in enumerate(one.memory) if memory.key in wrong]
    return {
        "event": event.number,
        "lane": f"{event.lane}{event.on_host}",
        "said": f"{event.number}. {said(event)}",
        "memory": held,
        "wrong": places,
    }
