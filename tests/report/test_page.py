"""The page in a real browser: keys, marks, memory, no errors, no requests, no JavaScript needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from streamorder.report.page import page
from streamorder.report.scene import scenes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from streamorder import Verdict

Open = "Callable[..., Page]"


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """`opened(verdicts)`: a browser's page; afterwards nothing may have been said or asked for."""
    said: list[str] = []
    contexts = []

    def show(verdicts: list[Verdict], address: str = "", *, javascript: bool = True) -> Page:
        file = tmp_path / "page.html"
        file.write_text(page(verdicts), encoding="utf-8")
        contexts.append(browser.new_context(java_script_enabled=javascript, offline=True))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        own = file.as_uri()
        tab.on("request", lambda r: said.append(r.url) if r.url.partition("#")[0] != own else None)
        tab.goto(own + address)
        return tab

    yield show
    for context in contexts:
        context.close()
    assert said == []


def shown(tab: Page) -> dict[str, Any]:
    """What the page shows now: the step, the event, memory, which boxes are to come or marked."""
    return tab.evaluate(
        """() => {
        const it = document.querySelector(".missing-edge.shown");
        const numbers = (what) => [...it.querySelectorAll(what)].map((e) => +e.dataset.event);
        const visible = (e) => getComputedStyle(e).display !== "none";
        return {
          section: it.id,
          step: it.querySelector("output").textContent,
          now: numbers(".event.now"),
          future: numbers(".event.future"),
          marked: numbers(".event.marked"),
          wrong: numbers(".event.wrong"),
          said: it.querySelector(".here").textContent,
          memory: Object.fromEntries([...it.querySelectorAll(".memory tbody tr")].map(
            (row) => [row.children[0].textContent, row.children[1].textContent])),
          bad: [...it.querySelectorAll(".memory tr.wrong")].map((r) => r.children[0].textContent),
          orders: [...it.querySelectorAll(".before")].filter(visible).map(
            (line) => [+line.dataset.from, +line.dataset.to]),
          address: location.hash,
        };
    }"""
    )


def test_keys_step_through_it(opened: Any, verdict: Callable[..., Verdict]) -> None:
    """Home, arrows, End: events come one by one, and memory holds what the scene says."""
    found = verdict("slot-reuse")
    (scene,) = scenes(found)
    tab = opened([found])
    assert shown(tab)["step"] == "6 of 6"
    tab.keyboard.press("Home")
    for number in range(len(scene.events) + 1):
        now = shown(tab)
        assert now["step"] == f"{number} of 6"
        assert now["now"] == ([number] if number else [])
        assert now["future"] == list(range(number + 1, 7))
        assert now["memory"] == {m.name: m.versions[number] for m in scene.memory}
        assert now["address"] == f"#1.{number}"
        tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert shown(tab)["step"] == "6 of 6"
    assert shown(tab)["bad"] == ["d"]
    for key, step in (
        ("ArrowLeft", 5),
        ("k", 4),
        ("j", 5),
        ("Home", 0),
        ("ArrowUp", 0),
        ("End", 6),
    ):
        tab.keyboard.press(key)
        assert shown(tab)["step"] == f"{step} of 6"


def test_marks(kind: str, opened: Any, verdict: Callable[..., Verdict]) -> None:
    """Exactly the events with a role are marked; `m` goes to where both have happened."""
    found = verdict(kind)
    scene = scenes(found)[0]
    tab = opened([found])
    tab.keyboard.press("Home")
    tab.keyboard.press("m")
    now = shown(tab)
    assert now["marked"] == [event.number for event in scene.events if event.role]
    last = max(scene.missing) if scene.missing else len(scene.events)
    assert now["now"] == [last]
    lines = tab.locator(".missing-edge.shown path.missing")
    assert lines.count() == (scene.missing is not None)
    if scene.missing:
        assert "future" not in (lines.get_attribute("class") or "")
        assert "[marked: the " in now["said"]
        tab.keyboard.press("ArrowLeft")
        assert "future" in (lines.get_attribute("class") or "")


def test_happens_before_on_demand(opened: Any, verdict: Callable[..., Verdict]) -> None:
    """Hidden at first; `h` shows every edge, and hides them again; the tick does the same."""
    found = verdict("torn-copy")
    (scene,) = scenes(found)
    tab = opened([found])
    assert shown(tab)["orders"] == []
    tab.keyboard.press("h")
    assert sorted(shown(tab)["orders"]) == sorted(list(edge) for edge in scene.edges)
    tab.keyboard.press("m")
    needed = tab.eval_on_selector_all(".event.needed", "all => all.map((e) => +e.dataset.event)")
    assert needed == [1, 2, 3, 4, 5]
    tab.keyboard.press("h")
    assert shown(tab)["orders"] == []
    tab.get_by_label("happens-before").check()
    assert len(shown(tab)["orders"]) == len(scene.edges)


def test_order_is_not_offered_where_it_is_not_known(
    opened: Any, verdict: Callable[..., Verdict]
) -> None:
    """The machine's own path has no edges to show."""
    tab = opened([verdict("behind-a-flag")])
    assert tab.get_by_label("happens-before").is_disabled()


def test_buttons_and_slider(opened: Any, verdict: Callable[..., Verdict]) -> None:
    """What keys do, a mouse can."""
    tab = opened([verdict("slot-reuse")])
    for name, step in (("first", 0), ("forward", 1), ("forward", 2), ("back", 1), ("last", 6)):
        tab.get_by_role("button", name=name).click()
        assert shown(tab)["step"] == f"{step} of 6"
    tab.get_by_role("button", name="marked accesses").click()
    assert shown(tab)["now"] == [5]
    tab.get_by_label("step").fill("3")
    assert shown(tab)["now"] == [3]
    tab.keyboard.press("ArrowRight")
    assert shown(tab)["now"] == [4]


def test_several_missing_edges(opened: Any, verdict: Callable[..., Verdict]) -> None:
    """`n` and `p` go from one to the next, links too, and an address leads to one and its step."""
    found = verdict("counterexamples/programs/races.py:two_mistakes")
    assert len(found.missing_edges) == 2
    tab = opened([found], "#2.1")
    assert (shown(tab)["section"], shown(tab)["now"]) == ("edge2", [1])
    tab.keyboard.press("p")
    assert shown(tab)["section"] == "edge1"
    tab.keyboard.press("p")
    assert shown(tab)["section"] == "edge1"
    tab.keyboard.press("n")
    assert shown(tab)["address"] == "#2.1"
    tab.get_by_role("link", name="wrong version").first.click()
    assert shown(tab)["section"] == "edge1"


def test_without_javascript(opened: Any, verdict: Callable[..., Verdict]) -> None:
    """All the text, the source lines and every whole picture are there; nothing dead is."""
    found = verdict("counterexamples/programs/races.py:two_mistakes")
    tab = opened([found], javascript=False)
    text = tab.inner_text("body")
    for edge in found.missing_edges:
        assert edge.sentence in text
        assert str(edge.second.where) in text
    assert "# host" in text
    assert 'gpu.launch("make", s, writes={d: n})' in text
    assert tab.locator(".missing-edge").count() == 2
    assert tab.locator("svg.scene").first.is_visible()
    assert not tab.get_by_role("button", name="forward").first.is_visible()
    tab.locator("summary").first.click()
    assert tab.locator("details ol li").first.is_visible()


def test_what_a_protocol_is_called_is_only_text(
    opened: Any, verdict: Callable[..., Verdict]
) -> None:
    """Names, labels and source lines cannot become markup or end the script."""
    found = verdict("deadlock")
    odd = "</script><img src=x onerror=alert(1)>&amp;"
    edge = found.missing_edges[0]
    events = tuple(event._replace(label=odd) for event in edge.counterexample)
    edge = edge._replace(counterexample=events, sentence=odd)
    tab = opened([found._replace(name=odd, missing_edges=(edge,))])
    assert tab.locator("img").count() == 0
    assert odd in tab.inner_text("h1")
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowRight")
    assert odd in shown(tab)["said"]
