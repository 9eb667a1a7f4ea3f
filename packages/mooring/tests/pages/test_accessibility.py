"""Every page through the eyes of axe-core, in light and dark; and the structure that readers of screens walk along."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from packages.mooring.tests.acceptance.browser import log_in, open_page
from packages.mooring.tests.acceptance.world import Up

pytestmark = pytest.mark.browser

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.0.min.js").read_text()
LOOKED_AT = ["/workers/runners/linux-0", "/nodes/work-01"]
PAGES = [
    "/",
    "/?view=table",
    "/claims",
    "/warmups",
    "/submissions",
    "/services",
    "/services/deploy",
    "/invariants",
    "/audit",
    "/usage?price=0.12",
    "/doctor",
    "/runbook",
    "/runbook/errors",
    "/docs",
    "/docs/harbour/tides",
    "/login",
    "/pools/runners/linux",
    "/pools/runners/linux?tab=yaml",
    "/pools/new",
    "/warmups/search/harbour-log",
    "/services/harbour/tides",
    "/actions/pools/runners/linux/scale",
    *LOOKED_AT,
]


@pytest.fixture
def page(browser: Browser, up: Up) -> Iterator[Page]:
    with open_page(browser, up.url) as opened:
        yield opened


def violations(page: Page) -> list[str]:
    page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then(result => result.violations)")
    pairs = [(broken["id"], node) for broken in found for node in broken["nodes"]]
    return [f"{rule}: {node['html'][:120]} {node['failureSummary']}" for rule, node in pairs]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_to_complain_about(browser: Browser, up: Up, path: str, scheme: str):
    with open_page(browser, up.url + path, color_scheme=scheme) as page:
        assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("path", "act"),
    [
        ("/pools/runners/linux", "Scale"),
        ("/pools/runners/linux", "Claim a worker"),
        ("/workers/runners/linux-0", "Retire"),
        ("/warmups/search/harbour-log", "Re-warm"),
        ("/services/harbour/tides", "Delete"),
        ("/invariants", "Pause"),
    ],
)
def test_axe_finds_nothing_to_complain_about_in_an_open_dialog(
    browser: Browser, up: Up, path: str, act: str, scheme: str
):
    with open_page(browser, up.url, color_scheme=scheme) as page:
        log_in(page, up.url, up.token)
        page.goto(up.url + path)
        page.get_by_role("link", name=act, exact=True).first.click()
        expect(page.locator("#dialog")).to_be_visible()
        assert page.evaluate("document.querySelector('#dialog input:not([type=hidden])') === document.activeElement")
        assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_about_in_the_palette_the_keys_and_a_toast(browser: Browser, up: Up, scheme: str):
    with open_page(browser, up.url, color_scheme=scheme) as page:
        for key, dialog in (("Control+k", "#palette"), ("?", "#help")):
            page.keyboard.press(key)
            expect(page.locator(dialog)).to_be_visible()
            assert violations(page) == []
            page.keyboard.press("Escape")
            expect(page.locator(dialog)).to_be_hidden()
        log_in(page, up.url, up.token)
        page.goto(f"{up.url}/actions/invariants/leftover-jobs/resume")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#toast")).to_contain_text("resume Invariant leftover-jobs: done")
        assert violations(page) == []


def test_axe_would_find_something(page: Page):
    page.evaluate("document.querySelector('#search').parentElement.replaceWith(document.querySelector('#search'))")
    page.evaluate("document.querySelector('#search').removeAttribute('placeholder')")
    assert any("label" in told for told in violations(page))


@pytest.mark.parametrize("path", PAGES)
def test_headings_go_down_one_step_at_a_time(browser: Browser, up: Up, path: str):
    with open_page(browser, up.url + path) as page:
        levels = page.eval_on_selector_all("main h1, main h2, main h3", "all => all.map(h => Number(h.tagName[1]))")
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_a_node_s_workers_can_be_walked_with_the_keys_alone(page: Page, up: Up):
    node = next(item for item in up.get("/v1/nodes")["items"] if sum(item["workers"].values()) > 1)["name"]
    there = [worker["name"] for worker in up.get(f"/v1/workers?node={node}")["items"]]
    picture = page.locator(f"#tile-{node} .cells")
    picture.focus()
    tooltip = page.locator("#tooltip")
    tooltip.wait_for(state="visible")
    assert there[0] in tooltip.inner_text()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("name => document.getElementById('tooltip').textContent.includes(name)", arg=there[1])
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("name => document.getElementById('tooltip').textContent.includes(name)", arg=there[0])
    picture.blur()
    tooltip.wait_for(state="hidden")


def test_the_first_thing_tab_reaches_skips_the_navigation(page: Page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#content"


def test_every_box_tells_its_node_and_counts(page: Page, up: Up):
    labels = page.eval_on_selector_all(".tile .cells", "all => all.map(svg => svg.getAttribute('aria-label'))")
    nodes = up.get("/v1/nodes")["items"]
    assert len(labels) == len(nodes)
    assert {label.split(",")[0] for label in labels} == {node["name"] for node in nodes}
