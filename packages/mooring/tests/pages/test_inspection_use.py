"""The pages of one worker and one node in a real browser: they follow what happens, and nobody reloads them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from packages.mooring.tests.acceptance.browser import open_page
from packages.mooring.tests.acceptance.pools import OwnPool, own_pool
from packages.mooring.tests.acceptance.world import Up, until

pytestmark = pytest.mark.browser

SEEN_MILLISECONDS = 8000  # a heartbeat, and the second that changes are gathered for


@pytest.fixture
def pool(up: Up) -> Iterator[OwnPool]:
    with own_pool(up, "looked-at", warm=1, max=1, reuse="Always") as settled:
        yield settled


def watch(page: Page) -> None:
    """Leave a mark that a reload would wipe out."""
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.evaluate("window.openedOnce = true")


def test_a_worker_s_page_shows_a_claim_and_its_shield_and_that_it_is_over(browser: Browser, up: Up, pool: OwnPool):
    (worker,) = pool.workers()
    with open_page(browser, f"{up.url}/workers/{worker['namespace']}/{worker['name']}") as page, up.http() as api:
        watch(page)
        expect(page.locator("#standing h2")).to_have_text("idle")
        expect(page.locator("#protection")).to_contain_text("not protected")
        asked = api.post(f"/v1/pools/{pool.key}/claims", json={"owner": "acme", "ttlSeconds": 600})
        claim = asked.raise_for_status().json()
        expect(page.locator("#standing h2")).to_have_text("busy", timeout=SEEN_MILLISECONDS)
        expect(page.locator("#protection")).to_contain_text("min left", timeout=SEEN_MILLISECONDS)
        expect(page.locator("#sessions")).to_contain_text(claim["id"][:8], timeout=SEEN_MILLISECONDS)
        api.delete(f"/v1/claims/{claim['id']}").raise_for_status()
        expect(page.locator("#standing h2")).to_have_text("idle", timeout=SEEN_MILLISECONDS)
        assert page.evaluate("window.openedOnce")


def test_a_worker_s_page_says_that_it_is_gone(browser: Browser, up: Up, pool: OwnPool):
    (worker,) = pool.workers()
    with open_page(browser, f"{up.url}/workers/{worker['namespace']}/{worker['name']}") as page:
        watch(page)
        pool.kubectl("delete", "workerpool", pool.name)
        expect(page.locator("#standing")).to_contain_text("any more", timeout=30_000)
        expect(page.locator("#timeline")).to_be_hidden()
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
        assert page.evaluate("window.openedOnce")


def test_a_node_s_page_shows_that_it_drains_and_that_it_is_open_again(browser: Browser, up: Up, pool: OwnPool):
    node = pool.workers()[0]["node"]
    with open_page(browser, f"{up.url}/nodes/{node}") as page:
        watch(page)
        expect(page.locator("#standing")).to_contain_text("Open for work")
        pool.kubectl("cordon", node)
        try:
            expect(page.locator("#standing")).to_contain_text("Draining", timeout=SEEN_MILLISECONDS)
        finally:
            pool.kubectl("uncordon", node)
        expect(page.locator("#standing")).to_contain_text("Open for work", timeout=SEEN_MILLISECONDS)
        assert page.evaluate("window.openedOnce")


def test_a_page_that_was_paused_while_its_worker_went_says_so_when_it_is_resumed(
    browser: Browser, up: Up, pool: OwnPool
):
    (worker,) = pool.workers()
    page = browser.new_page()  # not `open_page`: the browser itself complains of the 404 that the page has become
    page.goto(f"{up.url}/workers/{worker['namespace']}/{worker['name']}")
    watch(page)
    page.locator("#live").click()
    pool.kubectl("delete", "workerpool", pool.name)
    until(lambda: not pool.workers(), 30, "the worker is gone")
    expect(page.locator("#standing h2")).to_have_text("idle")
    with page.expect_response(lambda answer: answer.status == 404):
        page.locator("#live").click()
    expect(page.locator("#standing")).to_contain_text("any more")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.close()
