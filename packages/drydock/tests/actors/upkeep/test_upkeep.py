"""Budgets, endpoints, namespaces and accounts in a cluster."""

from typing import Any

from drydock.actors.machinery.objects import condition_of
from hawser.errors import EvictionBlocked
from hawser.resources import (
    BUDGETS,
    CONFIGMAPS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    JOBS,
    NAMESPACES,
    PODS,
    SERVICEACCOUNTS,
    SERVICES,
)
from packages.drydock.tests.actors.cluster import Cluster, deployment, job, pod, script

Object = dict[str, Any]


def budget(name: str, labels: Object, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, **spec}}


async def allowed(cluster: Cluster, name: str) -> int:
    return int((await cluster.get(BUDGETS, name))["status"]["disruptionsAllowed"])


# -- budgets


async def test_a_budget_counts_its_healthy_pods_and_lets_that_many_go(world: Cluster) -> None:
    await world.add_nodes("a")
    for number in range(3):
        await world.create(PODS, pod(f"p{number}", labels={"app": "x"}))
    await world.create(BUDGETS, budget("b", {"app": "x"}, minAvailable=2))
    await world.sleep(3)
    status = (await world.get(BUDGETS, "b"))["status"]
    counts = (status["currentHealthy"], status["desiredHealthy"], status["expectedPods"], status["disruptionsAllowed"])
    assert counts == (3, 2, 3, 1)
    assert status["observedGeneration"] == 1
    assert status["conditions"][0]["reason"] == "SufficientPods"
    await world.client.evict("p0", "default")
    try:
        await world.client.evict("p1", "default")
        raise AssertionError("the budget should refuse")
    except EvictionBlocked:
        pass
    await world.until_gone(PODS, "p0", within=10)
    await world.sleep(1)
    status = (await world.get(BUDGETS, "b"))["status"]
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 0)
    assert not status.get("disruptedPods")


async def test_a_budget_over_a_busy_label_refuses_from_the_moment_a_pod_carries_it(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(PODS, pod("p"))
    await world.create(BUDGETS, budget("busy", {"mooring.dev/busy": "true"}, minAvailable=2147483647))
    await world.sleep(2)
    await world.patch(PODS, "p", {"metadata": {"labels": {"mooring.dev/busy": "true"}}})
    try:
        await world.client.evict("p", "default")
        raise AssertionError("the budget should refuse")
    except EvictionBlocked:
        pass
    await world.sleep(1)
    status = (await world.get(BUDGETS, "busy"))["status"]
    assert (status["expectedPods"], status["currentHealthy"]) == (1, 1)
    await world.patch(PODS, "p", {"metadata": {"labels": {"mooring.dev/busy": None}}})
    await world.sleep(1)
    status = (await world.get(BUDGETS, "busy"))["status"]
    assert (status["expectedPods"], status["currentHealthy"]) == (0, 0)
    await world.client.evict("p", "default")


async def test_a_share_is_a_share_of_the_owners_size(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(DEPLOYMENTS, deployment("web", 4))
    await world.create(BUDGETS, budget("b", {"app": "web"}, maxUnavailable="25%"))
    await world.sleep(5)
    status = (await world.get(BUDGETS, "b"))["status"]
    assert (status["expectedPods"], status["desiredHealthy"], status["disruptionsAllowed"]) == (4, 3, 1)
    await world.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 8}})
    await world.sleep(5)
    status = (await world.get(BUDGETS, "b"))["status"]
    assert (status["expectedPods"], status["desiredHealthy"], status["disruptionsAllowed"]) == (8, 6, 2)


async def test_a_share_of_a_job_cannot_be_told_and_allows_nothing(world: Cluster) -> None:
    await world.add_nodes("a")
    body = job("j", annotations=script(runSeconds=500))
    body["spec"]["template"]["metadata"]["labels"] = {"app": "x"}
    await world.create(JOBS, body)
    await world.create(BUDGETS, budget("b", {"app": "x"}, maxUnavailable=1))
    await world.sleep(5)
    found = await world.get(BUDGETS, "b")
    condition = condition_of(found, "DisruptionAllowed")
    assert condition is not None
    assert (condition["reason"], condition["message"]) == (
        "SyncFailed",
        "jobs.batch does not implement the scale subresource",
    )
    assert found["status"]["disruptionsAllowed"] == 0


async def test_an_unready_pod_does_not_count_as_healthy(world: Cluster) -> None:
    await world.add_nodes("a")
    body = pod("p", labels={"app": "x"}, annotations=script(unready=[[10, 40]]))
    body["spec"]["containers"][0]["readinessProbe"] = {"httpGet": {"port": 80}}
    await world.create(PODS, body)
    await world.create(BUDGETS, budget("b", {"app": "x"}, minAvailable=0))
    await world.sleep(5)
    assert await allowed(world, "b") == 1
    await world.sleep(15)
    assert await allowed(world, "b") == 0
    await world.sleep(30)
    assert await allowed(world, "b") == 1


# -- endpoints


async def test_a_service_has_a_slice_that_follows_its_pods(world: Cluster) -> None:
    await world.add_nodes("a")
    ports = [{"name": "web", "port": 80, "targetPort": "http"}]
    await world.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}, "ports": ports}})
    await world.sleep(1)
    [empty] = await world.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    assert not empty.get("endpoints")
    body = pod("p", labels={"app": "web"}, annotations=script(stopSeconds=10))
    body["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 8080}]
    await world.create(PODS, body)
    await world.sleep(3)
    [found] = await world.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    assert found["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] == "endpointslice-controller.k8s.io"
    assert found["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    [endpoint] = found["endpoints"]
    running = await world.get(PODS, "p")
    assert endpoint["addresses"] == [running["status"]["podIP"]]
    assert endpoint["conditions"] == {"ready": True, "serving": True, "terminating": False}
    assert (endpoint["nodeName"], endpoint["targetRef"]["uid"]) == ("a", running["metadata"]["uid"])
    await world.delete(PODS, "p")
    await world.sleep(2)
    [found] = await world.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    conditions = found["endpoints"][0]["conditions"]
    assert (conditions["ready"], conditions["terminating"]) == (False, True)
    await world.until_gone(PODS, "p")
    await world.sleep(1)
    [found] = await world.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    assert not found.get("endpoints")


async def test_a_slice_that_somebody_deletes_comes_back_and_goes_with_its_service(world: Cluster) -> None:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    await world.create(SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    await world.sleep(1)
    [first] = await world.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    await world.delete(ENDPOINTSLICES, first["metadata"]["name"])
    await world.sleep(1)
    [second] = await world.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    await world.delete(SERVICES, "s")
    await world.until_gone(ENDPOINTSLICES, second["metadata"]["name"], within=5)


# -- namespaces and accounts


async def test_every_namespace_gets_a_default_account_again_and_again(world: Cluster) -> None:
    await world.create(NAMESPACES, {"metadata": {"name": "team"}})
    await world.sleep(1)
    first = await world.get(SERVICEACCOUNTS, "default", "team")
    await world.delete(SERVICEACCOUNTS, "default", "team")
    await world.sleep(1)
    assert (await world.get(SERVICEACCOUNTS, "default", "team"))["metadata"]["uid"] != first["metadata"]["uid"]


async def test_a_deleted_namespace_is_emptied_pods_first_and_then_gone(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(NAMESPACES, {"metadata": {"name": "team"}})
    await world.sleep(1)
    await world.create(CONFIGMAPS, {"metadata": {"name": "settings"}}, "team")
    await world.create(PODS, pod("p", annotations=script(stopSeconds=10)), "team")
    await world.sleep(3)
    await world.delete(NAMESPACES, "team")
    await world.sleep(3)
    ending = await world.get(NAMESPACES, "team")
    assert ending["status"]["phase"] == "Terminating"
    assert await world.find(CONFIGMAPS, "settings", "team") is not None
    await world.until_gone(NAMESPACES, "team", within=60)
    assert await world.find(CONFIGMAPS, "settings", "team") is None
    assert await world.items(PODS, "team") == []


async def test_a_finalizer_holds_a_namespace_up_and_the_namespace_says_so(world: Cluster) -> None:
    await world.create(NAMESPACES, {"metadata": {"name": "team"}})
    await world.sleep(1)
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await world.create(CONFIGMAPS, held, "team")
    await world.delete(NAMESPACES, "team")
    await world.sleep(20)
    ending = await world.get(NAMESPACES, "team")
    condition = condition_of(ending, "NamespaceFinalizersRemaining")
    assert condition is not None and "example.com/hold in 1 resource instances" in condition["message"]
    await world.patch(CONFIGMAPS, "held", {"metadata": {"finalizers": None}}, "team")
    await world.until_gone(NAMESPACES, "team", within=30)
