"""Batches go where their shard is warm, and are made again elsewhere when that node is lost."""

from typing import Any

from drydock import Script
from hawser.resources import JOBS, NODES
from mooring.kinds.resources import WARMUPS
from mooring.model.names import NODE_UID
from mooring.model.submission import job_name
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, harbour
from packages.mooring.tests.scenarios.submits import read, spec, submit, until, until_phase

ORDER = spec(
    setup=None,
    placement={"warmup": "core-nt"},
    requires={"warmups": ["core-nt"]},
    batches=[{"name": "q0", "shard": 0}, {"name": "q1", "shard": 1}],
    finalizer=None,
)


async def _warm(world: Harbour) -> None:
    body = {"metadata": {"name": "core-nt"}, "spec": {"dataset": "core_nt", "image": "fetch", "shards": 2}}
    await world.client.create(WARMUPS, body, NAMESPACE)

    async def ready() -> bool:
        return (await world.client.get(WARMUPS, "core-nt", NAMESPACE)).status.phase == "Ready"

    await until(world, ready, 300)


async def test_every_batch_runs_on_the_node_that_holds_its_shard(world):
    replica = world.start()
    await _warm(world)
    await submit(replica, ORDER)
    await until_phase(world, "Succeeded")
    warm = (await world.client.get(WARMUPS, "core-nt", NAMESPACE)).status.shards
    homes = {shard.shard: (shard.node, shard.node_uid) for shard in warm}
    pods = {pod.metadata.labels.get("mooring.dev/step"): pod.spec.node_name for pod in await world.pods()}
    assert (pods["q0"], pods["q1"]) == (homes[0][0], homes[1][0])
    job = await world.client.get(JOBS, job_name("night-1", "q0"), NAMESPACE)
    assert job.metadata.annotations[NODE_UID] == homes[0][1]


async def test_a_placement_that_no_step_uses_refuses_nothing(world):
    replica = world.start()
    nowhere = {"nodeSelector": {"disk": "of-no-node"}}
    here = [{"name": "q0", "placement": {"nodeSelector": {}}}]
    await submit(replica, spec(setup=None, placement=nowhere, batches=here, finalizer=None))
    await until_phase(world, "Succeeded")


async def test_a_batch_whose_node_is_lost_before_it_runs_is_made_again_where_the_shard_is_warm_now():
    def script(run: Any) -> Script | None:
        return (
            Script(start_seconds=5, run_seconds=2)
            if run.pod["metadata"]["labels"].get("mooring.dev/step") == "q0"
            else None
        )

    async with harbour(scripts=script) as world:
        replica = world.start()
        await _warm(world)
        await submit(replica, ORDER)

        async def made() -> bool:
            return any(step.job for step in (await read(world)).status.steps)

        await until(world, made, 60)
        first = await world.client.get(JOBS, job_name("night-1", "q0"), NAMESPACE)
        home = (await world.client.get(WARMUPS, "core-nt", NAMESPACE)).status.shards[0].node
        await world.sandbox.fleet.remove_node(home)
        await until_phase(world, "Succeeded", within=900)
        again = await world.client.get(JOBS, job_name("night-1", "q0"), NAMESPACE)
        assert again.metadata.uid != first.metadata.uid or again.status.failed
        assert home not in {node.metadata.name for node in (await world.client.list(NODES)).items}
