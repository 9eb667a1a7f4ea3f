"""Preflight says what the real kube-scheduler says, pod by pod: random clusters, each filling up with random pods.

A pod that is bound stays, so that later ones meet it; the scheduler counts its own bindings at once, so nothing races.
Some leave, and without a kubelet stay where they are, terminating. Some refusals are explained from what is read live.
`MOORING_FIT_PODS=2000` judges as many as the promise is about.
"""

import asyncio
import contextlib
import os
from collections import Counter
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from drydock import ControlPlane
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import connect
from hawser.errors import ObjectNotFound
from hawser.fitting.volumes import BoundVolume, Unbound, read_volume
from hawser.kubeconfig import load_kubeconfig
from hawser.reflector import Reflector
from hawser.resources import (
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    SERVICEACCOUNTS,
    Resource,
)
from hawser.views import PartialObject, Pod, find_condition
from mooring.engine.evidence import gather_failure
from mooring.engine.nodes.translation import node_from_view
from mooring.model.node import Node
from mooring.model.preflight import Preflight
from mooring.planning.fit import Usage, plan_preflight
from mooring.planning.fit.usage import read_residents
from mooring.queries.explain import Explainer
from mooring.queries.sources import NodeSource
from packages.mooring.tests.conformance import random_pods
from packages.mooring.tests.conformance.random_pods import (
    CLAIMS,
    HEAVY,
    MISSING,
    UNBOUND,
    Dice,
    random_node,
    random_pod,
)
from packages.mooring.tests.requirements import require_kubernetes

pytestmark = [pytest.mark.kubernetes, pytest.mark.realtime]

PODS_JUDGED = int(os.environ.get("MOORING_FIT_PODS", "300"))
PODS_A_CLUSTER = 100
EXPLAINED_EVERY = 10
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", False, PartialObject)
Volumes = dict[str, BoundVolume | Unbound]
Body = dict[str, Any]


class Scheduler:
    """The real one's word on each pod, taken from the watch."""

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        self.pods = Reflector(client, PODS, clock=SystemClock(), entropy=Entropy())
        self._words: dict[str, asyncio.Future[str]] = {}
        self.pods.subscribe(self._see)

    async def judge(self, body: Body, namespace: str) -> tuple[Body, str, str]:
        """The pod as created, the node it got, and otherwise the scheduler's sentence."""
        pod = await self.client.create(PODS.raw(), body, namespace)
        word = self._words.setdefault(pod["metadata"]["uid"], asyncio.get_running_loop().create_future())
        async with asyncio.timeout(20):
            said = await word
        return (pod, said.removeprefix("on "), "") if said.startswith("on ") else (pod, "", said)

    def _see(self, change: Change[Pod]) -> None:
        pod = change.new
        if pod is None:
            return
        told = find_condition(pod.status.conditions, "PodScheduled")
        refused = told is not None and told.status == "False" and told.reason == "Unschedulable"
        said = f"on {pod.spec.node_name}" if pod.spec.node_name else told.message if told and refused else ""
        if said:
            word = self._words.setdefault(pod.metadata.uid, asyncio.get_running_loop().create_future())
            if not word.done():
                word.set_result(said)


async def until(holds: Any, what: str) -> None:
    for _ in range(600):
        if await holds():
            return
        await asyncio.sleep(0.05)  # a real cluster in real time
    raise AssertionError(f"not in time: {what}")


async def furnish(client: KubeClient) -> Volumes:
    """Namespaces with labels, a class of pods with overhead, and claims: with a volume in a zone, and with none."""
    for name, labels in random_pods.NAMESPACES.items():
        await client.create(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
    for name in random_pods.NAMESPACES:

        async def has_account(name: str = name) -> bool:
            with contextlib.suppress(ObjectNotFound):
                await client.get(SERVICEACCOUNTS, "default", name)
                return True
            return False

        await until(has_account, f"a default account in {name}")
    volumes: Volumes = {UNBOUND: Unbound.IMMEDIATE, MISSING: Unbound.MISSING}
    await client.create(RUNTIME_CLASSES, HEAVY)
    asked: Body = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "9Ti"}},
    }
    await client.create(PERSISTENTVOLUMECLAIMS, {"metadata": {"name": UNBOUND}, "spec": asked}, "fit-a")
    for claim, zone in CLAIMS.items():
        required = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
        shared: Body = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
        spec: Body = {
            **shared,
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/none"},
            "claimRef": {"namespace": "fit-a", "name": claim},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [required]}]}},
        }
        volume = await client.create(PERSISTENTVOLUMES.raw(), {"metadata": {"name": claim}, "spec": spec})
        wanted: Body = {**shared, "volumeName": claim, "resources": {"requests": {"storage": "1Gi"}}}
        await client.create(PERSISTENTVOLUMECLAIMS, {"metadata": {"name": claim}, "spec": wanted}, "fit-a")
        volumes[claim] = read_volume(volume)

        async def bound(claim: str = claim) -> bool:
            found = await client.get(PERSISTENTVOLUMECLAIMS.raw(), claim, "fit-a")
            return bool((found.get("status") or {}).get("phase") == "Bound")

        await until(bound, f"claim {claim} bound")
    return volumes


async def build(client: KubeClient, dice: Dice, number: int) -> list[Node]:
    """Nodes whose taints have settled: the controllers add and take away some of their own."""
    cordoned = {}
    for index in range(dice.number(3, 14)):
        body, status = random_node(dice, f"c{number}-n{index}")
        await client.create(NODES, body)
        name = body["metadata"]["name"]
        await client.merge_patch(NODES, name, {"status": status}, subresource="status")
        cordoned[name] = bool(body["spec"].get("unschedulable"))
    nodes: list[Node] = []

    async def settled() -> bool:
        nodes[:] = [node_from_view(view) for view in (await client.list(NODES)).items]
        keys = {node.name: {taint.key for taint in node.taints} for node in nodes}
        return len(nodes) == len(cordoned) and all(
            "node.kubernetes.io/not-ready" not in keys[name]
            and ("node.kubernetes.io/unschedulable" in keys[name]) is cordoned[name]
            for name in keys
        )

    await until(settled, "nodes without passing taints")
    await asyncio.sleep(0.3)  # the scheduler's own cache hears of it a moment later
    return nodes


async def forget(client: KubeClient, pod: Pod) -> None:
    with contextlib.suppress(ObjectNotFound):
        await client.delete(PODS, pod.metadata.name, pod.metadata.namespace, grace_seconds=0)


async def clear(client: KubeClient) -> None:
    """Before the next cluster: no pod and no node is left, in the scheduler's memory neither."""
    pods, nodes = (await client.list(PODS)).items, (await client.list(NODES)).items
    await asyncio.gather(*(forget(client, pod) for pod in pods))
    await asyncio.gather(*(client.delete(NODES, node.metadata.name) for node in nodes))

    async def gone() -> bool:
        return not (await client.list(PODS)).items and not (await client.list(NODES)).items

    await until(gone, "an empty cluster")
    await asyncio.sleep(0.3)  # see build


async def let_one_leave(client: KubeClient, dice: Dice, residents: list[Body]) -> None:
    """One of the bound pods is deleted: without a kubelet it stays where it is, terminating."""
    staying = [index for index, pod in enumerate(residents) if "deletionTimestamp" not in pod["metadata"]]
    if staying:
        index = dice.one_of(staying)
        meta = residents[index]["metadata"]
        await client.delete(PODS, meta["name"], meta["namespace"])
        residents[index] = {**residents[index], "metadata": {**meta, "deletionTimestamp": "2026-03-01T12:00:00Z"}}
        await asyncio.sleep(0.05)  # see build


async def explained(client: KubeClient, nodes: list[Node], pod: Body) -> Preflight:
    """What `mooring explain` says, from what it reads itself."""
    seen = SimpleNamespace(by_name={node.name: node for node in nodes}, templates=())
    explainer = Explainer(client, cast(NodeSource, seen), SystemClock(), partial(gather_failure, client))
    told = await explainer.explain(pod["metadata"]["namespace"], pod["metadata"]["name"])
    assert told.unread == () and told.preflight is not None
    return told.preflight


async def compare(client: KubeClient, scheduler: Scheduler, volumes: Volumes, number: int) -> Counter[str]:
    """One cluster: how often both said yes, how often no. The first disagreement ends it."""
    dice = Dice(number)
    nodes = await build(client, dice, number)
    residents: list[Body] = []
    tally: Counter[str] = Counter()
    for index in range(min(PODS_A_CLUSTER, PODS_JUDGED)):
        namespace, body = random_pod(dice, f"c{number}-p{index}", [node.name for node in nodes])
        pod, node, said = await scheduler.judge(body, namespace)
        usage = Usage(read_residents(residents), volumes, random_pods.NAMESPACES)
        told = plan_preflight(pod, nodes, usage)
        pod["spec"].pop("nodeName", None)
        context = f"cluster {number}, pod {index}: {msgspec.json.encode(pod['spec']).decode()}"
        assert told.unknown == (), context
        if node:
            assert node in [verdict.node for verdict in told.verdicts if verdict.fits], (context, told.sentence)
            residents.append({**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Pending"}})
            tally["fits"] += 1
            if dice.chance(0.15):
                await let_one_leave(client, dice, residents)
                tally["left"] += 1
        else:
            assert told.fits == 0, (context, said, [one.node for one in told.verdicts if one.fits])
            if index % EXPLAINED_EVERY == 0:
                read = await explained(client, nodes, pod)
                assert (read.fits, read.sentence, read.unknown) == (0, told.sentence, ()), context
                tally["explained"] += 1
            await client.delete(PODS, pod["metadata"]["name"], namespace, grace_seconds=0)
            tally["kept off"] += 1
            tally.update(group.kind for group in told.groups)
    await clear(client)
    return tally


async def test_preflight_agrees_with_the_real_scheduler_on_every_pod() -> None:
    require_kubernetes()

    clock = SystemClock()
    tally: Counter[str] = Counter()
    async with ControlPlane.start(None, clock=clock, entropy=Entropy()) as plane:
        connection = await connect(load_kubeconfig(plane.kubeconfig).target(), clock)
        client = KubeClient(connection)
        scheduler = Scheduler(client)
        watching = asyncio.create_task(scheduler.pods.run())
        try:
            await scheduler.pods.wait_synced()
            volumes = await furnish(client)
            for number in range(max(1, PODS_JUDGED // PODS_A_CLUSTER)):
                tally += await compare(client, scheduler, volumes, number)
        finally:
            watching.cancel()
            await connection.close()
    assert tally["fits"] + tally["kept off"] == PODS_JUDGED
    assert min(tally["fits"], tally["kept off"]) > PODS_JUDGED // 10, tally
    for kind in ("taint", "selector", "resource", "volume", "left", "explained"):
        assert tally[kind] > 0, f"{kind} never happened: {tally}"
