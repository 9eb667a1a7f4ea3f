"""A dataset survives whoever warms it: crashes at every write, lost answers, lagging watches, refused deletes."""

import pytest

from drydock.faults import Answer, Crash, LagEvents, LoseAnswer, Rule
from hawser.resources import JOBS, NODES
from mooring.model import names
from packages.mooring.tests.scenarios.datasets import Dataset, dataset_world
from packages.mooring.tests.scenarios.harbour import NAMESPACE, play
from packages.testing.lanes import fast_first

WRITES = frozenset({"POST", "PATCH", "DELETE"})
MOST_WRITES = 100  # a bound: the sweep ends at the first story that no crash reached


async def lose_one_node(dataset: Dataset) -> None:
    """Warm, lose a node, be warm again."""
    await dataset.warmup(shards=3, propagationSeconds=0)
    await dataset.until("Ready", within=300)
    node = (await dataset.status())["shards"][1]["node"]
    await dataset.stage.sandbox.fleet.remove_node(node)
    await dataset.until("Stale", within=120)
    await dataset.until("Ready", within=300)


@pytest.mark.slow
@pytest.mark.parametrize("moment", fast_first(["after", "before"], 1))
def test_a_crash_at_any_write_costs_nothing(moment):
    def story(at: int) -> bool:
        """Whether the crash came at all."""

        async def scenario() -> bool:
            crash = Rule(Crash(moment), methods=WRITES, nth=frozenset({at}))  # type: ignore[arg-type]
            async with dataset_world(4, rules=[crash]) as world:

                async def replace_the_dead() -> None:
                    first = world.stage.replicas[0]
                    while first.process.alive:
                        await world.stage.clock.sleep(1)
                    world.stage.start("b")

                world.stage.enter(replace_the_dead())
                await lose_one_node(world)
                assert sorted(world.lost()) == ["0", "1", "1", "2"], f"a crash {moment} write {at}"
                return not world.stage.replicas[0].process.alive

        return bool(play(scenario))

    tried = next(at for at in range(1, MOST_WRITES, 3) if not story(at))
    assert tried > 12, "the story has more writes than that"


@pytest.mark.parametrize("seed", fast_first([1, 2], 1))
async def test_lost_answers_and_lagging_watches_make_no_job_twice(seed):
    rules = [
        Rule(LoseAnswer(), methods=WRITES, probability=0.3),
        Rule(LagEvents(5.0), resource="jobs"),
        Rule(LagEvents(3.0), resource="warmups"),
    ]
    async with dataset_world(4, seed=seed, rules=rules) as world:
        await lose_one_node(world)
        assert sorted(world.lost()) == ["0", "1", "1", "2"]


async def test_a_delete_that_fails_is_told_as_partial_and_tried_again():
    refusal = Rule(Answer(500), methods=frozenset({"DELETE"}), resource="jobs", nth=frozenset({1}))
    async with dataset_world(4, rules=[refusal]) as world:
        await world.warmup(shards=2, propagationSeconds=0)
        await world.until("Ready", within=120)
        releases = []
        for shard in (await world.status())["shards"]:
            await world.stage.sandbox.fleet.remove_node(shard["node"])
        await world.until("Stale", within=30)
        while (status := await world.status())["phase"] != "Ready":
            if status.get("release") and status["release"] not in releases:
                releases.append(status["release"])
            await world.stage.clock.sleep(0.5)
        assert [release["status"] for release in releases] == ["partial", "ok"]
        first = releases[0]
        assert len(first["deleted"]) == 1 and len(first["errors"]) == 1
        assert first["errors"][0].startswith("warm-core-nt") and "failed" in first["errors"][0]


async def older_job(dataset: Dataset, name: str, **pod: object) -> None:
    container = {"name": "main", "image": "old"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never", **pod}}
    meta = {"name": name, "labels": {names.DATASET: "core_nt"}}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}
    await dataset.stage.client.create(JOBS, body, NAMESPACE)


@pytest.mark.world(nodes=3)
async def test_jobs_of_an_older_tool_are_healed_when_their_nodes_are_gone(dataset):
    await older_job(dataset, "old-gone", nodeName="node-long-gone")
    await older_job(dataset, "old-hostname", nodeSelector={names.HOSTNAME: "node-long-gone"})
    await older_job(dataset, "old-live", nodeSelector={names.HOSTNAME: "node-1"})
    await dataset.stage.client.merge_patch(NODES, "node-2", {"metadata": {"labels": {names.HOSTNAME: "ip-10-0-0-2"}}})
    await older_job(dataset, "old-live-label", nodeSelector={names.HOSTNAME: "ip-10-0-0-2"})
    await older_job(dataset, "old-unpinned")
    await dataset.warmup(shards=3, propagationSeconds=0)
    await dataset.until("Ready", within=120)
    await dataset.stage.clock.sleep(30)
    left = {job.metadata.name for job in await dataset.jobs()}
    assert {name for name in left if name.startswith("old-")} == {"old-live", "old-live-label", "old-unpinned"}
    assert (await dataset.status())["release"]["deleted"] == ["old-gone", "old-hostname"]


async def test_a_hostname_that_the_watch_has_not_seen_yet_is_found_by_the_live_look():
    async with dataset_world(3, rules=[Rule(LagEvents(60.0), resource="nodes")]) as world:
        await world.warmup(shards=3, propagationSeconds=0)
        await world.until("Ready", within=300)
        label = {"metadata": {"labels": {names.HOSTNAME: "ip-10-0-0-2"}}}
        await world.stage.client.merge_patch(NODES, "node-2", label)
        await older_job(world, "old-live", nodeSelector={names.HOSTNAME: "ip-10-0-0-2"})
        await world.stage.clock.sleep(30)
        release = (await world.status())["release"]
        assert release["errors"] == ["old-live: ip-10-0-0-2 is there after all"]
        await world.stage.clock.sleep(60)
        assert "old-live" in {job.metadata.name for job in await world.jobs()}
