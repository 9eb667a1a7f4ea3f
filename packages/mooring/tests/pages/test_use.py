"""Using the pages: keys, filters that live in the URL, the table, the theme, the badge."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from packages.mooring.tests.acceptance.browser import open_page
from packages.mooring.tests.acceptance.pools import own_pool
from packages.mooring.tests.acceptance.world import Up

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser, up: Up) -> Iterator[Page]:
    with open_page(browser, up.url) as opened:
        yield opened


# --- keys ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("key", "heading"),
    [("c", "Claims"), ("s", "Services"), ("i", "Invariants"), ("a", "Audit"), ("d", "Mooring API"), ("f", "Fleet")],
)
def test_g_and_a_letter_go_to_a_page(page: Page, key: str, heading: str):
    page.keyboard.press("g")
    page.keyboard.press(key)
    expect(page.locator("h1")).to_contain_text(heading)


def test_slash_searches_and_letters_typed_there_are_letters(page: Page, up: Up):
    page.keyboard.press("/")
    page.keyboard.type("ga?")
    expect(page.locator("#search")).to_be_focused()
    expect(page.locator("#search")).to_have_value("ga?")
    assert page.url.partition("?")[0] == f"{up.url}/"
    expect(page.locator("#help")).to_be_hidden()


def test_a_question_mark_shows_the_keys_and_escape_hides_them(page: Page):
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


# --- filters ---------------------------------------------------------------------------------------------------------
def test_a_filter_is_in_the_url_and_survives_a_reload(page: Page):
    page.locator("select[name=pool]").select_option("queries/duck")
    expect(page.locator("#summary")).to_contain_text("4 of 12 workers")
    expect(page).to_have_url(re.compile(r"pool=queries%2Fduck"))
    page.reload()
    expect(page.locator("#summary")).to_contain_text("4 of 12 workers")
    expect(page.locator("select[name=pool]")).to_have_value("queries/duck")


def test_going_back_takes_the_filter_away(page: Page):
    page.locator("select[name=state]").select_option("lost")
    expect(page.locator("#summary")).to_contain_text("0 of 12 workers")
    page.go_back()
    expect(page.locator("#summary")).to_contain_text("12 of 12 workers")


def test_a_search_finds_by_name_and_node(page: Page, up: Up):
    node = up.workers("runners/linux")[0]["node"]
    there = len(up.get(f"/v1/workers?node={node}")["items"])
    page.locator("#search").fill(node)
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_contain_text(f"{there} of 12 workers")


def test_a_filtered_page_stays_filtered_while_it_lives(browser: Browser, up: Up):
    with own_pool(up, "filtered", warm=1, max=2) as pool, open_page(browser, f"{up.url}/?pool={pool.key}") as page:
        expect(page.locator("#summary")).to_contain_text("1 of 13 workers")
        pool.kubectl("scale", "workerpool", pool.name, "--replicas=2")
        expect(page.locator("#summary")).to_contain_text("2 of 14 workers", timeout=20_000)


def test_the_table_shows_the_same_workers_under_the_same_filter(page: Page, up: Up):
    page.goto(f"{up.url}/?pool=runners%2Flinux")
    page.get_by_role("link", name="Table").click()
    expect(page.locator("#workers tbody tr")).to_have_count(8)
    expect(page.locator("select[name=pool]")).to_have_value("runners/linux")
    expect(page.locator("#workers tbody")).to_contain_text("ready and waiting for a claim")
    page.get_by_role("link", name="Map").click()
    expect(page.locator("#summary")).to_contain_text("8 of 12 workers")


def test_nothing_found_offers_the_way_back(page: Page, up: Up):
    page.goto(f"{up.url}/?view=table&q=nobody")
    page.get_by_role("link", name="Show all").click()
    expect(page.locator("#workers tbody tr")).to_have_count(12)


def test_what_somebody_is_typing_survives_boxes_that_come_and_go(page: Page, up: Up):
    page.locator("#search").type("half a na")
    with own_pool(up, "disturbing", warm=1, max=1) as pool:
        expect(page.locator("#pools")).to_contain_text(pool.key)
        expect(page.locator("#search")).to_have_value("half a na")
        expect(page.locator("#search")).to_be_focused()


# --- policy ----------------------------------------------------------------------------------------------------------
def test_a_picture_that_is_no_file_of_ours_is_refused_and_its_page_fails_its_test(browser: Browser, up: Up):
    with pytest.raises(AssertionError, match="Content Security Policy"), open_page(browser, up.url) as page:
        page.evaluate(_LOAD, "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>")
    with open_page(browser, up.url) as page:
        page.evaluate(_LOAD, "/static/mooring.svg")


_LOAD = """address => new Promise(settled => {
  const picture = new Image();
  picture.onload = picture.onerror = settled;
  picture.src = address;
})"""


# --- theme -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_the_theme_follows_the_system_until_somebody_chooses(browser: Browser, up: Up, scheme: str, other: str):
    with open_page(browser, up.url, color_scheme=scheme) as page:
        before = _ground(page)
        page.locator("#theme").click()
        after = _ground(page)
        assert before != after
        page.reload()
        assert _ground(page) == after
        assert page.evaluate("document.documentElement.dataset.theme") == other


def _ground(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


# --- live ------------------------------------------------------------------------------------------------------------
def test_the_badge_says_how_fresh_the_page_is(page: Page):
    expect(page.locator("#live")).to_have_text(re.compile(r"Live · \d+ s ago · pause"))
    expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_a_paused_page_stands_still_and_a_resumed_one_catches_up(page: Page, up: Up):
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.locator("#live").click()
    expect(page.locator("#live")).to_have_text("Paused · resume")
    with own_pool(up, "unseen", warm=1, max=1) as pool:
        page.wait_for_timeout(1500)
        expect(page.locator("#pools")).not_to_contain_text(pool.key)
        page.locator("#live").click()
        expect(page.locator("#pools")).to_contain_text(pool.key, timeout=2000)
        expect(page.locator("#live")).to_have_attribute("data-state", "live")


def test_the_trail_shows_a_new_act_without_a_reload(browser: Browser, up: Up):
    with open_page(browser, f"{up.url}/audit?q=adopted") as page:
        page.evaluate("window.openedOnce = true")
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
        up.command("resume", "adopted", "--reason", "seen without a reload <b>bold</b>")
        expect(page.locator("#audit")).to_contain_text("seen without a reload <b>bold</b>", timeout=2000)
        assert page.evaluate("window.openedOnce")


def test_a_switch_flipped_elsewhere_is_seen_on_the_rules_page(browser: Browser, up: Up):
    with open_page(browser, f"{up.url}/invariants") as page:
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
        up.command("pause", "adopted", "--reason", "seen at once")
        try:
            expect(page.locator("#rule-adopted")).to_contain_text("seen at once", timeout=2000)
        finally:
            up.command("resume", "adopted")
        expect(page.locator("#rule-adopted")).not_to_contain_text("paused", timeout=2000)


def test_a_switch_says_what_it_does_survives_a_login_and_leaves_a_message_with_its_audit_row(browser: Browser, up: Up):
    with open_page(browser, f"{up.url}/invariants") as page:
        page.locator("#rule-schedulable").get_by_role("link", name="Pause").click()
        expect(page.locator("#dialog")).to_contain_text("will not act on any replica until it is resumed")
        page.get_by_role("link", name="Log in to continue").click()
        page.get_by_label("Token").fill(up.token)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("h1")).to_have_text("Pause schedulable")
        page.get_by_label("Reason").fill("by hand")
        page.get_by_role("button", name="Pause").click()
        try:
            expect(page.locator("#toast")).to_contain_text("pause Invariant schedulable: done")
            expect(page.locator("#rule-schedulable")).to_contain_text("by hand")
            expect(page.locator("#strip")).to_contain_text("1 invariant paused", timeout=3000)
            page.get_by_role("link", name="Audit row").click()
            expect(page.locator("#audit tbody tr")).to_have_count(1)
            expect(page.locator("#audit")).to_contain_text("by hand")
        finally:
            up.command("resume", "schedulable")
