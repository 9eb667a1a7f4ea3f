"""Nodes that fall silent, are tainted, vanish or are replaced, and the pods that want a place on them."""

from drydock.actors.disruption.drain import DrainPolicy
from drydock.actors.disruption.drift import Drift
from hawser.clock import Entropy
from hawser.resources import BUDGETS, NODES, PODS, PRIORITYCLASSES
from packages.drydock.tests.actors.cluster import pod, script
from packages.drydock.tests.actors.probes.probed import Facts, Object, Probe, Probed, conditions, told


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
    said = {message for _, reason, message in await at.events("low") if reason == "Preempted"}
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


PROBES: tuple[Probe, ...] = (
    a_node_falls_silent,
    a_taint_evicts,
    a_node_vanishes,
    a_pod_is_preempted,
    a_gated_pod_waits,
    a_node_is_replaced,
)
