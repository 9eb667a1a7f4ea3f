"""What workers cost: recorded while they work, shown on the page, as CSV and as a metric."""

import re

import pytest
from prometheus_client import REGISTRY

from drydock import Script
from mooring.dashboard.usage_pages import read_usage
from mooring.dashboard.views import render
from packages.mooring.tests.scenarios.harbour import NAMESPACE
from packages.mooring.tests.scenarios.test_demand import claim_for

PRICE = 0.5


def counted(state: str) -> float:
    labels = {"pool": f"{NAMESPACE}/elastic", "state": state}
    return REGISTRY.get_sample_value("mooring_pool_worker_seconds_total", labels) or 0.0


@pytest.mark.world(scripts=lambda _: Script(start_seconds=20.0))
async def test_the_page_shows_worker_hours_money_and_what_other_wait_targets_cost(world):
    first = world.start("a")
    before = {state: counted(state) for state in ("idle", "busy", "starting")}
    await world.pool("elastic", max=60, demand={"min": 1})
    await world.until_idle(1, name="elastic")
    await claim_for(world, first, 620, every=5.0)
    await world.clock.sleep(15)
    page = await read_usage(first.mooring.queries, 7, PRICE)
    rows = {row.owner: row for row in page.report.items}
    assert rows["acme"].busy_hours > 0 and rows[""].idle_hours > 0 and rows[""].starting_hours > 0
    hours = page.report.idle_hours + page.report.busy_hours + page.report.starting_hours
    assert page.report.cost == pytest.approx(hours * PRICE, abs=0.01)

    (targets,) = page.targets
    idle = [one.idle for one in targets.targets]
    assert idle == sorted(idle, reverse=True) and len(set(idle)) == len(idle) > 2, "a longer wait takes fewer workers"
    html = render("usage.html", page=page, here="usage", may=lambda *_: False)
    cells = re.findall(r'data-label="Cost an hour">([0-9.]+)<', html)
    assert cells == [f"{count * PRICE:.2f}" for count in idle]
    assert f"{targets.floor} idle for 99 % within 500ms" in html
    assert "/usage.csv?days=7&amp;price=0.5" in html

    spent = {state: counted(state) - was for state, was in before.items()}
    assert spent["idle"] == pytest.approx(page.report.idle_hours * 3600, rel=0.05)
    assert spent["starting"] > 0 and spent["busy"] > 0


async def test_a_pool_page_shows_the_floor_that_follows_demand_and_its_reason(world):
    first = world.start("a")
    await world.pool("elastic", max=10, demand={"min": 3})
    await world.until_idle(3, name="elastic")
    await world.clock.sleep(15)
    html = render(
        "_pool_standing.html", pool=first.mooring.queries.fleet.pool(NAMESPACE, "elastic"), page={"capacity": ""}
    )
    assert "<dt>floor</dt><dd>3</dd>" in html
    assert "Floor: 3 idle: " in html
