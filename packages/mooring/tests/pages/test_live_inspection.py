"""The live pages of one worker and one node, over a whole control plane in virtual time."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable

import pytest
from structlog.testing import capture_logs

from hawser.resources import NODES, PODS
from mooring.dashboard.inspection_views import HISTORY_SECONDS, worker_values
from mooring.dashboard.live import RENDERERS, LiveViews, View
from mooring.dashboard.navigation import LIVE
from mooring.dashboard.reader import NOBODY
from mooring.dashboard.views import Selection, render
from mooring.incidents.replica import Replica
from mooring.ledger.faults import Fault
from mooring.model.claim_request import ClaimRequest
from mooring.queries.events import EventHub
from mooring.queries.visibility import EVERYTHING
from mooring.queries.worker_detail import read_worker
from packages.mooring.tests.pages.readings import always
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, harbour

POOL = f"{NAMESPACE}/linux"
PROTECTION = {"ceilingSeconds": 600, "graceSeconds": 1}


class Tab:
    """What somebody sees who opened a page and never reloads it."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self.shown: dict[str, str] = {}
        self.reloads = 0

    async def read(self) -> None:
        async for message in self._stream:
            event, data = message.decode().strip().split("\n")
            self.reloads += event == "event: reload"
            self.shown.update(json.loads(data.removeprefix("data: ")))

    async def until(self, part: str, holds: Callable[[str], bool], within: float) -> None:
        async with asyncio.timeout(within):
            while not holds(self.shown.get(part, "")):
                await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def opened(world: Harbour, replica: Replica, page: str, subject: str) -> AsyncIterator[Tab]:
    hub = EventHub(world.clock)
    replica.mooring.subscribe(hub.publish)
    views = LiveViews(hub, replica.mooring.queries, world.clock)
    tab = Tab(views.watch(View(page, Selection(subject=subject), EVERYTHING), always))
    running = [asyncio.create_task(work) for work in (hub.run(), views.run(), tab.read())]
    try:
        await tab.until("standing", bool, 2)
        yield tab
        assert tab.reloads == 0 and not any(task.done() for task in running)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


@contextlib.asynccontextmanager
async def fleet(warm: int = 1, fault: Callable[..., Fault] = lambda _: Fault.NONE) -> AsyncIterator[tuple]:
    """A settled pool, and one of its pods."""
    async with harbour(nodes=2) as world:
        replica = world.start(fault=fault)
        await world.pool(warm=warm, max=warm, reuse="Always", protection=PROTECTION)
        await world.until_idle(warm)
        yield world, replica, (await world.pods())[0]


def test_every_live_page_has_one_rendering():
    assert set(RENDERERS) == LIVE


async def test_a_worker_s_page_follows_a_claim_from_idle_to_busy_and_back():
    async with (
        fleet() as (world, replica, pod),
        opened(world, replica, "worker", f"{NAMESPACE}/{pod.metadata.name}") as tab,
    ):
        assert "idle" in tab.shown["standing"] and "not protected" in tab.shown["protection"]
        claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
        await tab.until("sessions", lambda html: claim.id in html, HISTORY_SECONDS / 2)
        await tab.until("timeline", lambda html: claim.id in html, HISTORY_SECONDS / 2)
        await tab.until("standing", lambda html: "busy" in html and "acme" in html, 6)
        await tab.until("protection", lambda html: "protected until" in html and "min left" in html, 6)
        await tab.until("sessions", lambda html: "running" in html, 6)
        await replica.mooring.claims.desk.release(claim.id, claim.epoch)
        await tab.until("standing", lambda html: "idle" in html, 6)
        await tab.until("sessions", lambda html: "released" in html, 6)


async def test_the_time_that_is_left_runs_on_where_nothing_else_happens():
    async with (
        fleet() as (world, replica, pod),
        opened(world, replica, "worker", f"{NAMESPACE}/{pod.metadata.name}") as tab,
    ):
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
        await tab.until("protection", lambda html: "9 min left" in html, 6)
        await tab.until("protection", lambda html: "7 min left" in html, 180)


async def test_a_worker_that_goes_says_so_and_one_that_comes_under_its_name_is_shown():
    with capture_logs() as logged:
        async with (
            fleet() as (world, replica, pod),
            opened(world, replica, "worker", f"{NAMESPACE}/{pod.metadata.name}") as tab,
        ):
            await world.change({"warm": 0, "max": 0})
            await world.client.delete(PODS, pod.metadata.name, NAMESPACE)
            await tab.until("standing", lambda html: f"no worker {NAMESPACE}/{pod.metadata.name} any more" in html, 60)
            assert all("hidden" in html for part, html in tab.shown.items() if part not in ("standing", "strip"))
            await world.change({"warm": 1, "max": 1})
            await tab.until("standing", lambda html: "idle" in html, 60)
            assert "data-part hidden" not in tab.shown["timeline"] and "made" in tab.shown["timeline"]
    assert not [line for line in logged if "live view" in line["event"]]


async def test_a_node_s_page_shows_that_it_drains_and_what_its_going_would_mean():
    async with fleet() as (world, replica, pod), opened(world, replica, "node", pod.spec.node_name) as tab:
        assert "Open for work" in tab.shown["standing"] and "safe" in tab.shown["verdict"]
        claim = await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
        await tab.until("verdict", lambda html: "waits" in html, 6)
        await tab.until("sessions", lambda html: claim.id in html, 6)
        await tab.until("workers", lambda html: "busy" in html and "min left" in html, 6)
        await world.client.merge_patch(NODES, pod.spec.node_name, {"spec": {"unschedulable": True}})
        await tab.until("standing", lambda html: "Draining" in html and "cordon" in html, 6)
        await tab.until("workers", lambda html: "draining" in html, 6)


async def test_a_node_s_page_tells_who_waits_for_its_workers():
    async with fleet() as (world, replica, pod), opened(world, replica, "node", pod.spec.node_name) as tab:
        await replica.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=3600))
        waits = asyncio.create_task(replica.mooring.claims.desk.claim(POOL, ClaimRequest("next", wait=60)))
        await tab.until("verdict", lambda html: f"1 for {POOL}, 0 idle elsewhere" in html, 10)
        waits.cancel()


async def test_a_node_that_goes_says_so():
    with capture_logs() as logged:
        async with fleet() as (world, replica, pod), opened(world, replica, "node", pod.spec.node_name) as tab:
            await world.client.delete(NODES, pod.spec.node_name)
            await tab.until("standing", lambda html: f"no node {pod.spec.node_name} any more" in html, 30)
            assert all("hidden" in html for part, html in tab.shown.items() if part not in ("standing", "strip"))
    assert not [line for line in logged if "live view" in line["event"]]


async def test_a_worker_s_page_stays_live_while_the_ledger_is_away():
    away = False

    async def scenario():
        nonlocal away
        async with (
            fleet(fault=lambda _: Fault.AWAY if away else Fault.NONE) as (world, replica, pod),
            opened(world, replica, "worker", f"{NAMESPACE}/{pod.metadata.name}") as tab,
        ):
            away = True
            await tab.until("timeline", lambda html: "ledger cannot be read" in html, 15)
            away = False
            await tab.until("timeline", lambda html: "ledger cannot be read" not in html, 15)

    await scenario()


async def test_looking_at_one_worker_calls_no_api_and_reads_its_history_rarely():
    async with (
        fleet(warm=3) as (world, replica, pod),
        opened(world, replica, "worker", f"{NAMESPACE}/{pod.metadata.name}"),
    ):
        calls, asked = len(replica.ledger.calls), len(replica.process.calls)
        for number in range(120):
            await world.client.merge_patch(NODES, "node-1", {"metadata": {"labels": {"stir": str(number)}}})
            await asyncio.sleep(0.5)
        paths = [call.path for call in replica.ledger.calls[calls:]]
        live, history = paths.count("claims.live_by_pods"), paths.count("claims.list")
        assert 40 <= live <= 62, "once a second at most"
        assert 1 <= history <= 60 / HISTORY_SECONDS + 1
        told = {call.path for call in replica.process.calls[asked:]}
        allowed = ("karpenter.sh", "/version")  # whether Karpenter came and the API server answers: asked all the time
        assert [path for path in told if not any(part in path for part in allowed)] == []


@pytest.mark.parametrize("page", ["worker", "node"])
async def test_the_page_is_made_of_what_the_stream_sends(page: str):
    async with fleet() as (world, replica, pod):
        subject = pod.spec.node_name if page == "node" else f"{NAMESPACE}/{pod.metadata.name}"
        readings = replica.mooring.queries
        fragments = await RENDERERS[page](readings, Selection(subject=subject), NOBODY)
        if page == "node":
            values = {"look": await readings.inspection.node(subject)}
        else:
            detail = await read_worker(readings.inspection, *subject.split("/"))
            assert detail is not None
            values = worker_values(detail, world.clock.now(), NOBODY.may)
        whole = render(f"{page}.html", **{"now": world.clock.now(), "subject": subject, "here": page, **values})
        assert all(html.strip() in whole for html in fragments.values())
        assert whole.count("data-part") == len(fragments)
