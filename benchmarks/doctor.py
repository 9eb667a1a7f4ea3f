"""The time of `mooring doctor` and of one explanation, on a fleet of 5,000 pods on 250 nodes.

    python -m benchmarks.doctor [PODS]

The embedded Kubernetes answers in this process, so its work is part of the time.
"""

import asyncio
import statistics
import sys
import time
from typing import Any

from benchmarks.bars import Bar, judge
from benchmarks.replica import make_replica
from drydock import ADMIN, ApiServer
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.credentials import AuthenticatedTransport, Credential, Credentials, FixedCredential, bearer
from hawser.resources import NAMESPACES, NODES, PODS
from mooring.kinds.installation import install_crds
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model import names

BAR_SECONDS = 2.0
PODS_A_NODE = 20
NAMESPACE = "bench"


async def furnish(client: KubeClient, count: int) -> None:
    """Nodes, a pool with all its idle workers, and one pod that fits nowhere."""
    await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    for number in range(count // PODS_A_NODE):
        await client.create(NODES, {"metadata": {"name": f"node-{number}"}})
        ready = {"type": "Ready", "status": "True"}
        status = {"status": {"allocatable": room, "capacity": room, "conditions": [ready]}}
        await client.merge_patch(NODES, f"node-{number}", status, subresource="status")
    template = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
    spec = {"warm": count, "max": count, "template": template, "idleSeconds": 86_400}
    pool = await client.create(WORKERPOOLS, {"metadata": {"name": "linux"}, "spec": spec}, NAMESPACE)
    owner = {"apiVersion": names.API_VERSION, "kind": "WorkerPool", "name": "linux", "uid": pool.metadata.uid}
    for number in range(count):
        labels = {names.POOL: "linux", names.WORKER: f"linux-{number}"}
        body: dict[str, Any] = {
            "metadata": {
                "name": f"linux-{number}",
                "labels": labels,
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": {**template["spec"], "nodeName": f"node-{number // PODS_A_NODE}"},
        }
        await client.create(PODS, body, NAMESPACE)
        conditions = [{"type": kind, "status": "True"} for kind in ("Ready", "PodScheduled")]
        status = {"status": {"phase": "Running", "conditions": conditions}}
        await client.merge_patch(PODS, f"linux-{number}", status, NAMESPACE, subresource="status")
    lost = {**template["spec"], "nodeSelector": {"no": "where"}}
    await client.create(PODS, {"metadata": {"name": "lost"}, "spec": lost}, NAMESPACE)


def open_cluster(clock: SystemClock, entropy: Entropy) -> tuple[ApiServer, KubeClient]:
    """An embedded API server without nodes and controllers, and a client of its administrator."""
    api = ApiServer(clock, entropy, tokens={"token": ADMIN})
    credentials = Credentials(FixedCredential(Credential(bearer("token"))), clock)
    return api, KubeClient(AuthenticatedTransport(api, credentials))


async def measure(count: int) -> list[Bar]:
    """The bars of both."""
    clock, entropy = SystemClock(), Entropy(1)
    api, client = open_cluster(clock, entropy)
    await install_crds(client, clock)
    await furnish(client, count)
    ledger = MemoryLedger(MemoryStore(), clock=clock, entropy=entropy)
    mooring = make_replica(client, ledger, clock, entropy)
    running = asyncio.create_task(mooring.run())
    while mooring.readiness.obstacles or not mooring.leadership.leading:
        await clock.sleep(0.1)
    await clock.sleep(3)
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        checkup = await mooring.queries.doctor.examine()
        taken.append(time.perf_counter() - began)
        print(f"doctor, {count} pods: {taken[-1]:.2f} s, {len(checkup.checks)} checks")
    began = time.perf_counter()
    told = await mooring.queries.explainer.explain(NAMESPACE, "lost")
    explained = time.perf_counter() - began
    print(f"explain, {count} pods: {explained:.2f} s: {told.fix}")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await api.close()
    return [
        Bar(f"seconds of the doctor, {count} pods", statistics.median(taken), BAR_SECONDS),
        Bar(f"seconds of an explanation, {count} pods", explained, BAR_SECONDS),
    ]


if __name__ == "__main__":
    sys.exit(judge(asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000))))
