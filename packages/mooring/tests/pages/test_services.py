"""The pages of services, in a real browser, with real processes behind them: refused, repaired, serving, documented."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from packages.mooring.tests.acceptance.browser import open_page
from packages.mooring.tests.acceptance.services import run_fix, service_body, until_code
from packages.mooring.tests.acceptance.world import Up, until

pytestmark = pytest.mark.browser

NAMESPACE = "pages-services"


@pytest.fixture
def namespace(up: Up) -> Iterator[str]:
    up.kubectl("create", "namespace", NAMESPACE)
    yield NAMESPACE
    up.kubectl("delete", "namespace", NAMESPACE)


def card(page: Page, key: str) -> Locator:
    return page.locator(f'[data-service="{key}"]')


def test_the_split_of_the_pools_is_told_before_apply_and_its_fix_leads_to_the_endpoints(
    browser: Browser, up: Up, namespace: str
):
    key = f"{namespace}/search"
    with open_page(browser, f"{up.url}/services") as page:
        up.kubectl("apply", "-f", "-", body=service_body(namespace, "search", placement={}))
        expect(card(page, key)).to_contain_text("✕ Failed", timeout=20_000)
        expect(card(page, key)).to_contain_text("0 of 12 nodes fit")
        expect(card(page, key)).to_contain_text("10 node(s) had untolerated taint(s) {workload: blast}")
        fix = card(page, key).locator(".fix code").inner_text()
        assert up.objects("deployments", "-n", namespace) == []

        page.goto(f"{up.url}/docs/{key}")
        expect(page.locator("#unavailable")).to_contain_text("0 of 12 nodes fit")
        expect(page.locator("#unavailable pre")).to_have_text(fix)
        expect(page.locator("[data-endpoint]")).to_have_count(0)

        run_fix(up, fix)
        page.goto(f"{up.url}/services")
        expect(card(page, key)).to_contain_text("✓ Serving", timeout=60_000)
        card(page, key).get_by_role("link", name="2 endpoints").click()
        expect(page.locator("h1")).to_have_text("Odd API 1")
        endpoints = page.locator("[data-endpoint]").evaluate_all("all => all.map(one => one.dataset.endpoint)")
        assert endpoints == ["GET /odds", "DELETE /odds/{id}"]
        expect(page.locator("main h2")).to_have_text(["odds", "Schemas"])
        expect(page.locator('[data-schema="Odd"]')).to_contain_text("integer")

        counts = page.locator("#counts > div").all_inner_texts()
        assert [count.split() for count in counts] == [
            ["endpoints", "2"],
            ["groups", "1"],
            ["GET", "1"],
            ["DELETE", "1"],
            ["schemas", "1"],
        ]
        expect(page.get_by_role("link", name="All about odds")).to_have_attribute("href", re.compile(r"http://.*/html"))
        source = page.get_by_role("link", name="openapi.json").get_attribute("href")
        document = page.request.get(f"{up.url}{source}")  # without a login: pages are open on this machine
        assert document.json()["info"]["title"] == "Odd"


def test_a_document_shows_parameters_answers_and_schemas(browser: Browser, up: Up):
    until_code(up, "harbour/tides", "Serving")
    with open_page(browser, f"{up.url}/docs/harbour/tides") as page:
        tide = page.locator('[data-endpoint="GET /tides/{harbour}"]')
        expect(tide.locator("tbody tr")).to_contain_text(["harbourpathstringyes", "hourqueryintegerno0 to 24"])
        expect(tide).to_contain_text("404 no such harbour")
        expect(page.locator('[data-schema="Tide"] tbody tr')).to_have_count(3)
        expect(page.locator("main")).to_contain_text("It has no documentation of its own")


def test_an_unknown_address_is_a_page_with_the_way_back(browser: Browser, up: Up):
    page = browser.new_page()  # the browser itself complains about a 404
    page.goto(f"{up.url}/nowhere")
    expect(page.locator("h1")).to_have_text("Not found")
    page.locator("main").get_by_role("link", name="Services").click()
    expect(page.locator("h1")).to_have_text("Services")
    page.goto(f"{up.url}/docs/harbour/nobody")
    expect(page.locator("#failure")).to_contain_text("there is no service harbour/nobody")
    expect(page.locator("#failure pre")).to_contain_text("harbour/tides")
    page.close()


def test_mooring_s_own_document_is_there_too_and_leads_to_the_others(browser: Browser, up: Up):
    with open_page(browser, f"{up.url}/docs") as page:
        expect(page.locator("h1")).to_contain_text("Mooring API")
        expect(page.locator('[data-endpoint="GET /v1/services"]')).to_be_visible()
        page.get_by_role("link", name="harbour/tides").click()
        expect(page.locator("h1")).to_contain_text("Tides API")


def test_services_can_be_filtered_and_taken_as_json(browser: Browser, up: Up):
    until_code(up, "harbour/tides", "Serving")
    with open_page(browser, f"{up.url}/services?state=Failed&q=tides") as page:
        expect(page.locator("#services")).to_contain_text("No service matches")
        page.get_by_role("link", name="Show all").click()
        expect(card(page, "harbour/tides")).to_be_visible()
    with up.http() as http:
        rows = http.get("/services.json?q=tides").json()["items"]
        table = http.get("/services.csv?q=tides").text.splitlines()
    assert [row["name"] for row in rows] == ["tides"] and len(table) == 2


def test_a_service_that_goes_down_is_seen_without_a_reload(browser: Browser, up: Up, namespace: str):
    key = f"{namespace}/fading"
    up.kubectl("apply", "-f", "-", body=service_body(namespace, "fading"))
    until_code(up, key, "Serving")
    with open_page(browser, f"{up.url}/services?q=fading") as page:
        page.evaluate("window.openedOnce = true")
        expect(card(page, key)).to_contain_text("✓ Serving")
        up.kubectl("-n", namespace, "scale", "deployment", "fading", "--replicas=0")
        expect(card(page, key)).not_to_contain_text("✓ Serving", timeout=20_000)
        assert page.evaluate("window.openedOnce")
    until(lambda: up.get(f"/v1/services/{key}")["status"]["phase"] == "Failed", 30, "somebody else owns replicas")
    why = up.get(f"/v1/services/{key}")["why"]
    assert why["code"] == "ReplicasTaken"
    run_fix(up, why["fix"])
    until_code(up, key, "Serving")
