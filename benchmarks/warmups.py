"""CPU of one reconcile of many settled datasets: 200 of 32 shards each, on 500 nodes.

    python -m benchmarks.warmups [--datasets 200] [--shards 32] [--nodes 500]

The cluster has only finished Jobs and counts requests. The first pass over all datasets writes every status; later
passes must send nothing. Prints the median milliseconds of CPU of a pass over all datasets.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from benchmarks.bars import Bar, judge
from benchmarks.replica import make_replica
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.transport import Request, Response
from mooring.controllers.warmups.manifests import SCRIPTS_NAME, job_manifest, scripts_manifest
from mooring.controllers.warmups.reconciler import WarmupReconciler
from mooring.controllers.warmups.translation import warmup_from_view
from mooring.kinds.views import Warmup
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.node import Node
from mooring.planning.placement import Placed
from mooring.planning.warmups.jobs import job_name, order_hash
from mooring.planning.warmups.plan import CreateJob
from mooring.planning.warmups.staleness import Order

BAR_MILLISECONDS = 200.0
BAR_SHARDS = 200 * 32  # the size that the bar is meant for
PASSES = 5
CREATED = "2026-03-01T11:00:00Z"
NAMESPACE = "bench"

Body = dict[str, Any]


class FrozenCluster:
    """Answers lists from fixed objects, keeps watches silent, accepts statuses, and counts all requests but watches."""

    def __init__(self, held: dict[str, list[Body]]) -> None:
        self._held = held
        self._version = 1_000_000
        self.calls = 0

    async def send(self, request: Request) -> Response:
        if ("watch", "true") in request.query or ("watch", "1") in request.query:
            return Response(200, {}, _silence())
        self.calls += 1
        if request.method == "PATCH":
            self._version += 1
            name = request.path.split("/")[-2]
            meta = {"name": name, "namespace": NAMESPACE, "resourceVersion": str(self._version)}
            return _answer({"metadata": meta})
        items = self._held.get(request.path.rsplit("/", 1)[-1], [])
        labelled = dict(request.query).get("labelSelector", "")
        found = [item for item in items if labelled in ("", *(item["metadata"].get("labels") or {}))]
        return _answer({"metadata": {"resourceVersion": "1000000"}, "items": found})


async def _silence() -> AsyncIterator[bytes]:
    await asyncio.get_running_loop().create_future()
    yield b""


def _answer(body: Body) -> Response:
    async def chunks() -> AsyncIterator[bytes]:
        yield msgspec.json.encode(body)

    return Response(200, {"content-type": "application/json"}, chunks())


def settled_cluster(datasets: int, shards: int, nodes: int) -> dict[str, list[Body]]:
    """Every shard of every dataset is done; each dataset begins at another node."""
    warmups = [_warmup(number, shards) for number in range(datasets)]
    jobs = []
    for number, body in enumerate(warmups):
        warmup = warmup_from_view(msgspec.convert(body, Warmup))
        names = frozenset(job_name(warmup.spec.dataset, shard) for shard in range(shards))
        order = Order(warmup.uid, warmup.spec.generation, order_hash(warmup.spec), "", names)
        for shard in range(shards):
            place = (number * 7 + shard) % nodes
            create = CreateJob(
                job_name(warmup.spec.dataset, shard), shard, Node(f"node-{place}", f"uid-{place}"), order
            )
            jobs.append(_done(job_manifest(warmup, create, Placed())))
    scripts = scripts_manifest(NAMESPACE)
    scripts["metadata"] |= {"name": SCRIPTS_NAME, "uid": "scripts", "resourceVersion": "3"}
    return {
        "warmups": warmups,
        "jobs": jobs,
        "configmaps": [scripts],
        "nodes": [_node(number) for number in range(nodes)],
    }


def _meta(name: str, uid: str, **more: Any) -> Body:
    return {"name": name, "uid": uid, "resourceVersion": "7", "creationTimestamp": CREATED, **more}


def _warmup(number: int, shards: int) -> Body:
    spec = {"dataset": f"set{number}", "shards": shards, "image": "fetcher", "command": ["fetch"], "verify": ["check"]}
    meta = _meta(f"set{number}", f"warmup-{number}", namespace=NAMESPACE, generation=1)
    return {"apiVersion": "mooring.dev/v1alpha1", "kind": "Warmup", "metadata": meta, "spec": spec}


def _node(number: int) -> Body:
    return {
        "metadata": _meta(f"node-{number}", f"uid-{number}", labels={"workload": "blast"}),
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"memory": "64Gi"}},
    }


def _done(body: Body) -> Body:
    meta = {**body["metadata"], **_meta(body["metadata"]["name"], f"job-{body['metadata']['name']}")}
    return {**body, "metadata": meta, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}


async def measure(datasets: int, shards: int, nodes: int) -> tuple[float, int]:
    """Median milliseconds of CPU of a pass that changes nothing, and the requests of all such passes."""
    clock, entropy = SystemClock(), Entropy(1)
    cluster = FrozenCluster(settled_cluster(datasets, shards, nodes))
    ledger = MemoryLedger(MemoryStore(), clock=clock, entropy=entropy)
    mooring = make_replica(KubeClient(cluster), ledger, clock, entropy)
    informer = mooring.warmups.informer
    reconciler = WarmupReconciler(mooring.context, informer)
    watching = [asyncio.create_task(watch()) for watch in (mooring.nodes.run, mooring.fleet.run, informer.run)]
    await mooring.wait_synced()
    await informer.wait_synced()
    keys = sorted(informer.warmups)
    for key in keys:
        await reconciler.reconcile(key)
    phases = {known.status.phase for key in keys if (known := reconciler.latest(key)) is not None}
    assert phases == {"Ready"}, phases
    before, spent = cluster.calls, []
    for _ in range(PASSES):
        started = time.process_time()
        for key in keys:
            await reconciler.reconcile(key)
        spent.append((time.process_time() - started) * 1000)
    for task in watching:
        task.cancel()
    await asyncio.gather(*watching, return_exceptions=True)
    return statistics.median(spent), cluster.calls - before


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=200)
    parser.add_argument("--shards", type=int, default=32)
    parser.add_argument("--nodes", type=int, default=500)
    chosen = parser.parse_args()
    milliseconds, calls = asyncio.run(measure(chosen.datasets, chosen.shards, chosen.nodes))
    print(f"{chosen.datasets} datasets of {chosen.shards} shards on {chosen.nodes} nodes")
    print(f"a pass that changes nothing: {milliseconds:.1f} ms of CPU, {calls} calls in {PASSES} passes")
    bar = BAR_MILLISECONDS * chosen.datasets * chosen.shards / BAR_SHARDS
    return judge(
        [Bar("CPU-ms of a pass that changes nothing", milliseconds, bar), Bar("requests of such passes", calls, 0)]
    )


if __name__ == "__main__":
    sys.exit(main())
