"""What operators do with kubectl, and how soon the page shows it to somebody who only looks."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from packages.mooring.tests.acceptance.browser import FleetPage, open_page
from packages.mooring.tests.acceptance.pools import OwnPool, own_pool
from packages.mooring.tests.acceptance.world import Up, until

pytestmark = [pytest.mark.slow, pytest.mark.browser]

SEEN_SECONDS = 8.0  # 2 where nothing else runs; the lags are printed


@pytest.fixture(scope="module")
def pool(up: Up) -> Iterator[OwnPool]:
    with own_pool(up, "guinea") as made:
        yield made


@pytest.fixture
def page(browser: Browser, up: Up) -> Iterator[FleetPage]:
    with open_page(browser, up.url) as opened:
        yield FleetPage(opened)


def seen(page: FleetPage, pool: OwnPool, count: int) -> None:
    """The API says that `count` workers are idle and nobody else is there; the page must say so soon."""
    pool.until_settled(count)
    lag = page.until(
        lambda: page.counts(pool.key).items() >= {"idle": count, "starting": 0}.items(), SEEN_SECONDS, f"{count} idle"
    )
    print(f"{pool.up.arguments[1]}: the page showed it {lag:.2f} s after the API")


def test_a_worker_killed_with_kubectl_is_replaced_and_the_page_shows_both(page: FleetPage, pool: OwnPool):
    before = pool.until_settled(3)
    victim = sorted(before)[1]
    pool.kubectl("delete", "pod", victim, "--wait=false")
    lag = page.until(lambda: page.counts(pool.key)["idle"] < 3, SEEN_SECONDS, "one idle worker less")
    print(f"the page showed the loss {lag:.2f} s after kubectl")
    seen(page, pool, 3)
    after = pool.idle()
    assert before.items() - after.items() == {(victim, before[victim])}


def test_kubectl_scale_makes_more_and_then_fewer(page: FleetPage, pool: OwnPool):
    pool.kubectl("scale", "workerpool", pool.name, "--replicas=5")
    seen(page, pool, 5)
    pool.kubectl("scale", "workerpool", pool.name, "--replicas=3")
    seen(page, pool, 3)


def test_a_cordoned_node_is_marked_and_its_workers_move(page: FleetPage, pool: OwnPool):
    pool.until_settled(3)
    node = pool.workers()[0]["node"]
    pool.kubectl("cordon", node)
    try:
        page.until(lambda: "cordon" in page.note(node), SEEN_SECONDS, f"{node} is cordoned")
        until(lambda: all(worker["node"] != node for worker in pool.workers()), 60, f"no worker is left on {node}")
        seen(page, pool, 3)
    finally:
        pool.kubectl("uncordon", node)
    page.until(lambda: "cordon" not in page.note(node), SEEN_SECONDS, f"{node} is open again")


def test_a_drained_node_gives_its_workers_away(page: FleetPage, pool: OwnPool):
    pool.until_settled(3)
    node = pool.workers()[0]["node"]
    try:
        pool.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
        assert all(worker["node"] != node for worker in pool.workers() if worker["state"] != "draining")
        seen(page, pool, 3)
        assert all(worker["node"] != node for worker in pool.workers())
    finally:
        pool.kubectl("uncordon", node)


def test_pointing_at_a_worker_tells_its_name_its_state_and_why(page: FleetPage, pool: OwnPool):
    pool.until_settled(3)
    worker = pool.workers()[0]
    page.until(lambda: page.counts(pool.key).get("idle") == 3, SEEN_SECONDS, "3 idle")
    told = page.hover(worker)
    assert f"{worker['namespace']}/{worker['name']}: idle since " in told
    assert worker["reason"] in told


def test_a_deleted_pool_takes_its_pods_and_its_card_with_it(page: FleetPage, up: Up):
    with own_pool(up, "shortlived", warm=2, max=2) as pool:
        page.until(lambda: page.counts(pool.key).get("idle") == 2, SEEN_SECONDS, "the new pool's card")
        pool.kubectl("delete", "workerpool", pool.name)
        until(lambda: not pool.pods(), 60, "its pods are gone")
        page.until(lambda: page.counts(pool.key) == {}, SEEN_SECONDS, "its card is gone")
        assert pool.workers() == []
