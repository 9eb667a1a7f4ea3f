"""Deployments, the budgets that guard their pods, and the services that find them."""

from hawser.errors import EvictionBlocked
from hawser.resources import BUDGETS, DEPLOYMENTS, ENDPOINTSLICES, JOBS, PODS, REPLICASETS, SERVICES
from packages.drydock.tests.actors.cluster import deployment, job, pod, script
from packages.drydock.tests.actors.probes.probed import Facts, Object, Probe, Probed, conditions, plain


async def _rolled_out(at: Probed, name: str, replicas: int) -> Object:
    async def done() -> bool:
        found = await at.get(DEPLOYMENTS, name)
        status = found["status"]
        counts = {status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")}
        settled = not status.get("terminatingReplicas") and counts == {replicas}
        return settled and status.get("observedGeneration") == found["metadata"]["generation"]

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
    paused = await at.until_observed(DEPLOYMENTS, "web")
    await at.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    resumed = await at.until_observed(DEPLOYMENTS, "web")
    return {"paused": conditions(paused), "resumed": conditions(resumed)}


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

    async def counts_one() -> bool:
        return bool((await at.get(BUDGETS, "b"))["status"]["expectedPods"] == 1)

    await at.until(counts_one)
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


PROBES: tuple[Probe, ...] = (
    a_deployment_rolls,
    a_deployment_is_paused,
    a_budget_protects,
    a_budget_cannot_be_told,
    a_service_has_endpoints,
)
