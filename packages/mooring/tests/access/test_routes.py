"""Every route is guarded as the table says."""

import pytest
from litestar import get
from litestar.routes import HTTPRoute

from drydock import plain_nodes
from mooring.api.access.acts import KEY, Act, Asks, Open, Sees
from mooring.dashboard.live import RENDERERS
from mooring.dashboard.live_access import RULES
from mooring.dashboard.pages import PAGES
from mooring.incidents.real_stage import open_real_stage
from packages.mooring.tests.access.front import OPERATOR_TOKEN, Front, open_front
from packages.mooring.tests.access.judging import Judge, make_callers, make_objects
from packages.mooring.tests.access.table import TABLE
from packages.mooring.tests.requirements import require_kubernetes


def routes(front: Front) -> dict[tuple[str, str], object]:
    """The rule of every route."""
    return {
        (method, route.path_format if "{" not in route.path else route.path): handler.opt.get(KEY)
        for route in front.app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in handler.http_methods
        if method != "OPTIONS" and not route.path.startswith("/schema")
    }


async def test_every_route_declares_what_it_needs_and_is_in_the_table(world):
    async with open_front(world, world.start()) as front:
        found = routes(front)
        assert [route for route, rule in found.items() if not isinstance(rule, Act | Asks | Open | Sees)] == []
        assert set(found) == set(TABLE)


async def test_a_route_that_declares_nothing_is_refused_to_everybody(world):
    @get("/forgotten", sync_to_thread=False)
    def forgotten() -> str:
        return "secret"

    async with open_front(world, world.start()) as front:
        front.app.register(forgotten)
        assert (await front.call("GET", "/forgotten")).status == 401
        answer = await front.call("GET", "/forgotten", OPERATOR_TOKEN)
        assert answer.status == 403 and b"secret" not in answer.body
        assert (await front.call("GET", "/schema/openapi.json", OPERATOR_TOKEN)).status in (403, 404)


def test_every_live_view_needs_what_its_page_needs():
    assert set(RULES) == set(RENDERERS)
    pages = {path.lstrip("/") or "fleet": handler.opt[KEY] for handler in PAGES for path in handler.paths}
    assert {page: rule for page, rule in RULES.items() if page in pages} == {
        page: pages[page] for page in RULES if page in pages
    }


@pytest.mark.slow
async def test_every_caller_gets_what_the_table_says(world):
    async with open_front(world, world.start()) as front:
        callers, node = await make_callers(world), await make_objects(world)
        wrong = await Judge(front, callers, node).judge()
        assert not wrong, "\n".join(wrong)


@pytest.mark.kubernetes
@pytest.mark.realtime
@pytest.mark.slow
async def test_every_caller_gets_what_the_table_says_on_kubernetes():
    require_kubernetes()
    async with open_real_stage(1.0, plain_nodes(2)) as stage, open_front(stage, stage.start()) as front:
        callers, node = await make_callers(stage), await make_objects(stage)
        wrong = await Judge(front, callers, node).judge()
        assert not wrong, "\n".join(wrong)
