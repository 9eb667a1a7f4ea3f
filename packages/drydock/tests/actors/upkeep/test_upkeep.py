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
from packages.drydock.tests.actors.cluster import Cluster, deployment, in_cluster, job, pod, script

Object = dict[str, Any]


def budget(name: str, labels: Object, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, **spec}}


async def allowed(cluster: Cluster, name: str) -> int:
    return int((await cluster.get(BUDGETS, name))["status"]["disruptionsAllowed"])


# -- budgets


@in_cluster
async def test_a_budget_counts_its_healthy_pods_and_lets_that_many_go(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    for number in range(3):
        await cluster.create(PODS, pod(f"p{number}", labels={"app": "x"}))
    await cluster.create(BUDGETS, budget("b", {"app": "x"}, minAvailable=2))
    await cluster.sleep(3)
    status = (await cluster.get(BUDGETS, "b"))["status"]
    counts = (status["currentHealthy"], status["desiredHealthy"], status["expectedPods"], status["disruptionsAllowed"])
    assert counts == (3, 2, 3, 1)
    assert status["observedGeneration"] == 1
    assert status["conditions"][0]["reason"] == "SufficientPods"
    await cluster.client.evict("p0", "default")
    try:
        await cluster.client.evict("p1", "default")
        raise AssertionError("the budget should refuse")
    except EvictionBlocked:
        pass
    await cluster.until_gone(PODS, "p0", within=10)
    await cluster.sleep(1)
    status = (await cluster.get(BUDGETS, "b"))["status"]
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 0)
    assert not status.get("disruptedPods")


@in_cluster
async def test_a_budget_over_a_busy_label_refuses_from_the_moment_a_pod_carries_it(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    await cluster.create(PODS, pod("p"))
    await cluster.create(BUDGETS, budget("busy", {"mooring.dev/busy": "true"}, minAvailable=2147483647))
    await cluster.sleep(2)
    await cluster.patch(PODS, "p", {"metadata": {"labels": {"mooring.dev/busy": "true"}}})
    try:
        await cluster.client.evict("p", "default")
        raise AssertionError("the budget should refuse")
    except EvictionBlocked:
        pass
    await cluster.sleep(1)
    status = (await cluster.get(BUDGETS, "busy"))["status"]
    assert (status["expectedPods"], status["currentHealthy"]) == (1, 1)
    await cluster.patch(PODS, "p", {"metadata": {"labels": {"mooring.dev/busy": None}}})
    await cluster.sleep(1)
    status = (await cluster.get(BUDGETS, "busy"))["status"]
    assert (status["expectedPods"], status["currentHealthy"]) == (0, 0)
    await cluster.client.evict("p", "default")


@in_cluster
async def test_a_share_is_a_share_of_the_owners_size(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    await cluster.create(DEPLOYMENTS, deployment("web", 4))
    await cluster.create(BUDGETS, budget("b", {"app": "web"}, maxUnavailable="25%"))
    await cluster.sleep(5)
    status = (await cluster.get(BUDGETS, "b"))["status"]
    assert (status["expectedPods"], status["desiredHealthy"], status["disruptionsAllowed"]) == (4, 3, 1)
    await cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 8}})
    await cluster.sleep(5)
    status = (await cluster.get(BUDGETS, "b"))["status"]
    assert (status["expectedPods"], status["desiredHealthy"], status["disruptionsAllowed"]) == (8, 6, 2)


@in_cluster
async def test_a_share_of_a_job_cannot_be_told_and_allows_nothing(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    body = job("j", annotations=script(runSeconds=500))
    body["spec"]["template"]["metadata"]["labels"] = {"app": "x"}
    await cluster.create(JOBS, body)
    await cluster.create(BUDGETS, budget("b", {"app": "x"}, maxUnavailable=1))
    await cluster.sleep(5)
    found = await cluster.get(BUDGETS, "b")
    condition = condition_of(found, "DisruptionAllowed")
    assert condition is not None
    assert (condition["reason"], condition["message"]) == (
        "SyncFailed",
        "jobs.batch does not implement the scale subresource",
    )
    assert found["status"]["disruptionsAllowed"] == 0


@in_cluster
async def test_an_unready_pod_does_not_count_as_healthy(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    body = pod("p", labels={"app": "x"}, annotations=script(unready=[[10, 40]]))
    body["spec"]["containers"][0]["readinessProbe"] = {"httpGet": {"port": 80}}
    await cluster.create(PODS, body)
    await cluster.create(BUDGETS, budget("b", {"app": "x"}, minAvailable=0))
    await cluster.sleep(5)
    assert await allowed(cluster, "b") == 1
    await cluster.sleep(15)
    assert await allowed(cluster, "b") == 0
    await cluster.sleep(30)
    assert await allowed(cluster, "b") == 1


# -- endpoints


@in_cluster
async def test_a_service_has_a_slice_that_follows_its_pods(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    ports = [{"name": "web", "port": 80, "targetPort": "http"}]
    await cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}, "ports": ports}})
    await cluster.sleep(1)
    [empty] = await cluster.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    assert not empty.get("endpoints")
    body = pod("p", labels={"app": "web"}, annotations=script(stopSeconds=10))
    body["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 8080}]
    await cluster.create(PODS, body)
    await cluster.sleep(3)
    [found] = await cluster.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    assert found["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] == "endpointslice-controller.k8s.io"
    assert found["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    [endpoint] = found["endpoints"]
    running = await cluster.get(PODS, "p")
    assert endpoint["addresses"] == [running["status"]["podIP"]]
    assert endpoint["conditions"] == {"ready": True, "serving": True, "terminating": False}
    assert (endpoint["nodeName"], endpoint["targetRef"]["uid"]) == ("a", running["metadata"]["uid"])
    await cluster.delete(PODS, "p")
    await cluster.sleep(2)
    [found] = await cluster.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    conditions = found["endpoints"][0]["conditions"]
    assert (conditions["ready"], conditions["terminating"]) == (False, True)
    await cluster.until_gone(PODS, "p")
    await cluster.sleep(1)
    [found] = await cluster.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    assert not found.get("endpoints")


@in_cluster
async def test_a_slice_that_somebody_deletes_comes_back_and_goes_with_its_service(cluster: Cluster) -> None:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    await cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    await cluster.sleep(1)
    [first] = await cluster.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    await cluster.delete(ENDPOINTSLICES, first["metadata"]["name"])
    await cluster.sleep(1)
    [second] = await cluster.items(ENDPOINTSLICES, labels="kubernetes.io/service-name=s")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    await cluster.delete(SERVICES, "s")
    await cluster.until_gone(ENDPOINTSLICES, second["metadata"]["name"], within=5)


# -- namespaces and accounts


@in_cluster
async def test_every_namespace_gets_a_default_account_again_and_again(cluster: Cluster) -> None:
    await cluster.create(NAMESPACES, {"metadata": {"name": "team"}})
    await cluster.sleep(1)
    first = await cluster.get(SERVICEACCOUNTS, "default", "team")
    await cluster.delete(SERVICEACCOUNTS, "default", "team")
    await cluster.sleep(1)
    assert (await cluster.get(SERVICEACCOUNTS, "default", "team"))["metadata"]["uid"] != first["metadata"]["uid"]


@in_cluster
async def test_a_deleted_namespace_is_emptied_pods_first_and_then_gone(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    await cluster.create(NAMESPACES, {"metadata": {"name": "team"}})
    await cluster.sleep(1)
    await cluster.create(CONFIGMAPS, {"metadata": {"name": "settings"}}, "team")
    await cluster.create(PODS, pod("p", annotations=script(stopSeconds=10)), "team")
    await cluster.sleep(3)
    await cluster.delete(NAMESPACES, "team")
    await cluster.sleep(3)
    ending = await cluster.get(NAMESPACES, "team")
    assert ending["status"]["phase"] == "Terminating"
    assert await cluster.find(CONFIGMAPS, "settings", "team") is not None
    await cluster.until_gone(NAMESPACES, "team", within=60)
    assert await cluster.find(CONFIGMAPS, "settings", "team") is None
    assert await cluster.items(PODS, "team") == []


@in_cluster
async def test_a_finalizer_holds_a_namespace_up_and_the_namespace_says_so(cluster: Cluster) -> None:
    await cluster.create(NAMESPACES, {"metadata": {"name": "team"}})
    await cluster.sleep(1)
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await cluster.create(CONFIGMAPS, held, "team")
    await cluster.delete(NAMESPACES, "team")
    await cluster.sleep(20)
    ending = await cluster.get(NAMESPACES, "team")
    condition = condition_of(ending, "NamespaceFinalizersRemaining")
    assert condition is not None and "example.com/hold in 1 resource instances" in condition["message"]
    await cluster.patch(CONFIGMAPS, "held", {"metadata": {"finalizers": None}}, "team")
    await cluster.until_gone(NAMESPACES, "team", within=30)
