"""Probes: what happens to things in a cluster, told as facts that can be compared between clusters.

Names, times and ids are replaced, so that the same probe tells the same of the sandbox and of real Kubernetes.
"""

import re
from collections.abc import Callable, Coroutine
from typing import Any

from mooring.clock import Clock, Entropy
from mooring.kube.client import KubeClient
from mooring.kube.errors import EvictionBlocked, ObjectNotFound
from mooring.kube.resources import (
    BUDGETS,
    CONFIGMAPS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    SERVICES,
    Resource,
)
from mooring.sandbox.actors.drain import DrainPolicy
from mooring.sandbox.actors.drift import Drift
from mooring.sandbox.actors.fleet import Fleet
from mooring.sandbox.actors.kubelet.machine import NodeTemplate
from tests.sandbox.actors.cluster import deployment, job, pod, script

Object = dict[str, Any]
Facts = Any


class Probed:
    """A namespace of some cluster, and the machines of that cluster."""

    def __init__(self, client: KubeClient, clock: Clock, namespace: str, fleet: Fleet) -> None:
        self.client = client
        self.clock = clock
        self.namespace = namespace
        self.fleet = fleet

    async def own_node(self, name: str, cpu: str = "4") -> Object:
        """A node for this probe alone; returns what a pod's spec needs to get there."""
        key = f"probe-{name}"
        capacity = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
        taint = {"key": key, "effect": "NoSchedule"}
        await self.fleet.add_node(name, NodeTemplate(labels={key: "yes"}, taints=(taint,), capacity=capacity))
        tolerations = [{"key": key, "operator": "Exists"}]
        return {"nodeSelector": {key: "yes"}, "tolerations": tolerations}

    async def until_running(self, *names: str) -> None:
        async def running() -> bool:
            pods = [await self.get(PODS, name) for name in names]
            return all(one["status"].get("phase") == "Running" for one in pods)

        await self.until(running)

    async def create(self, resource: Resource[Any], body: Object) -> Object:
        return await self.client.create(resource.raw(), body, self.namespace)

    async def get(self, resource: Resource[Any], name: str) -> Object:
        return await self.client.get(resource.raw(), name, self.namespace)

    async def patch(self, resource: Resource[Any], name: str, patch: Object) -> Object:
        return await self.client.merge_patch(resource.raw(), name, patch, self.namespace)

    async def items(self, resource: Resource[Any], labels: str = "") -> list[Object]:
        return (await self.client.list(resource.raw(), self.namespace, label_selector=labels)).items

    async def until(self, check: Callable[[], Coroutine[Any, Any, Any]], within: float = 60.0) -> None:
        begin = self.clock.monotonic()
        while not await check():
            assert self.clock.monotonic() - begin < within, f"not within {within} s"
            await self.clock.sleep(0.25)

    async def until_condition(self, resource: Resource[Any], name: str, kind: str, within: float = 60.0) -> Object:
        async def reached() -> bool:
            conditions = (await self.get(resource, name))["status"].get("conditions") or ()
            return any(one["type"] == kind and one["status"] == "True" for one in conditions)

        await self.until(reached, within)
        return await self.get(resource, name)

    async def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of what controllers said about an object, sorted."""
        await self.clock.sleep(1.5)
        found = [event for event in await self.items(EVENTS) if event["involvedObject"]["name"] == name]
        return sorted((event["type"], event["reason"], plain(event["message"])) for event in found)


_HASH = re.compile(r"\b(web|j|strict|p)-[a-z0-9]{5,10}(-[a-z0-9]{5})?\b")
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")


def plain(value: Any) -> Any:
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, str):
        return "<time>" if _STAMP.match(value) else _HASH.sub(r"\1-<hash>", value)
    return value


def conditions(item: Object) -> Facts:
    found = item["status"].get("conditions") or ()
    return [plain({key: one[key] for key in ("type", "status", "reason", "message") if key in one}) for one in found]


async def a_job_completes(at: Probed) -> Facts:
    await at.create(JOBS, job("j", completions=2, parallelism=1))
    done = await at.until_condition(JOBS, "j", "Complete")
    pods = await at.items(PODS, "job-name=j")
    return {
        "status": plain(done["status"]),
        "pods": [(one["status"]["phase"], one["metadata"].get("finalizers")) for one in pods],
        "owner": plain(
            {key: value for key, value in pods[0]["metadata"]["ownerReferences"][0].items() if key != "uid"}
        ),
        "name": plain(pods[0]["metadata"]["generateName"]),
        "events": await at.events("j"),
    }


async def a_job_fails(at: Probed) -> Facts:
    await at.create(JOBS, job("j", backoffLimit=0, annotations=script(runSeconds=1, exitCode=3)))
    failed = await at.until_condition(JOBS, "j", "Failed")
    return {"status": plain(failed["status"]), "events": await at.events("j")}


async def a_job_passes_its_deadline(at: Probed) -> Facts:
    await at.create(JOBS, job("j", activeDeadlineSeconds=3, annotations=script(runSeconds=99, stopCode=143)))
    failed = await at.until_condition(JOBS, "j", "Failed")
    return {"status": plain(failed["status"]), "events": await at.events("j")}


async def a_job_is_suspended_and_resumed(at: Probed) -> Facts:
    await at.create(JOBS, job("j", annotations=script(runSeconds=4, stopCode=143)))
    await at.clock.sleep(2.5)
    await at.patch(JOBS, "j", {"spec": {"suspend": True}})
    suspended = await at.until_condition(JOBS, "j", "Suspended")
    await at.patch(JOBS, "j", {"spec": {"suspend": False}})
    done = await at.until_condition(JOBS, "j", "Complete")
    return {
        "suspended": conditions(suspended),
        "startTime": "startTime" in suspended["status"],
        "status": plain(done["status"]),
    }


async def an_indexed_job_completes(at: Probed) -> Facts:
    await at.create(JOBS, job("j", completions=3, parallelism=3, completionMode="Indexed"))
    done = await at.until_condition(JOBS, "j", "Complete")
    pods = sorted(await at.items(PODS, "job-name=j"), key=lambda one: str(one["metadata"]["name"]))
    return {
        "status": plain(done["status"]),
        "annotations": [one["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for one in pods],
        "labels": [one["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for one in pods],
        "hostnames": [one["spec"]["hostname"] for one in pods],
        "env": [one["spec"]["containers"][0]["env"] for one in pods],
        "names": [one["metadata"]["generateName"] for one in pods],
    }


async def a_policy_fails_a_job(at: Probed) -> Facts:
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
    body = job("strict", podFailurePolicy={"rules": rules}, annotations=script(runSeconds=1, exitCode=42))
    await at.create(JOBS, body)
    failed = await at.until_condition(JOBS, "strict", "Failed")
    message = re.sub(r"pod \S+/", "pod <namespace>/", str(conditions(failed)))
    return {"conditions": message, "failed": failed["status"]["failed"]}


async def _rolled_out(at: Probed, name: str, replicas: int) -> Object:
    async def done() -> bool:
        found = await at.get(DEPLOYMENTS, name)
        status = found["status"]
        counts = {status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")}
        return counts == {replicas} and status.get("observedGeneration") == found["metadata"]["generation"]

    await at.until(done)
    await at.clock.sleep(1)
    return await at.get(DEPLOYMENTS, name)


async def a_deployment_rolls(at: Probed) -> Facts:
    await at.create(DEPLOYMENTS, deployment("web", 2))
    first = await _rolled_out(at, "web", 2)
    template = {"spec": {"containers": [{"name": "main", "image": "alpine"}]}}
    await at.patch(DEPLOYMENTS, "web", {"spec": {"template": template}})
    second = await _rolled_out(at, "web", 2)
    sets = sorted(await at.items(REPLICASETS), key=lambda one: str(one["metadata"]["annotations"]))
    return {
        "first": plain(first["status"]),
        "second": plain(second["status"]),
        "annotations": [first["metadata"]["annotations"], second["metadata"]["annotations"]],
        "sets": [(one["metadata"]["annotations"], one["spec"]["replicas"], plain(one["status"])) for one in sets],
        "events": await at.events("web"),
    }


async def a_deployment_is_paused(at: Probed) -> Facts:
    await at.create(DEPLOYMENTS, deployment("web", 1))
    await _rolled_out(at, "web", 1)
    await at.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    await at.clock.sleep(2)
    paused = await at.get(DEPLOYMENTS, "web")
    await at.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    await at.clock.sleep(2)
    return {"paused": conditions(paused), "resumed": conditions(await at.get(DEPLOYMENTS, "web"))}


async def a_budget_protects(at: Probed) -> Facts:
    for number in range(2):
        await at.create(PODS, pod(f"p{number}", labels={"app": "x"}, annotations=script(stopSeconds=2)))
    spec = {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1}
    await at.create(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})

    async def allows() -> bool:
        return bool((await at.get(BUDGETS, "b")).get("status", {}).get("disruptionsAllowed") == 1)

    await at.until(allows)
    before = await at.get(BUDGETS, "b")
    await at.client.evict("p0", at.namespace)
    try:
        await at.client.evict("p1", at.namespace)
        refusal = ""
    except EvictionBlocked as blocked:
        refusal = blocked.message
    await at.clock.sleep(4)
    after = await at.get(BUDGETS, "b")
    return {"before": plain(before["status"]), "after": plain(after["status"]), "refusal": refusal}


async def a_budget_cannot_be_told(at: Probed) -> Facts:
    body = job("j", annotations=script(runSeconds=99))
    body["spec"]["template"]["metadata"]["labels"] = {"app": "x"}
    await at.create(JOBS, body)
    spec = {"selector": {"matchLabels": {"app": "x"}}, "maxUnavailable": 1}
    await at.clock.sleep(2)
    await at.create(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    await at.clock.sleep(2)
    return {"status": plain((await at.get(BUDGETS, "b"))["status"])}


async def a_service_has_endpoints(at: Probed) -> Facts:
    ports = [{"name": "web", "port": 80, "targetPort": "http"}]
    await at.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}, "ports": ports}})
    await at.clock.sleep(1)
    empty = await at.items(ENDPOINTSLICES, "kubernetes.io/service-name=s")
    body = pod("p", labels={"app": "web"})
    body["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 8080}]
    await at.create(PODS, body)
    await at.clock.sleep(4)
    [found] = await at.items(ENDPOINTSLICES, "kubernetes.io/service-name=s")
    [endpoint] = found["endpoints"]
    return {
        "empty": [(one.get("endpoints"), one.get("ports"), one["addressType"]) for one in empty],
        "ports": found["ports"],
        "conditions": endpoint["conditions"],
        "target": sorted(endpoint["targetRef"]),
        "fields": sorted(endpoint),
        "labels": found["metadata"]["labels"],
        "name": found["metadata"]["generateName"],
    }


async def garbage_is_collected(at: Probed) -> Facts:
    parent = await at.create(CONFIGMAPS, {"metadata": {"name": "parent"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": parent["metadata"]["uid"]}
    wrong = {**reference, "uid": "00000000-0000-0000-0000-000000000000"}
    await at.create(CONFIGMAPS, {"metadata": {"name": "child", "ownerReferences": [reference]}})
    await at.create(CONFIGMAPS, {"metadata": {"name": "stranger", "ownerReferences": [wrong]}})
    await at.clock.sleep(1)
    first = sorted(one["metadata"]["name"] for one in await at.items(CONFIGMAPS))
    await at.client.delete(CONFIGMAPS, "parent", at.namespace, propagation="Orphan")
    await at.clock.sleep(1)
    orphan = await at.get(CONFIGMAPS, "child")
    names = [name for name in first if name != "kube-root-ca.crt"]
    return {"after a second": names, "orphan": orphan["metadata"].get("ownerReferences")}


async def a_job_deleted_in_the_foreground(at: Probed) -> Facts:
    await at.create(JOBS, job("j", annotations=script(runSeconds=99, stopSeconds=2)))
    await at.clock.sleep(3)
    await at.client.delete(JOBS, "j", at.namespace, propagation="Foreground")
    await at.clock.sleep(1)
    waiting = await at.get(JOBS, "j")
    pods = [bool(one["metadata"].get("deletionTimestamp")) for one in await at.items(PODS)]

    async def gone() -> bool:
        try:
            await at.get(JOBS, "j")
        except ObjectNotFound:
            return True
        return False

    await at.until(gone)
    return {"finalizers": waiting["metadata"]["finalizers"], "pods": pods, "left": len(await at.items(PODS))}


async def a_namespace_is_held_up(at: Probed) -> Facts:
    name = f"{at.namespace}-held"
    await at.client.create(NAMESPACES.raw(), {"metadata": {"name": name}})
    await at.clock.sleep(1)
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await at.client.create(CONFIGMAPS.raw(), held, name)
    await at.client.delete(NAMESPACES, name)
    await at.clock.sleep(8)
    ending = await at.client.get(NAMESPACES.raw(), name)
    await at.client.merge_patch(CONFIGMAPS.raw(), "held", {"metadata": {"finalizers": None}}, name)

    async def gone() -> bool:
        try:
            await at.client.get(NAMESPACES, name)
        except ObjectNotFound:
            return True
        return False

    await at.until(gone)
    return {"phase": ending["status"]["phase"], "conditions": conditions(ending)}


def told(item: Object, kind: str) -> Facts:
    return [one for one in conditions(item) if one["type"] == kind]


def taints(node: Object) -> list[tuple[str, str]]:
    return sorted((one["key"], one["effect"]) for one in node["spec"].get("taints") or ())


async def a_node_falls_silent(at: Probed) -> Facts:
    place = await at.own_node("silent")
    await at.create(PODS, pod("p", **place))
    await at.until_running("p")
    await at.fleet.pause("silent")

    async def tainted() -> bool:
        found = taints(await at.client.get(NODES.raw(), "silent"))
        return ("node.kubernetes.io/unreachable", "NoExecute") in found

    await at.until(tainted, within=120)
    await at.clock.sleep(2)
    node, left = await at.client.get(NODES.raw(), "silent"), await at.get(PODS, "p")
    await at.fleet.resume("silent")

    async def healed() -> bool:
        return len(taints(await at.client.get(NODES.raw(), "silent"))) == 1

    await at.until(healed, within=30)
    await at.clock.sleep(2)
    said = [event for event in await at.events("p") if event[1] in ("NodeNotReady", "TaintManagerEviction")]
    return {
        "node": conditions(node),
        "taints": taints(node),
        "pod": told(left, "Ready"),
        "events": [(kind, reason, message.replace(at.namespace, "<namespace>")) for kind, reason, message in said],
        "again": told(await at.client.get(NODES.raw(), "silent"), "Ready"),
    }


async def a_taint_evicts(at: Probed) -> Facts:
    place = await at.own_node("tainted")
    slow = script(stopSeconds=4)
    await at.create(PODS, pod("at-once", annotations=slow, **place))
    later = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}
    await at.create(PODS, pod("later", annotations=slow, **{**place, "tolerations": [*place["tolerations"], later]}))
    await at.until_running("at-once", "later")
    node = await at.client.get(NODES.raw(), "tainted")
    maintenance = {"key": "maintenance", "effect": "NoExecute"}
    patch = {"spec": {"taints": [*node["spec"]["taints"], maintenance]}}
    await at.client.merge_patch(NODES.raw(), "tainted", patch)
    await at.clock.sleep(1.5)
    first = [await at.get(PODS, name) for name in ("at-once", "later")]
    await at.clock.sleep(3)
    second = await at.get(PODS, "later")
    said = [event for event in await at.events("at-once") if event[1] == "TaintManagerEviction"]
    return {
        "going": [bool(one["metadata"].get("deletionTimestamp")) for one in [*first, second]],
        "condition": told(first[0], "DisruptionTarget"),
        "events": [message.replace(at.namespace, "<namespace>") for _, _, message in said],
    }


async def a_node_vanishes(at: Probed) -> Facts:
    place = await at.own_node("vanishing")
    body = pod("p", **place)
    body["metadata"]["finalizers"] = ["example.com/look"]
    await at.create(PODS, body)
    await at.until_running("p")
    await at.fleet.remove_node("vanishing")

    async def collected() -> bool:
        return bool((await at.get(PODS, "p"))["metadata"].get("deletionTimestamp"))

    await at.until(collected, within=90)
    left = await at.get(PODS, "p")
    await at.patch(PODS, "p", {"metadata": {"finalizers": None}})
    return {"phase": left["status"]["phase"], "condition": told(left, "DisruptionTarget")}


async def a_pod_is_preempted(at: Probed) -> Facts:
    place = await at.own_node("crowded", cpu="2")
    resources = {"requests": {"cpu": "2"}}
    low, high = pod("low", annotations=script(stopSeconds=3), **place), pod("high", **place)
    for body in (low, high):
        body["spec"]["containers"][0]["resources"] = resources
    high["spec"]["priorityClassName"] = f"{at.namespace}-vip"
    await at.client.create(PRIORITYCLASSES.raw(), {"metadata": {"name": f"{at.namespace}-vip"}, "value": 1000})
    await at.create(PODS, low)
    await at.until_running("low")
    await at.clock.sleep(1)
    await at.create(PODS, high)
    await at.clock.sleep(1.5)
    waiting, victim = await at.get(PODS, "high"), await at.get(PODS, "low")
    await at.until_running("high")
    said = [message for _, reason, message in await at.events("low") if reason == "Preempted"]
    return {
        "nominated": waiting["status"].get("nominatedNodeName"),
        "victim": told(victim, "DisruptionTarget"),
        "going": bool(victim["metadata"].get("deletionTimestamp")),
        "events": [message.replace(waiting["metadata"]["uid"], "<uid>") for message in said],
    }


async def a_gated_pod_waits(at: Probed) -> Facts:
    await at.create(PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    await at.clock.sleep(1)
    waiting = await at.get(PODS, "p")
    await at.client.json_patch(PODS.raw(), "p", [{"op": "remove", "path": "/spec/schedulingGates"}], at.namespace)
    await at.until_running("p")
    running = await at.get(PODS, "p")
    said = [event for event in await at.events("p") if event[1] in ("Scheduled", "FailedScheduling")]
    return {
        "waiting": told(waiting, "PodScheduled"),
        "running": told(running, "PodScheduled"),
        "events": [(kind, reason) for kind, reason, _ in said],
    }


async def a_node_is_replaced(at: Probed) -> Facts:
    place = await at.own_node("rolled")
    await at.create(PODS, pod("free", **place))
    await at.create(PODS, pod("held", labels={"app": "held"}, **place))
    spec = {"selector": {"matchLabels": {"app": "held"}}, "minAvailable": 1}
    await at.create(BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    await at.until_running("free", "held")
    await at.clock.sleep(1)
    before = await at.client.get(NODES.raw(), "rolled")
    drift = Drift(at.client, at.fleet, at.clock, Entropy(1))
    replaced = await drift.replace("rolled", DrainPolicy(retry_seconds=0.5, deadline_seconds=5), naming="same")
    after = await at.client.get(NODES.raw(), "rolled")
    return {
        "evicted": [name for _, name in replaced.drain.evicted],
        "refused": replaced.drain.refusals > 0,
        "forced": [name for _, name in replaced.drain.forced],
        "another": after["metadata"]["uid"] != before["metadata"]["uid"],
        "taints": [taint for taint in taints(after) if taint[0].startswith(("probe", "karpenter"))],
        "capacity": after["status"]["capacity"]["cpu"],
    }


PROBES: list[Callable[[Probed], Coroutine[Any, Any, Facts]]] = [
    a_job_completes,
    a_job_fails,
    a_job_passes_its_deadline,
    a_job_is_suspended_and_resumed,
    an_indexed_job_completes,
    a_policy_fails_a_job,
    a_deployment_rolls,
    a_deployment_is_paused,
    a_budget_protects,
    a_budget_cannot_be_told,
    a_service_has_endpoints,
    garbage_is_collected,
    a_job_deleted_in_the_foreground,
    a_namespace_is_held_up,
    a_node_falls_silent,
    a_taint_evicts,
    a_node_vanishes,
    a_pod_is_preempted,
    a_gated_pod_waits,
    a_node_is_replaced,
]
