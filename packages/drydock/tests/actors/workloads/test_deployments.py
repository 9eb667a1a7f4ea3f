"""Deployments and ReplicaSets in a cluster."""

from typing import Any

from drydock.actors.machinery.objects import condition_of
from drydock.actors.machinery.pods import is_active, is_ready
from hawser.resources import DEPLOYMENTS, PODS, REPLICASETS, RESOURCEQUOTAS
from packages.drydock.tests.actors.cluster import Cluster, deployment, pod, script

Object = dict[str, Any]
REVISION = "deployment.kubernetes.io/revision"


async def settled(cluster: Cluster, name: str, replicas: int, within: float = 120.0) -> Object:
    """Wait until the Deployment says that everything is new and available."""

    async def done() -> bool:
        found = await cluster.get(DEPLOYMENTS, name)
        status = found["status"]
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and status.get("replicas", 0) == replicas
            and status.get("updatedReplicas", 0) == replicas
            and status.get("availableReplicas", 0) == replicas
        )

    await cluster.until(done, within)
    return await cluster.get(DEPLOYMENTS, name)


async def image(cluster: Cluster, name: str, image: str) -> None:
    containers = [{"name": "main", "image": image}]
    await cluster.patch(DEPLOYMENTS, name, {"spec": {"template": {"spec": {"containers": containers}}}})


async def live_images(cluster: Cluster) -> list[str]:
    return sorted(one["spec"]["containers"][0]["image"] for one in await cluster.pods() if is_active(one))


async def test_a_deployment_brings_up_its_pods_and_says_so(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await world.create(DEPLOYMENTS, deployment("web", 3))
    done = await settled(world, "web", 3)
    assert done["metadata"]["annotations"][REVISION] == "1"
    available, progressing = condition_of(done, "Available"), condition_of(done, "Progressing")
    assert available is not None and available["reason"] == "MinimumReplicasAvailable"
    assert progressing is not None and progressing["reason"] == "NewReplicaSetAvailable"
    [one] = await world.items(REPLICASETS)
    digest = one["metadata"]["labels"]["pod-template-hash"]
    assert one["metadata"]["name"] == f"web-{digest}"
    assert one["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    assert progressing["message"] == f'ReplicaSet "web-{digest}" has successfully progressed.'
    for running in await world.pods():
        assert running["metadata"]["labels"]["pod-template-hash"] == digest
        assert running["metadata"]["name"].startswith(f"web-{digest}-")
    await world.sleep(1)
    [event] = await world.events_about("web", "ScalingReplicaSet")
    assert event["message"] == f"Scaled up replica set web-{digest} from 0 to 3"


async def test_a_rolling_update_keeps_enough_and_never_too_many(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    await world.create(DEPLOYMENTS, deployment("web", 4, strategy=strategy, minReadySeconds=5))
    await settled(world, "web", 4)
    await image(world, "web", "alpine")
    for _ in range(120):
        pods = [one for one in await world.pods() if is_active(one)]
        assert len(pods) <= 5 and sum(1 for one in pods if is_ready(one)) >= 3
        await world.sleep(0.5)
    done = await settled(world, "web", 4)
    assert await live_images(world) == ["alpine"] * 4
    assert done["metadata"]["annotations"][REVISION] == "2"
    sizes = {
        one["metadata"]["annotations"][REVISION]: one["spec"]["replicas"] for one in await world.items(REPLICASETS)
    }
    assert sizes == {"1": 0, "2": 4}


async def test_going_back_to_an_earlier_template_reuses_its_replicaset_under_a_new_revision(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(DEPLOYMENTS, deployment("web", 2))
    await settled(world, "web", 2)
    await image(world, "web", "alpine")
    await settled(world, "web", 2)
    await image(world, "web", "busybox")
    done = await settled(world, "web", 2)
    sets = await world.items(REPLICASETS)
    assert len(sets) == 2 and done["metadata"]["annotations"][REVISION] == "3"
    [active] = [one for one in sets if one["spec"]["replicas"]]
    assert active["metadata"]["annotations"][REVISION] == "3"
    assert active["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


async def test_recreate_stops_all_old_pods_before_a_new_one_starts(world: Cluster) -> None:
    await world.add_nodes("a")
    body = deployment("web", 3, strategy={"type": "Recreate"}, annotations=script(stopSeconds=8))
    await world.create(DEPLOYMENTS, body)
    await settled(world, "web", 3)
    await image(world, "web", "alpine")
    for _ in range(60):
        images = {one["spec"]["containers"][0]["image"] for one in await world.pods()}
        assert len(images) <= 1
        await world.sleep(0.5)
    await settled(world, "web", 3)
    assert await live_images(world) == ["alpine"] * 3


async def test_a_rollout_that_never_becomes_ready_is_reported_and_leaves_the_old_pods(world: Cluster) -> None:
    await world.add_nodes("a")
    probe = {"httpGet": {"port": 80}}
    body = deployment("web", 2, progressDeadlineSeconds=30)
    body["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = probe
    await world.create(DEPLOYMENTS, body)
    await settled(world, "web", 2)
    broken = {"annotations": script(readySeconds=10_000)}
    await world.patch(DEPLOYMENTS, "web", {"spec": {"template": {"metadata": broken}}})

    async def timed_out() -> bool:
        condition = condition_of(await world.get(DEPLOYMENTS, "web"), "Progressing")
        return condition is not None and condition["reason"] == "ProgressDeadlineExceeded"

    assert 30 <= await world.until(timed_out) <= 36
    found = await world.get(DEPLOYMENTS, "web")
    condition = condition_of(found, "Progressing")
    assert condition is not None and condition["status"] == "False"
    assert condition["message"].endswith("has timed out progressing.")
    assert found["status"]["availableReplicas"] == 2


async def test_scaling_changes_the_size_and_nothing_else(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(DEPLOYMENTS, deployment("web", 2))
    await settled(world, "web", 2)
    await world.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}})
    done = await settled(world, "web", 5)
    assert done["metadata"]["annotations"][REVISION] == "1"
    await world.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
    await settled(world, "web", 0)
    assert [one for one in await world.pods() if is_active(one)] == []


async def test_a_paused_deployment_does_not_roll_but_scales(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(DEPLOYMENTS, deployment("web", 2))
    await settled(world, "web", 2)
    await world.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    await image(world, "web", "alpine")
    await world.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}})
    await world.sleep(10)
    assert await live_images(world) == ["busybox"] * 3
    condition = condition_of(await world.get(DEPLOYMENTS, "web"), "Progressing")
    assert condition is not None and condition["reason"] == "DeploymentPaused"
    await world.patch(DEPLOYMENTS, "web", {"spec": {"paused": None}})
    await settled(world, "web", 3)
    assert await live_images(world) == ["alpine"] * 3


async def test_old_revisions_beyond_the_limit_are_deleted(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(DEPLOYMENTS, deployment("web", 1, revisionHistoryLimit=1))
    for name in ("one", "two", "three"):
        await settled(world, "web", 1)
        await image(world, "web", name)
    await settled(world, "web", 1)
    await world.sleep(5)
    revisions = sorted(one["metadata"]["annotations"][REVISION] for one in await world.items(REPLICASETS))
    assert revisions == ["3", "4"]


async def test_deleting_a_deployment_takes_everything_with_it(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(DEPLOYMENTS, deployment("web", 3))
    await settled(world, "web", 3)
    await world.delete(DEPLOYMENTS, "web")
    await world.sleep(5)
    assert (await world.items(REPLICASETS), await world.pods()) == ([], [])


async def test_a_replicaset_replaces_a_deleted_pod_and_adopts_a_matching_one(world: Cluster) -> None:
    await world.add_nodes("a")
    body = deployment("rs", 2)
    del body["spec"]["selector"]["matchLabels"]["app"]
    body["spec"]["selector"]["matchLabels"]["app"] = "rs"
    await world.create(PODS, pod("orphan", labels={"app": "rs"}))
    await world.create(REPLICASETS, body)
    await world.sleep(3)
    names = [one["metadata"]["name"] for one in await world.pods()]
    assert len(names) == 2 and "orphan" in names
    await world.delete(PODS, "orphan")
    await world.sleep(3)
    assert len([one for one in await world.pods() if is_active(one)]) == 2


async def test_a_pod_whose_labels_change_is_let_loose_and_replaced(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(REPLICASETS, deployment("rs", 1))
    await world.sleep(3)
    [first] = await world.pods()
    await world.patch(PODS, first["metadata"]["name"], {"metadata": {"labels": {"app": "other"}}})
    await world.sleep(3)
    pods = {one["metadata"]["name"]: one for one in await world.pods()}
    assert len(pods) == 2
    assert not pods[first["metadata"]["name"]]["metadata"].get("ownerReferences")


async def test_a_quota_that_refuses_pods_shows_in_the_conditions_and_is_not_hammered(world: Cluster) -> None:
    await world.add_nodes("a")
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    await world.create(RESOURCEQUOTAS, quota)
    await world.sleep(1)
    await world.create(DEPLOYMENTS, deployment("web", 4))
    await world.sleep(60)
    assert len(await world.pods()) == 1
    condition = condition_of(await world.get(DEPLOYMENTS, "web"), "ReplicaFailure")
    assert condition is not None and condition["reason"] == "FailedCreate"
    assert "exceeded quota" in condition["message"]
    assert world.counts["POST pods"] < 40


async def test_a_quiet_deployment_is_written_no_more(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(DEPLOYMENTS, deployment("web", 3))
    await settled(world, "web", 3)
    await world.sleep(30)
    before = {
        key: value
        for key, value in world.counts.items()
        if "leases" not in key and "GET" not in key and "api" not in key
    }
    await world.sleep(1200)
    after = {
        key: value
        for key, value in world.counts.items()
        if "leases" not in key and "GET" not in key and "api" not in key
    }
    assert after == before
