"""The page that deploys, updates and deletes a service: the preflight answers before anything is written."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from mooring.dashboard.service_order_views import EXAMPLE, parse_order, print_manifest
from mooring.model.errors import InvalidInput
from mooring.model.service import ServiceSpec, ServiceStatus
from mooring.model.why import Why
from mooring.queries.services import ServiceReading
from packages.mooring.tests.acceptance.browser import log_in, open_page
from packages.mooring.tests.acceptance.services import service_body, until_code
from packages.mooring.tests.acceptance.world import Up, until
from packages.mooring.tests.pages.test_accessibility import violations

NAMESPACE = "page-orders"


@pytest.fixture
def namespace(up: Up) -> Iterator[str]:
    up.kubectl("create", "namespace", NAMESPACE)
    yield NAMESPACE
    up.kubectl("delete", "namespace", NAMESPACE)


def check(page: Page, body: dict[str, Any]) -> None:
    page.get_by_label("Manifest").fill(yaml.safe_dump(body, sort_keys=False))
    page.get_by_role("button", name="Check").click()


@pytest.mark.browser
def test_a_service_is_checked_created_updated_and_deleted_on_the_page(browser: Browser, up: Up, namespace: str):
    key = f"{namespace}/search"
    with open_page(browser, up.url) as page:
        log_in(page, up.url, up.token)
        page.goto(f"{up.url}/services")
        page.get_by_role("link", name="Deploy a service").click()
        assert violations(page) == []
        check(page, service_body(namespace, "search", placement={}))
        preflight = page.locator("#preflight")
        expect(preflight).to_contain_text("✕ preflight refused")
        expect(preflight).to_contain_text("0 of 12 nodes fit")
        expect(preflight.locator("pre")).to_have_text('set in the spec: {"placement": {"nodePool": "blast"}}')
        assert violations(page) == []
        assert up.objects("managedservices", "-n", namespace) == []

        check(page, service_body(namespace, "search"))
        expect(preflight).to_contain_text("✓ preflight ok")
        assert up.objects("managedservices", "-n", namespace) == []
        preflight.get_by_label("Reason").fill("the first one")
        preflight.get_by_role("button", name="Create").click()
        card = page.locator(f'[data-service="{key}"]')
        expect(card).to_contain_text("✓ Serving", timeout=60_000)

        card.get_by_role("link", name="Update").click()
        written = yaml.safe_load(page.get_by_label("Manifest").input_value())
        written["spec"]["replicas"] = 2
        check(page, written)
        expect(preflight).to_contain_text("replicas: 1 -> 2")
        expect(preflight).to_contain_text("Its pods stay.")
        preflight.get_by_role("button", name="Update").click()
        expect(card).to_contain_text("2 of 2 ready", timeout=60_000)

        card.get_by_role("link", name="Delete").click()
        expect(page.locator("#dialog")).to_contain_text("is deleted with its Deployment")
        page.locator("#dialog").get_by_label("Reason").fill("not needed")
        page.locator("#dialog").get_by_role("button", name="Delete").click()
        expect(card).to_have_count(0, timeout=20_000)
    until(lambda: not up.objects("deployments,services,pods", "-n", namespace), 60, "everything it owned is gone")
    with up.http() as api:
        rows = api.get("/v1/audit", params={"name": "search", "namespace": namespace, "actor": "operator"}).json()
    assert [(row["action"], row["reason"]) for row in rows["items"]] == [
        ("delete", "not needed"),
        ("update", "asked for on the dashboard"),
        ("create", "the first one"),
    ]


@pytest.mark.browser
def test_a_wrong_manifest_keeps_its_text_and_names_its_fields(browser: Browser, up: Up, namespace: str):
    page = browser.new_page()  # the browser itself complains about a 400
    log_in(page, up.url, up.token)
    page.goto(f"{up.url}/services/deploy")
    check(page, service_body(namespace, "search", port=0, imgae="x"))
    expect(page.locator("#problems")).to_contain_text("spec.imgae")
    expect(page.locator("#problems")).to_contain_text("spec.port")
    assert "imgae" in page.get_by_label("Manifest").input_value()
    page.close()


@pytest.mark.browser
def test_without_a_login_a_check_leads_to_the_login(browser: Browser, up: Up, namespace: str):
    with open_page(browser, f"{up.url}/services/deploy") as page:
        check(page, service_body(namespace, "search"))
        expect(page.locator("h1")).to_have_text("Log in")


@pytest.mark.browser
def test_the_manifest_of_the_demo_is_unchanged_when_it_is_checked(browser: Browser, up: Up):
    until_code(up, "harbour/tides", "Serving")
    with open_page(browser, up.url) as page:
        log_in(page, up.url, up.token)
        page.goto(f"{up.url}/services/deploy?service=harbour/tides")
        page.get_by_role("button", name="Check").click()
        expect(page.locator("#preflight")).to_contain_text("nothing changes")


def test_a_printed_manifest_is_the_same_order():
    spec = ServiceSpec(image="api:1", port=80, args=("a: b", "yes"), env=({"name": "A", "value": "1"},), expose="None")
    reading = ServiceReading("ns", "api", spec, ServiceStatus(), 1, False, Why("", "", None), "u-1")
    order = parse_order(print_manifest(reading))
    assert (order.spec, order.key, order.metadata.uid) == (spec, "ns/api", "u-1")


@pytest.mark.parametrize(
    "text", ["", "- a", "a: [", "a: &x [1]\nb: *x", "metadata: {name: [1]}", "!!python/object:os.system {}"]
)
def test_text_that_is_no_manifest_is_refused(text: str):
    with pytest.raises(InvalidInput):
        parse_order(text)


@pytest.mark.parametrize("text", ["{" * 200_000, "[" * 200_000, "- " * 100_000], ids=["maps", "lists", "items"])
def test_a_manifest_of_the_greatest_length_cannot_nest_so_deep_that_the_server_stands_still(text: str):
    with pytest.raises(InvalidInput, match="at most 64 levels deep"):
        parse_order(text)


@pytest.mark.parametrize("text", ["[" + ",".join(["a"] * 90_000) + "]", "\n".join(f"k{i}: 1" for i in range(18_000))])
def test_a_manifest_of_more_values_than_anybody_writes_is_given_up_early(text: str) -> None:
    """To read all of them would keep the event loop busy for 0.4 s."""
    with pytest.raises(InvalidInput, match="at most 5000 pairs"):
        parse_order(text)


@pytest.mark.parametrize(
    "value",
    ["1" + ":1" * 90_000, "1" + ":1" * 90_000 + ".5", "0x" + "f" * 10_000, "-" + "9" * 41, "0b" + "1" * 60_000],
    ids=["sexagesimal", "sexagesimal fraction", "hexadecimal", "decimal", "binary"],
)
@pytest.mark.parametrize(
    "text", ["spec: {port: %s}", "%s", "? %s\n: a", '!!int "%s"', '!<tag:yaml.org,2002:float> "%s"']
)
def test_numbers_that_cost_seconds_or_cannot_be_printed_are_refused(text: str, value: str):
    began = time.process_time()
    with pytest.raises(InvalidInput, match=r"number|tag"):
        parse_order(text % value)
    assert time.process_time() - began < 0.5


def test_text_that_begins_with_digits_may_be_long():
    digest = "1" + "0a" * 40
    order = parse_order(f"{EXAMPLE}  args: [{digest}, !!str 8080]\n")
    assert order.spec.args == (digest, "8080")


def test_a_manifest_may_have_many_items_side_by_side():
    items = ", ".join(f"{{name: A{number}, value: b}}" for number in range(200))
    order = parse_order(f"{EXAMPLE}  env: [{items}]\n")
    assert len(order.spec.env) == 200
