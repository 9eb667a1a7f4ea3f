import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from mooring.clock import Entropy
from mooring.kube.cache import Change
from mooring.kube.client import KubeClient
from mooring.kube.reflector import Reflector
from mooring.kube.resources import PODS
from mooring.kube.transport import Request, Response
from mooring.sandbox.faults import (
    Answer,
    CutStream,
    FailStream,
    FaultyTransport,
    Plan,
    Refuse,
    ReplayOldEvents,
    Rule,
    SilenceStream,
    StaleRead,
)
from mooring.sandbox.virtual import VirtualLoop, run_virtual

START = datetime(2026, 3, 1, tzinfo=UTC)


class TinyApi:
    """Pods of one namespace behind list, paging, watch and 410, with every knob in reach of a test."""

    def __init__(self) -> None:
        self.version = 100
        self.pods: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, bytes]] = []
        self.forgotten = 0
        self.requests: list[Request] = []
        self.changed = asyncio.Event()

    def put(self, name: str, *, uid: str = "", **more: Any) -> None:
        kind = "MODIFIED" if name in self.pods and not uid else "ADDED"
        self.version += 1
        before = self.pods.get(name, {"metadata": {"uid": f"uid-{name}"}})
        meta = {"name": name, "namespace": "default", "uid": uid or before["metadata"]["uid"]}
        self.pods[name] = {"metadata": {**meta, "resourceVersion": str(self.version)}, **more}
        self._tell(kind, self.pods[name])

    def delete(self, name: str) -> None:
        self.version += 1
        gone = self.pods.pop(name)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._tell("DELETED", gone)

    def bookmark(self) -> None:
        self.version += 1
        self._tell("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def forget(self) -> None:
        """What compaction does: no watch can start before now."""
        self.forgotten = self.version
        self.history.clear()

    def _tell(self, kind: str, item: dict[str, Any]) -> None:
        self.history.append((self.version, json.dumps({"type": kind, "object": item}).encode() + b"\n"))
        self.changed.set()
        self.changed = asyncio.Event()

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        query = dict(request.query)
        if "watch" not in query:
            return self._list(query)
        begin = int(query["resourceVersion"])
        if begin < self.forgotten:
            return answer(410, {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
        if begin > self.version:
            causes = {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1}
            return answer(504, {"kind": "Status", "code": 504, "reason": "Timeout", "details": causes})
        return Response(200, {}, self._stream(begin, float(query["timeoutSeconds"])))

    def _list(self, query: Mapping[str, str]) -> Response:
        limit = int(query.get("limit", "0")) or len(self.pods)
        offset, version = map(int, query.get("continue", f"0 {self.version}").split())
        if version < self.forgotten:
            return answer(410, {"kind": "Status", "code": 410, "reason": "Expired", "message": "continue expired"})
        names = sorted(self.pods)
        meta = {"resourceVersion": str(version)}
        if offset + limit < len(names):
            meta["continue"] = f"{offset + limit} {version}"
        return answer(200, {"metadata": meta, "items": [self.pods[name] for name in names[offset : offset + limit]]})

    async def _stream(self, position: int, seconds: float) -> AsyncGenerator[bytes, None]:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    news = [(version, line) for version, line in self.history if version > position]
                    for version, line in news:
                        position = version
                        yield line
                    if not news:
                        await self.changed.wait()
        except TimeoutError:
            return

    @property
    def lists(self) -> list[Request]:
        return [request for request in self.requests if "watch" not in dict(request.query)]

    @property
    def watches(self) -> list[Request]:
        return [request for request in self.requests if "watch" in dict(request.query)]


def answer(status: int, body: dict[str, Any]) -> Response:
    async def once() -> AsyncIterator[bytes]:
        yield json.dumps(body).encode()

    return Response(status, {}, once())


class World:
    """An API, a reflector on it, and all it said."""

    def __init__(self, *rules: Rule, **options: Any) -> None:
        loop = VirtualLoop.running()
        self.clock = loop.clock
        self.api = TinyApi()
        self.transport = FaultyTransport(self.api, Plan(rules), self.clock, Entropy(3))
        self.reflector = Reflector(
            KubeClient(self.transport), PODS, clock=self.clock, entropy=Entropy(4), namespace="default", **options
        )
        self.changes: list[tuple[str, str]] = []
        self.reflector.subscribe(self._note)

    def _note(self, change: Change[Any]) -> None:
        item = change.new or change.old
        assert item is not None
        self.changes.append((change.kind, item.metadata.name))

    @property
    def held(self) -> dict[str, str]:
        return {item.metadata.name: item.metadata.resource_version for item in self.reflector.cache.values()}

    @property
    def true(self) -> dict[str, str]:
        return {name: item["metadata"]["resourceVersion"] for name, item in self.api.pods.items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator["World"]:
        running = asyncio.create_task(self.reflector.run())
        try:
            yield self
        finally:
            running.cancel()
            await asyncio.wait((running,))
            assert running.cancelled(), running.exception()

    @asynccontextmanager
    async def synced(self) -> AsyncIterator["World"]:
        async with self.running():
            await self.reflector.wait_synced()
            await self.clock.sleep(1)
            yield self


def in_virtual_time(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        run_virtual(test, seed=1, start=START)

    run.__name__ = test.__name__
    return run


@in_virtual_time
async def test_it_lists_in_pages_at_the_newest_version_and_watches_from_there() -> None:
    world = World(page_size=2)
    for name in "abcde":
        world.api.put(name)
    async with world.synced():
        assert [dict(request.query).get("continue") for request in world.api.lists] == [None, "2 105", "4 105"]
        assert all("resourceVersion" not in dict(request.query) for request in world.api.lists)
        query = dict(world.api.watches[0].query)
        assert query["resourceVersion"] == "105"
        assert query["allowWatchBookmarks"] == "true"
        assert 300 <= int(query["timeoutSeconds"]) <= 600
        assert world.held == world.true
        assert world.changes == [("added", name) for name in "abcde"]


@in_virtual_time
async def test_it_is_synced_only_after_the_last_page() -> None:
    world = World(Rule(Refuse(), nth=frozenset({3, 4, 5})), page_size=2)
    for name in "abcde":
        world.api.put(name)
    async with world.running():
        while len(world.transport.calls) < 5:
            assert not world.reflector.synced
            assert world.reflector.resource_version == ""
            assert len(world.reflector.cache) == 0
            await world.clock.sleep(0.01)
        await world.reflector.wait_synced()
        assert world.held == world.true


@in_virtual_time
async def test_an_empty_cluster_is_synced_too() -> None:
    async with World().synced() as world:
        assert world.reflector.synced
        assert world.reflector.cache.values() == ()


@in_virtual_time
async def test_it_follows_the_watch() -> None:
    async with World().synced() as world:
        world.api.put("a")
        world.api.put("a")
        world.api.put("b")
        world.api.delete("a")
        await world.clock.sleep(1)
        assert world.changes == [("added", "a"), ("modified", "a"), ("added", "b"), ("deleted", "a")]
        assert world.held == world.true
        assert world.reflector.resource_version == str(world.api.version)
        assert len(world.api.lists) == 1


@in_virtual_time
async def test_a_watch_that_ends_is_resumed_where_it_was_with_random_lengths() -> None:
    async with World().synced() as world:
        for _ in range(30):
            await world.clock.sleep(100)
            world.api.put("a")
        await world.clock.sleep(1)
        assert len({dict(request.query)["timeoutSeconds"] for request in world.api.watches}) > 3
        assert len(world.api.lists) == 1
        assert world.held == world.true
        assert world.reflector.health.reconnects == len(world.api.watches) - 1
        assert world.reflector.health.last_error == ""


@in_virtual_time
async def test_bookmarks_move_the_place_to_resume_from() -> None:
    async with World(Rule(CutStream(1), nth=frozenset({1}))).synced() as world:
        world.api.bookmark()
        await world.clock.sleep(0)
        world.api.forget()
        await world.clock.sleep(5)
        assert dict(world.api.watches[1].query)["resourceVersion"] == str(world.api.version)
        assert len(world.api.lists) == 1


async def survives_expiry(world: World) -> None:
    for name in ("kept", "changed", "gone"):
        world.api.put(name)
    async with world.synced():
        world.changes.clear()
        await world.clock.sleep(10)
        world.api.put("changed")
        last_known = world.reflector.cache.get("default", "gone")
        world.api.delete("gone")
        world.api.put("new")
        world.api.forget()
        deleted: list[Any] = []
        world.reflector.subscribe(lambda change: deleted.append(change.old) if change.kind == "deleted" else None)
        await world.clock.sleep(1000)
        assert world.held == world.true
        assert set(world.changes) == {("modified", "changed"), ("added", "new"), ("deleted", "gone")}
        assert deleted == [last_known]
        assert world.reflector.health.relists == 1


@in_virtual_time
async def test_410_as_an_answer_means_list_compare_and_report_what_is_gone() -> None:
    await survives_expiry(World(Rule(CutStream(0, "broken"), times=1), Rule(Refuse(), watch=True, until_seconds=12)))


@in_virtual_time
async def test_410_inside_the_stream_means_the_same() -> None:
    world = World(Rule(Refuse(), watch=True, until_seconds=12), Rule(FailStream(0), since_seconds=12, times=1))
    world.api.forget = lambda: None  # type: ignore[method-assign]
    await survives_expiry(world)
    assert world.transport.process.fired["FailStream"] == 1


@in_virtual_time
async def test_410_again_and_again_does_not_become_a_storm_of_lists() -> None:
    async with World(Rule(FailStream(0))).synced() as world:
        await world.clock.sleep(600)
        assert 15 < len(world.api.lists) < 80


@in_virtual_time
async def test_a_page_that_expires_starts_the_list_again_and_nothing_partial_is_seen() -> None:
    world = World(Rule(Answer(410, "Expired"), path="pods", nth=frozenset({2})), page_size=2)
    for name in "abcde":
        world.api.put(name)
    async with world.synced():
        assert [dict(request.query).get("continue") for request in world.api.lists] == [None, None, "2 105", "4 105"]
        assert world.held == world.true


@in_virtual_time
async def test_a_silent_watch_is_a_fault_that_is_reported_and_left() -> None:
    async with World(Rule(SilenceStream(1), times=1)).synced() as world:
        world.api.put("heard")
        await world.clock.sleep(1)
        world.api.put("unheard")
        await world.clock.sleep(100)
        assert "unheard" not in world.held
        assert world.reflector.health.last_event_age_seconds == pytest.approx(101)
        await world.clock.sleep(55)
        assert world.held == world.true
        assert world.reflector.health.silences == 1
        assert len(world.api.lists) == 1
        assert dict(world.api.watches[1].query)["resourceVersion"] == "101"


@in_virtual_time
async def test_a_watch_that_stays_silent_keeps_its_error_and_age_visible() -> None:
    async with World(Rule(SilenceStream())).synced() as world:
        ages = []
        for _ in range(20):
            await world.clock.sleep(60)
            ages.append(world.reflector.health.last_event_age_seconds)
        assert ages == sorted(ages)
        assert ages[-1] > 1100
        assert world.reflector.health.silences >= 6


@in_virtual_time
async def test_bookmarks_alone_keep_a_watch_alive() -> None:
    async with World().synced() as world:
        for _ in range(20):
            await world.clock.sleep(60)
            world.api.bookmark()
        assert world.reflector.health.silences == 0


@in_virtual_time
async def test_a_line_cut_short_reconnects_from_the_last_whole_one() -> None:
    async with World(Rule(CutStream(2, "inside"), times=1)).synced() as world:
        for name in "abcd":
            world.api.put(name)
        await world.clock.sleep(10)
        assert world.held == world.true
        assert world.changes == [("added", name) for name in "abcd"]
        assert dict(world.api.watches[1].query)["resourceVersion"] == "102"


@in_virtual_time
async def test_events_that_come_again_and_late_are_ignored() -> None:
    async with World(Rule(ReplayOldEvents())).synced() as world:
        for round_ in range(20):
            world.api.put("a")
            world.api.put("b")
            if round_ % 3 == 0:
                world.api.delete("b")
        await world.clock.sleep(1)
        assert world.held == world.true
        assert len(world.changes) == 47
        assert len(world.api.lists) == 1


@in_virtual_time
async def test_another_pod_under_the_same_name_is_a_deletion_and_an_addition() -> None:
    async with World().synced() as world:
        world.api.put("a")
        world.api.put("a", uid="another")
        await world.clock.sleep(1)
        assert world.changes == [("added", "a"), ("deleted", "a"), ("added", "a")]


@in_virtual_time
async def test_a_list_from_a_server_that_lags_deletes_and_sets_back_nothing() -> None:
    rules = (
        Rule(FailStream(2), times=1),
        Rule(StaleRead(), since_seconds=5, until_seconds=60),
    )
    world = World(*rules)
    world.api.put("old")
    async with world.synced():
        await world.clock.sleep(9)
        world.api.put("new")
        world.api.put("old")
        world.changes.clear()
        await world.clock.sleep(40)
        assert world.held == world.true
        assert world.changes == [("added", "new"), ("modified", "old")]
        assert world.reflector.health.stale_lists > 0
        assert "held at 103" in world.reflector.health.last_error
        await world.clock.sleep(100)
        assert world.reflector.health.last_error == ""
        assert ("deleted", "new") not in world.changes
        world.api.put("newest")
        await world.clock.sleep(1)
        assert world.held == world.true


@in_virtual_time
async def test_pages_of_different_versions_are_no_list() -> None:
    expiry = Rule(FailStream(0), times=1)
    stale_second_page = Rule(StaleRead(), path="pods", watch=False, nth=frozenset({4}))
    world = World(expiry, stale_second_page, page_size=2)
    for name in "abcd":
        world.api.put(name)
    async with world.synced():
        await world.clock.sleep(30)
        assert world.held == world.true


@in_virtual_time
async def test_a_version_ahead_of_the_server_means_wait_and_list() -> None:
    too_new = Answer(504, "Timeout", retry_after_seconds=1, cause="ResourceVersionTooLarge")
    async with World(Rule(too_new, watch=True, times=2)).synced() as world:
        await world.clock.sleep(20)
        assert len(world.api.lists) == 3
        world.api.put("a")
        await world.clock.sleep(1)
        assert world.held == world.true


@pytest.mark.parametrize("status", [429, 503])
def test_the_servers_wish_when_to_come_back_is_kept(status: int) -> None:
    async def main() -> None:
        world = World(Rule(Answer(status, retry_after_seconds=20), watch=False, times=2))
        began = world.clock.monotonic()
        async with world.synced():
            assert world.clock.monotonic() - began >= 40
            assert len(world.transport.calls) == 4

    run_virtual(main, seed=1, start=START)


@in_virtual_time
async def test_an_absurd_wish_is_not_kept_for_ever() -> None:
    async with World(Rule(Answer(429, retry_after_seconds=10**6), watch=False, times=1)).synced() as world:
        assert world.clock.monotonic() < 100


@in_virtual_time
async def test_failures_back_off_and_success_starts_over() -> None:
    async with World(Rule(Refuse(), until_seconds=600)).running() as world:
        await world.clock.sleep(600)
        assert 25 < len(world.transport.calls) < 90
        assert "refused" in world.reflector.health.last_error
        await world.reflector.wait_synced()
        world.api.put("a")
        await world.clock.sleep(1)
        assert world.reflector._backoff.next_seconds() <= 0.8


@in_virtual_time
async def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    async with World(Rule(CutStream(0))).synced() as world:
        await world.clock.sleep(600)
        assert 15 < len(world.api.watches) < 80


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_refusals_leave_the_cache_as_it_is(status: int) -> None:
    async def main() -> None:
        world = World(Rule(CutStream(0), times=1), Rule(Answer(status), watch=True, times=3))
        world.api.put("a")
        async with world.synced():
            world.api.put("b")
            await world.clock.sleep(60)
            assert world.held == world.true
            assert ("deleted", "a") not in world.changes
            assert len(world.api.lists) == 1

    run_virtual(main, seed=1, start=START)


@in_virtual_time
async def test_an_object_that_cannot_be_identified_is_skipped_and_costs_no_other() -> None:
    world = World(Rule(FailStream(1), nth=frozenset({1})))
    world.api.put("a")
    world.api.put("b")
    world.api.pods["b"]["metadata"]["name"] = 7
    async with world.synced():
        assert set(world.held) == {"a"}
        assert world.reflector.synced
        assert world.reflector.health.skipped == 1


@in_virtual_time
async def test_while_one_of_a_list_cannot_be_named_what_seems_to_be_missing_is_kept() -> None:
    world = World(Rule(FailStream(0), since_seconds=5, times=1), Rule(Refuse(), watch=True, until_seconds=5))
    world.api.put("a")
    world.api.put("b")
    async with world.synced():
        world.api.pods["b"]["metadata"]["name"] = 7
        world.api.put("c")
        await world.clock.sleep(30)
        assert len(world.api.lists) == 2
        assert set(world.held) == {"a", "b", "c"}


@in_virtual_time
async def test_an_object_with_unreadable_fields_is_held_and_named() -> None:
    world = World()
    world.api.put("good")
    world.api.put("odd", spec={"nodeName": {"not": "a name"}})
    async with world.synced():
        assert set(world.held) == {"good", "odd"}
        assert list(world.reflector.health.defective) == ["default/odd"]
        assert "nodeName" in world.reflector.health.defective["default/odd"][0]
        world.api.put("odd", spec={"nodeName": "n1"})
        await world.clock.sleep(1)
        assert world.reflector.health.defective == {}


@in_virtual_time
async def test_a_subscriber_that_fails_is_logged_and_stops_nobody() -> None:
    async with World().synced() as world:
        heard: list[str] = []

        def broken(change: Change[Any]) -> None:
            raise ValueError("not my day")

        world.reflector.subscribe(broken)
        world.reflector.subscribe(lambda change: heard.append(change.kind))
        with capture_logs() as logs:
            world.api.put("a")
            world.api.put("a")
            await world.clock.sleep(1)
        assert heard == ["added", "modified"]
        assert [entry["event"] for entry in logs] == ["a subscriber failed"] * 2
        assert world.reflector.health.subscriber_failures == 2


@in_virtual_time
async def test_subscribers_find_the_change_in_the_cache_already() -> None:
    async with World(indexes={"node": lambda pod: [pod.spec.node_name]}).synced() as world:
        seen: list[int] = []
        world.reflector.subscribe(lambda change: seen.append(len(world.reflector.cache.by_index("node", "n1"))))
        world.api.put("a", spec={"nodeName": "n1"})
        world.api.put("b", spec={"nodeName": "n1"})
        world.api.delete("a")
        await world.clock.sleep(1)
        assert seen == [1, 2, 1]


@in_virtual_time
async def test_now_and_then_a_list_finds_what_a_watch_has_lost() -> None:
    async with World().synced() as world:
        world.api.put("a")
        await world.clock.sleep(1)
        world.api.history = [entry for entry in world.api.history if entry[0] < world.api.version + 1]
        world.api.version += 1
        world.api.pods["a"]["metadata"]["resourceVersion"] = str(world.api.version)
        await world.clock.sleep(5400)
        assert world.held == world.true
        assert world.reflector.health.relists >= 1


@in_virtual_time
async def test_raw_objects_can_be_reflected_too() -> None:
    world = World()
    reflector = Reflector(KubeClient(world.api), PODS.raw(), clock=world.clock, entropy=Entropy(1), namespace="default")
    running = asyncio.create_task(reflector.run())
    await reflector.wait_synced()
    world.api.put("a", spec={"anything": [1, 2]})
    await world.clock.sleep(1)
    held = reflector.cache.get("default", "a")
    assert held is not None
    assert held["spec"] == {"anything": [1, 2]}
    running.cancel()


def test_the_same_seed_gives_the_same_run() -> None:
    async def main() -> tuple[str, list[tuple[str, str]]]:
        rules = (Rule(Refuse(), probability=0.3), Rule(CutStream(3, "inside"), probability=0.5))
        async with World(*rules).synced() as world:
            for number in range(50):
                world.api.put("abc"[number % 3])
                await world.clock.sleep(2)
            trace = VirtualLoop.running().trace
            trace.record(str(world.changes))
            return trace.digest, world.changes

    first = run_virtual(main, seed=9, start=START)
    assert first == run_virtual(main, seed=9, start=START)
