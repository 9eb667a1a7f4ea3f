import asyncio
from typing import Any

from structlog.testing import capture_logs

from drydock import VirtualLoop, run_virtual
from drydock.faults import CutStream, FailStream, Refuse, Rule
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Entropy
from hawser.reflector import Pace, Reflector, Scope
from hawser.resources import PODS
from packages.hawser.tests.tiny_api import START, World


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


async def test_it_is_synced_only_after_the_last_page() -> None:
    world = World(Rule(Refuse(), nth=frozenset({3, 4, 5})), page_size=2)
    for name in "abcde":
        world.api.put(name)
    async with world.running():
        while len(world.transport.calls) < 5:
            assert not world.reflector.synced
            assert world.reflector.version == 0
            assert len(world.reflector.cache) == 0
            await world.clock.sleep(0.01)
        await world.reflector.wait_synced()
        assert world.held == world.true


async def test_an_empty_cluster_is_synced_too() -> None:
    async with World().synced() as world:
        assert world.reflector.synced
        assert world.reflector.cache.values() == ()


async def test_it_follows_the_watch() -> None:
    async with World().synced() as world:
        world.api.put("a")
        world.api.put("a")
        world.api.put("b")
        world.api.delete("a")
        await world.clock.sleep(1)
        assert world.changes == [("added", "a"), ("modified", "a"), ("added", "b"), ("deleted", "a")]
        assert world.held == world.true
        assert world.reflector.version == world.api.version
        assert len(world.api.lists) == 1


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


async def test_bookmarks_move_the_place_to_resume_from() -> None:
    async with World(Rule(CutStream(1), nth=frozenset({1}))).synced() as world:
        world.api.bookmark()
        await world.clock.sleep(0)
        world.api.forget()
        await world.clock.sleep(5)
        assert dict(world.api.watches[1].query)["resourceVersion"] == str(world.api.version)
        assert len(world.api.lists) == 1


async def test_bookmarks_alone_keep_a_watch_alive() -> None:
    async with World().synced() as world:
        for _ in range(20):
            await world.clock.sleep(60)
            world.api.bookmark()
        assert world.reflector.health.silences == 0


async def test_watches_that_end_in_good_order_show_that_nothing_was_missed() -> None:
    async with World(pace=Pace(silence_seconds=10, watch_seconds=(4, 8))).synced() as world:
        for _ in range(60):
            await world.clock.sleep(1)
            assert world.reflector.health.fresh
        assert (world.reflector.health.silences, len(world.api.lists)) == (0, 1)


async def test_another_pod_under_the_same_name_is_a_deletion_and_an_addition() -> None:
    async with World().synced() as world:
        world.api.put("a")
        world.api.put("a", uid="another")
        await world.clock.sleep(1)
        assert world.changes == [("added", "a"), ("deleted", "a"), ("added", "a")]


async def test_an_object_that_cannot_be_identified_is_skipped_and_costs_no_other() -> None:
    world = World(Rule(FailStream(1), nth=frozenset({1})))
    world.api.put("a")
    world.api.put("b")
    world.api.pods["b"]["metadata"]["name"] = 7
    async with world.synced():
        assert set(world.held) == {"a"}
        assert world.reflector.synced
        assert world.reflector.health.skipped == 1


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


async def test_subscribers_find_the_change_in_the_cache_already() -> None:
    async with World(indexes={"node": lambda pod: [pod.spec.node_name]}).synced() as world:
        seen: list[int] = []
        world.reflector.subscribe(lambda change: seen.append(len(world.reflector.cache.by_index("node", "n1"))))
        world.api.put("a", spec={"nodeName": "n1"})
        world.api.put("b", spec={"nodeName": "n1"})
        world.api.delete("a")
        await world.clock.sleep(1)
        assert seen == [1, 2, 1]


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


async def test_raw_objects_can_be_reflected_too() -> None:
    world = World()
    reflector = Reflector(
        KubeClient(world.api), PODS.raw(), clock=world.clock, entropy=Entropy(1), scope=Scope("default")
    )
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
