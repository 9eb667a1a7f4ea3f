"""A person walks through the pages: from a broken pool to the log line, from a claim to its worker, with the palette.

One browser and one server for all; each test visits several pages.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from packages.mooring.tests.acceptance.browser import log_in, open_page
from packages.mooring.tests.acceptance.pools import NAMESPACE, pool_body
from packages.mooring.tests.acceptance.world import Up, until

pytestmark = pytest.mark.browser

WIDTHS = (390, 768, 1360, 2560)
PAGES = (
    "/",
    "/?view=table",
    "/pools/runners/linux",
    "/claims",
    "/submissions",
    "/services/harbour/tides",
    "/invariants",
    "/audit",
    "/usage?price=0.12",
    "/doctor",
    "/runbook",
    "/runbook/errors",
    "/docs",
    "/pools/new",
)


@pytest.fixture
def page(browser: Browser, up: Up) -> Iterator[Page]:
    with open_page(browser, up.url) as opened:
        log_in(opened, up.url, up.token)
        yield opened


@contextmanager
def crashing_pool(up: Up) -> Iterator[str]:
    """A pool whose workers end with one line, as long as the test."""
    body = pool_body(up, "crashing", warm=1, max=2)
    container = body["spec"]["template"]["spec"]["containers"][0]
    container["command"] = ["sh", "-c", "echo FATAL: no config; exit 1"]
    del container["readinessProbe"]
    up.kubectl("create", "namespace", NAMESPACE, check=False)
    up.kubectl("apply", "-f", "-", body=body)
    try:
        yield f"{NAMESPACE}/crashing"
    finally:
        up.kubectl("-n", NAMESPACE, "delete", "workerpool", "crashing", "--ignore-not-found")


def test_a_broken_pool_leads_to_the_line_that_says_why(page: Page, up: Up):
    with crashing_pool(up) as key:
        page.goto(f"{up.url}/")
        expect(page.locator(f'[data-pool="{key}"]')).to_contain_text("broken", timeout=120_000)
        page.locator("#strip").get_by_role("link", name="1 pool broken").click()
        expect(page.locator("#pools .pool")).to_have_count(1)
        page.locator(f'[data-pool="{key}"] h3 a').click()
        expect(page.locator("#pool-standing")).to_contain_text(re.compile(r"\d of \d workers crash: FATAL: no config"))
        page.get_by_role("link", name=re.compile("^log of")).click()
        expect(page.locator("#log pre")).to_contain_text("FATAL: no config")


def test_a_claim_made_on_the_pool_s_page_is_drawn_and_released_with_its_reason(page: Page, up: Up):
    page.goto(f"{up.url}/pools/runners/linux")
    expect(page.locator("#chart-workers .drawing")).to_be_visible()
    page.get_by_role("link", name="Claim a worker").click()
    expect(page.locator("#dialog")).to_contain_text("is claimed and protected")
    page.locator("#dialog").get_by_role("button", name="Claim").click()
    expect(page.locator("#claim h2").first).to_contain_text("runs on linux-")
    assert page.locator(".timeline .lane-row").count() >= 2
    page.locator("#claim .facts").get_by_role("link", name=re.compile("linux-")).click()
    expect(page.locator("h1")).to_contain_text("runners/linux-")
    page.go_back()
    page.get_by_role("link", name="Release").click()
    page.locator("#dialog").get_by_label("Reason").fill("walked through")
    page.locator("#dialog").get_by_role("button", name="Release").click()
    expect(page.locator("#toast")).to_contain_text("release Claim")
    expect(page.locator("#claim")).to_contain_text("walked through")


def test_the_palette_finds_objects_and_opens_them(page: Page, up: Up):
    page.keyboard.press("Control+k")
    page.keyboard.type("tides")
    expect(page.locator("#palette-found li").first).to_contain_text("harbour/tides")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{up.url}/services/harbour/tides")
    expect(page.locator("#log")).to_be_visible()


def test_the_palette_says_that_nothing_is_found_and_one_escape_closes_it(page: Page):
    page.keyboard.press("Control+k")
    page.keyboard.type("no such thing")
    expect(page.locator("#palette-none")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()


def test_a_dialog_refuses_a_number_out_of_bounds_and_keeps_what_was_typed(page: Page, up: Up):
    page.goto(f"{up.url}/pools/runners/linux")
    page.get_by_role("link", name="Scale").click()
    page.locator("#dialog").get_by_label("Idle workers to keep").fill("99")
    page.locator("#dialog").get_by_label("Reason").fill("too many")
    page.locator("#dialog").get_by_role("button", name="Scale").click()
    expect(page.locator("#dialog :invalid")).to_have_count(2)  # the field, and the form
    expect(page.locator("#dialog").get_by_label("Reason")).to_have_value("too many")


def test_the_focus_returns_to_an_act_whose_part_was_drawn_again_meanwhile(page: Page, up: Up):
    page.goto(f"{up.url}/services/harbour/tides")
    page.get_by_role("link", name="Delete").click()
    expect(page.locator("#dialog")).to_be_visible()
    page.evaluate("document.querySelectorAll('[data-part]').forEach(part => part.replaceWith(part.cloneNode(true)))")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Delete")).to_be_focused()


def test_long_names_make_no_page_wider_than_the_window(page: Page, up: Up):
    namespace, name = "n" * 63, "p" * 40
    up.kubectl("create", "namespace", namespace)
    try:
        body = pool_body(up, name, warm=0, max=1)
        body["metadata"]["namespace"] = namespace
        up.kubectl("apply", "-f", "-", body=body)
        until(lambda: up.get(f"/v1/pools?namespace={namespace}")["items"], 30, "the pool is there")
        own = f"/pools/{namespace}/{name}"
        for path in ("/", "/?view=table", "/claims", own, f"/actions{own}/scale"):
            page.goto(up.url + path)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{path} at {width}"
    finally:
        up.kubectl("delete", "namespace", namespace, "--wait=false")


def test_a_pool_is_checked_before_it_is_written(page: Page, up: Up):
    page.goto(f"{up.url}/pools/runners/linux/edit")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#preview")).to_contain_text("nothing changes")
    page.locator("#manifest").fill(page.locator("#manifest").input_value().replace("max: 20", "max: 21"))
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#preview")).to_contain_text("spec.max: 20 -> 21")


def test_a_filter_applies_while_somebody_types_and_keeps_the_place(page: Page, up: Up):
    page.goto(f"{up.url}/")
    page.locator("#search").press_sequentially("linux-1")
    expect(page).to_have_url(re.compile("q=linux-1"))
    expect(page.locator("#summary")).to_contain_text(re.compile("^[0-9] of"))
    expect(page.locator("#search")).to_be_focused()


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window_and_no_word_is_broken(browser: Browser, up: Up, width: int):
    with open_page(browser, up.url) as page:
        page.set_viewport_size({"width": width, "height": 900})
        for path in PAGES:
            page.goto(up.url + path)
            if page.locator("#live").count():  # the header has its full width only when the badge says "Live"
                expect(page.locator("#live")).to_have_attribute("data-state", "live")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{path} at {width}"
            assert page.evaluate(_CUT) == [], f"{path} at {width}"
            assert page.evaluate(_BROKEN_WORDS) == [], f"{path} at {width}"
            assert len(page.screenshot()) > 10_000, f"{path} at {width} is blank"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_title_of_a_log_is_not_covered_at_any_place_of_the_window(browser: Browser, up: Up, width: int):
    worker = up.kubectl("-n", "runners", "get", "pods", "-o", "name").out.split()[0].removeprefix("pod/")
    with open_page(browser, up.url) as page:
        page.goto(f"{up.url}/workers/runners/{worker}")
        expect(page.locator("#log .controls")).to_be_attached()
        for height in range(400, 1300, 100):
            page.set_viewport_size({"width": width, "height": height})
            # At one moment: the log is drawn again while it is read.
            title, controls = page.evaluate("""() => ["#log h2", "#log .controls"].map(
                part => document.querySelector(part).getBoundingClientRect().toJSON())""")
            assert title["bottom"] <= controls["top"], f"{width} x {height}"


# Short texts of the demo that end with an ellipsis.
_CUT = """() => [...document.querySelectorAll(".tile .note, .shards li, .lane-row > span")]
  .filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent.trim())"""

# Words of up to 24 letters that stand on two lines.
_BROKEN_WORDS = """() => {
  const broken = [], range = document.createRange();
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const within = node.parentElement;
    if (!within.checkVisibility() || within.closest("pre, textarea, thead, .hidden, svg")) continue;
    for (const word of node.textContent.matchAll(/[A-Za-z0-9]{2,24}/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (tops.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""
