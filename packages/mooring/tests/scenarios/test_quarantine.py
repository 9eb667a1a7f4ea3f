"""A node that is Ready and broken, in a whole cluster: what it does to a pool, and how the pool gets around it."""

import msgspec
import pytest

from drydock import NodeTemplate, Script
from mooring.cli.remote.listings import NODES
from mooring.controllers.pools import quarantine
from mooring.dashboard.tiles import plan_tiles, render_tile
from mooring.incidents.stage import open_stage
from mooring.model import names
from mooring.planning.quarantine import QuarantinePolicy
from packages.mooring.tests.scenarios.harbour import harbour

NO_START = Script(start_error="no such device")
EARLY_END = Script(run_seconds=0.5, exit_code=1)


class Broken:
    """Nodes on which containers do not start, or end a moment later."""

    def __init__(self, *nodes, script=NO_START):
        self.nodes = set(nodes)
        self._script = script

    def __call__(self, run):
        return self._script if run.place.node in self.nodes else None


def template(restart="Never", **container):
    main = {"name": "main", "image": "worker", **container}
    return {"spec": {"restartPolicy": restart, "containers": [{**main, "command": ["serve"]}]}}


def serving(broken):
    """Containers that run for ever wherever they can, also in pods that are not restarted."""
    return lambda run: broken(run) or Script()


async def ready_on(world):
    """Where the workers that serve are."""
    return [pod.spec.node_name for pod in await world.pods() if pod.ready]


async def quarantined(replica):
    return {node.name: node.quarantine for node in await replica.mooring.queries.fleet.nodes() if node.quarantine}


@pytest.mark.slow
async def test_without_quarantine_a_broken_node_attracts_every_replacement(monkeypatch):
    monkeypatch.setattr(quarantine, "POLICY", QuarantinePolicy(failures=1_000_000))

    async with harbour(nodes=4, scripts=serving(Broken("node-1"))) as world:
        world.start()
        await world.pool(warm=8, max=8, template=template())
        await world.clock.sleep(120)
        assert (await world.status())["idle"] < 8
        assert world.witness.added > 40


@pytest.mark.parametrize("script", [NO_START, EARLY_END], ids=["no start", "early end"])
@pytest.mark.parametrize("restart", ["Never", "Always"])
async def test_with_quarantine_the_floor_is_reached_and_the_node_is_shown_with_its_reason(restart, script):
    async with harbour(nodes=4, scripts=serving(Broken("node-1", script=script))) as world:
        replica = world.start()
        await world.pool(warm=12, max=14, template=template(restart), protection={"graceSeconds": 1})

        async def floor_stands() -> bool:
            nodes = await ready_on(world)
            return len(nodes) == 12 and "node-1" not in nodes

        await world.until(floor_stands, 120, "the floor, on other nodes")
        assert world.witness.added <= 12 + 3 + 3
        found = await quarantined(replica)
        assert set(found) == {"node-1"}
        assert 599 <= (found["node-1"].until - found["node-1"].since).total_seconds() <= 601
        assert "workers failed to start" in found["node-1"].reason


async def test_a_node_that_was_repaired_gets_workers_again_when_its_quarantine_is_over():
    broken = Broken("node-1")

    async with harbour(nodes=3, scripts=serving(broken)) as world:
        replica = world.start()
        await world.pool(warm=9, max=20, template=template())
        await world.until_idle(9)
        assert await quarantined(replica)
        broken.nodes.clear()
        await world.change({"warm": 12})
        await world.until_idle(12)
        assert "node-1" not in await ready_on(world)
        await world.clock.sleep(620)
        assert not await quarantined(replica)
        await world.change({"warm": 15})
        await world.until_idle(15)
        assert "node-1" in await ready_on(world)


@pytest.mark.slow
async def test_workers_that_wait_because_they_avoid_a_node_are_made_again_once_it_is_open():
    broken = Broken("big")
    room = {"memory": "100Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    nodes = {"big": NodeTemplate(capacity={**room, "cpu": "16"}), "small": NodeTemplate(capacity={**room, "cpu": "4"})}

    async with open_stage(1, nodes, serving(broken)) as world:
        replica = world.start()
        one_cpu = template(resources={"requests": {"cpu": "1"}})
        await world.pool(warm=8, max=12, template=one_cpu)
        await world.until_idle(4)
        await world.clock.sleep(30)
        assert set(await quarantined(replica)) == {"big"}
        waiting = [pod for pod in await world.pods() if not pod.spec.node_name]
        assert waiting and all(pod.metadata.annotations[names.AVOIDS] == "big" for pod in waiting)
        conditions = {c["type"]: c for c in (await world.status())["conditions"]}
        assert "big gets no new workers until" in conditions["Ready"]["message"]
        broken.nodes.clear()
        await world.until_idle(8, within=700)


@pytest.mark.world(nodes=4, scripts=serving(Broken("node-1", "node-2", "node-3", "node-4")))
async def test_a_template_that_cannot_run_anywhere_closes_no_node(world):
    replica = world.start()
    await world.pool(warm=12, max=12, template=template("Always"))
    await world.clock.sleep(300)
    assert not await quarantined(replica)
    assert world.witness.added == 12


@pytest.mark.world(nodes=4, scripts=serving(Broken("node-1")))
async def test_a_new_control_plane_sees_again_what_still_fails(world):
    first = world.start("first")
    await first.mooring.switches.pause("warm-floor", actor="test", reason="the failed ones are to stay")
    await world.pool(warm=16, max=30, template=template("Always"))
    await world.clock.sleep(120)
    assert set(await quarantined(first)) == {"node-1"}
    await first.kill()
    second = world.start("second")
    await second.mooring.wait_synced()
    assert set(await quarantined(second)) == {"node-1"}


async def test_a_node_that_comes_back_under_the_same_name_is_another_node():
    broken = Broken("node-1")

    async with harbour(nodes=3, scripts=serving(broken)) as world:
        replica = world.start()
        await world.pool(warm=9, max=20, template=template())
        await world.until_idle(9)
        assert await quarantined(replica)
        broken.nodes.clear()
        await world.sandbox.fleet.remove_node("node-1")
        await world.sandbox.fleet.add_node("node-1", NodeTemplate())
        await world.clock.sleep(30)
        assert not await quarantined(replica)
        await world.change({"warm": 12})
        await world.until_idle(12)
        assert "node-1" in await ready_on(world)


@pytest.mark.world(nodes=4, scripts=serving(Broken("node-1")))
async def test_a_quarantine_is_seen_in_the_api_in_the_terminal_and_on_the_map(world):
    reading = world.start().mooring.queries.fleet
    await world.pool(warm=12, max=20, template=template())
    await world.until_idle(12)
    nodes, workers = await reading.nodes(), await reading.workers()
    closed, healthy = (msgspec.to_builtins(node) for node in nodes[:2])
    told = "3 workers failed to start within 10 min, the last one with StartError (exit code 128)"
    assert set(closed["quarantine"]) == {"since", "until", "reason"}
    assert closed["quarantine"]["reason"] == told and healthy["quarantine"] is None
    (state,) = [column for column in NODES.columns if column.title == "STATE"]
    assert state.read(closed) == f"quarantined until {closed['quarantine']['until']}: {told}"
    assert state.read(healthy) == "open"
    tiles = {tile.node: tile for tile in plan_tiles(nodes, workers)}
    assert (tiles["node-1"].kind, tiles["node-2"].kind) == ("quarantined", "open")
    assert f"quarantined until 12:10Z: {told}" in render_tile(tiles["node-1"])
