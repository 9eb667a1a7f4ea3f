"""A real Chromium for page tests. One a module: while it runs, its thread cannot run an event loop of its own."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from mooring.dashboard.shapes import CELL, COLUMNS
from packages.mooring.tests.requirements import require_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Import this fixture into a conftest to use it."""
    path = require_chromium()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@contextmanager
def open_page(browser: Browser, url: str, **context: Any) -> Iterator[Page]:
    """A page in a window of its own. What the browser complains about fails the test that made it."""
    window = browser.new_context(viewport={"width": 1400, "height": 1000}, **context)
    page = window.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(url)
    try:
        yield page
    finally:
        window.close()
    assert not complaints, complaints


def log_in(page: Page, url: str, token: str) -> None:
    """Log in as a person does."""
    page.goto(f"{url}/login")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{url}/")


class FleetPage:
    """The fleet page of a running Mooring, as somebody sees it who never reloads."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.evaluate("window.openedOnce = true")

    def counts(self, pool: str) -> dict[str, int]:
        """The numbers in a pool's row; empty when there is no such row."""
        return dict(self._page.evaluate(_READ_COUNTS, pool))

    def note(self, node: str) -> str:
        """What a node's box says beneath its name."""
        return str(self._page.locator(f"#tile-{node} .note").text_content())

    def until(self, holds: Callable[[], bool], within: float, what: str) -> float:
        """Wait without leaving the page; answers how long it took."""
        started = time.monotonic()
        while not holds():
            assert time.monotonic() - started < within, f"the page did not show within {within} s: {what}"
            self._page.wait_for_timeout(50)
        assert self._page.evaluate("window.openedOnce"), "the page was loaded again"
        return time.monotonic() - started

    def hover(self, worker: dict[str, Any]) -> str:
        """Point at a worker's cell; answers what is shown beside it."""
        tile = self._page.locator(f"#tile-{worker['node']} .cells")
        for index in range(int(self._page.locator(f"#tile-{worker['node']}").get_attribute("data-cells") or 0)):
            tile.hover(position={"x": index % COLUMNS * CELL + 7, "y": index // COLUMNS * CELL + 7})
            self._page.locator("#tooltip").wait_for(state="visible")
            told = str(self._page.locator("#tooltip").text_content())
            if told.startswith(f"{worker['namespace']}/{worker['name']}:"):
                return told
        raise AssertionError(f"no cell of {worker['node']} is {worker['name']}")


_READ_COUNTS = """pool => {
  for (const row of document.querySelectorAll("#pools .pool"))
    if (row.dataset.pool === pool)
      return [...row.querySelectorAll("dl.counts > div")].map(
        pair => [pair.querySelector("dt").textContent.trim(), Number(pair.querySelector("dd").textContent)]);
  return [];
}"""
