"""The site: built from the docs without a warning, and driven in a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

# One worker builds the site for all of them.
pytestmark = pytest.mark.xdist_group("site")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site's folder; a link that leads nowhere, or a page that no menu names, fails it."""
    folder = tmp_path_factory.mktemp("site")
    # Not with --quiet: it drops warnings before --strict counts them, and nothing would fail.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing of it."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its base does
        """Nothing."""


@pytest.fixture(scope="module")
def tab(site: Path) -> Iterator[tuple[Callable[[str], Page], list[str]]]:
    """Opens a page of the site; and what the browser complained of or asked for elsewhere."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("CHROMIUM IS NOT HERE: the site was not driven in a browser")
    from playwright.sync_api import sync_playwright

    said: list[str] = []
    handler = partial(Quiet, directory=str(site))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_context().new_page()
        page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on(
            "request",
            lambda r: None if r.url.startswith((here, "data:", "blob:")) else said.append(r.url),
        )

        def opened(path: str) -> Page:
            page.goto(f"{here}/{path}")
            return page

        yield opened, said
        browser.close()
    server.shutdown()
    server.server_close()


def test_from_the_start_to_a_counterexample(
    tab: tuple[Callable[[str], Page], list[str]],
) -> None:
    """A reader goes from the first page to a design page and steps through what refutes it."""
    opened, said = tab
    page = opened("index.html")
    assert page.locator("article img").evaluate("image => image.naturalWidth") > 100
    page.locator("article").get_by_role("link", name="Design pages").click()
    assert page.locator("article h1").inner_text().startswith("Design pages")
    page.locator("article").get_by_role("link", name="fp8-prefill/staged-no-wait").click()
    assert page.locator("article h1").inner_text().startswith("fp8-prefill/staged-no-wait")
    widths = page.locator("article img").evaluate_all("all => all.map((i) => i.naturalWidth)")
    assert len(widths) == 2
    assert min(widths) > 100
    page.get_by_role("link", name="Step through every counterexample").click()
    page.locator(".missing-edge.shown").wait_for()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.locator(".missing-edge.shown output").inner_text().startswith("1 of ")
    assert said == []


def test_every_page(site: Path, tab: tuple[Callable[[str], Page], list[str]]) -> None:
    """Each opens with a heading, without an error and without asking anything of elsewhere."""
    opened, said = tab
    pages = [p.relative_to(site).as_posix() for p in site.rglob("*.html") if p.name != "404.html"]
    assert len(pages) > 20
    for path in pages:
        assert opened(path).locator("h1").first.is_visible(), path
        assert said == [], path


def test_search(tab: tuple[Callable[[str], Page], list[str]]) -> None:
    """The search finds a word."""
    opened, said = tab
    page = opened("index.html")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("/")
    page.keyboard.type("pageable")
    page.locator(".md-search-result__item").first.wait_for(timeout=10_000)
    assert page.locator(".md-search-result__item").count() > 0
    assert said == []
