"""node-rotation: caches pinned to nodes that no longer exist, and a warmup that skips them for ever."""

from dataclasses import dataclass

from drydock import ContainerRun, Drift, Nodes, Script, plain_nodes
from hawser.resources import JOBS
from mooring.incidents.datasets import make_warmup, read_warmup
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.older_jobs import OLDER, PINS, make_older_jobs, older_jobs
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.incidents.storage import Storage
from mooring.model import names

SHARDS = 10
NODES = 12
DOWN_SECONDS = 120.0
RETURN_SECONDS = 60.0
CYCLE_SECONDS = 60.0
MOST_CYCLES = 10


class NodeRotation(Incident):
    """Ten Jobs had succeeded on nodes that are gone.

    10 of 10 shards failed in every cycle, until a person deleted them.
    """

    name = "node-rotation"
    title = "caches pinned to nodes that no longer exist"
    story = (
        "A dataset of ten shards is warm. The cluster is stopped and started, and every node comes back as another "
        "one. The ten Jobs still say that they succeeded, so the names are taken and nothing is warmed again. So do "
        "Jobs of an older tool, which the Warmup adopts."
    )
    protections = ("warm-on-live-node",)
    hurry = 12.0

    def __init__(self) -> None:
        self._storage = Storage()

    def nodes(self) -> Nodes:
        return plain_nodes(NODES)

    def script(self, run: ContainerRun) -> Script | None:
        return self._storage.script(run)

    async def play(self, stage: Stage, protected: bool) -> Figures:
        self._storage = Storage(fetch_seconds=stage.hurried(20.0))
        stage.start()
        await make_older_jobs(stage, stage.sandbox.fleet.node_names)
        await make_warmup(stage, shards=SHARDS, adopt={"selector": OLDER})
        await stage.until(lambda: _is_ready(stage), stage.hurried(600.0), "a warm dataset")
        stage.narrate(f"{SHARDS} shards are warm; the cluster is stopped")
        self._storage.fetched.clear()
        await _stop_and_start(stage)
        stage.narrate(f"{NODES} nodes are back, under other names and with cold disks")
        cycles = await _watch(stage)
        status = await read_warmup(stage)
        lost = SHARDS - status.get("nodesReady", 0)
        if cycles.ready:
            stage.narrate(f"Ready again after {cycles.failed + 1} cycle(s), without a person")
        else:
            stage.narrate(f"{lost} of {SHARDS} failed on every one of {cycles.failed} cycles")
        older = await older_jobs(stage)
        stage.narrate(f"{len(older)} of {len(PINS)} Jobs of an older tool are still there: {', '.join(sorted(older))}")
        return Figures(
            outage=not cycles.ready,
            measured={
                "shards": SHARDS,
                "failedCycles": cycles.failed,
                "failedShardsInTheLast": lost,
                "cyclesToReady": cycles.failed + 1 if cycles.ready else None,
                "shardsFetchedAgain": len(self._storage.fetched),
                "jobsOnGoneNodes": await _homeless_jobs(stage),
                "olderJobs": len(PINS),
                "olderJobsStillThere": len(older),
                "phase": status.get("phase", ""),
            },
        )


@dataclass(frozen=True, slots=True)
class _Cycles:
    """The number of cycles without a warm dataset, and whether the last one was."""

    failed: int
    ready: bool


async def _stop_and_start(stage: Stage) -> None:
    drift = Drift(stage.client, stage.sandbox.fleet, stage.clock, stage.entropy)
    await drift.stop_start(
        stage.sandbox.fleet.node_names,
        naming="new",
        down_seconds=stage.hurried(DOWN_SECONDS),
        return_seconds=stage.hurried(RETURN_SECONDS),
    )


async def _watch(stage: Stage) -> _Cycles:
    for cycle in range(MOST_CYCLES):
        await stage.clock.sleep(stage.hurried(CYCLE_SECONDS))
        if await _is_ready(stage):
            return _Cycles(cycle, True)
    return _Cycles(MOST_CYCLES, False)


async def _is_ready(stage: Stage) -> bool:
    return (await read_warmup(stage)).get("phase") == "Ready"


async def _homeless_jobs(stage: Stage) -> int:
    present = set(stage.sandbox.fleet.node_names)
    shards = (await read_warmup(stage)).get("shards") or []
    nodes = {shard["job"]: shard["node"] for shard in shards}
    jobs = (await stage.client.list(JOBS, NAMESPACE, label_selector=names.DATASET)).items
    return sum(nodes.get(job.metadata.name) not in present for job in jobs)
