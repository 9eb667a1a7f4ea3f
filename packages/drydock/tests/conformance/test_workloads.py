"""Deployments, ReplicaSets and the endpoints of Services."""

from hawser.resources import DEPLOYMENTS, ENDPOINTSLICES, PODS, REPLICASETS, SERVICES
from packages.drydock.tests.conformance.world import Body, HostedCluster, Probe

LABELS = {"app": "web"}


def _deployment(replicas: int = 2, image: str = "app:1", **more: object) -> Body:
    template = {
        "metadata": {"labels": LABELS},
        "spec": {"containers": [{"name": "main", "image": image}], "terminationGracePeriodSeconds": 0},
    }
    return {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template, **more}


async def _rolled_out(p: Probe, replicas: int = 2) -> None:
    async def available() -> bool:
        found = await p.get(DEPLOYMENTS, "web")
        status = found.get("status", {})
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and status.get("updatedReplicas", 0) == replicas
            and status.get("availableReplicas", 0) == replicas
            and status.get("replicas", 0) == replicas
        )

    await p.until(available)


def test_a_deployment_rolls_out(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(DEPLOYMENTS, "web", spec=_deployment())
        await _rolled_out(p)
        conditions = {
            c["type"]: (c["status"], c["reason"]) for c in (await p.get(DEPLOYMENTS, "web"))["status"]["conditions"]
        }
        assert conditions == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }

    cluster.run(probe)


def test_a_new_image_replaces_every_pod_by_a_new_replica_set(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(DEPLOYMENTS, "web", spec=_deployment())
        await _rolled_out(p)
        await p.client.apply(
            DEPLOYMENTS,
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "web"},
                "spec": _deployment(image="app:2"),
            },
            p.namespace,
            field_manager="probe",
            force=True,
        )
        await _rolled_out(p)
        pods = [pod for pod in await p.pods("app=web") if "deletionTimestamp" not in pod["metadata"]]
        assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"app:2"}
        sets = (await p.client.list(REPLICASETS.raw(), p.namespace)).items
        assert sorted(found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] for found in sets) == [
            "1",
            "2",
        ]

    cluster.run(probe)


def test_a_deleted_pod_of_a_deployment_is_replaced(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(DEPLOYMENTS, "web", spec=_deployment(1))
        await _rolled_out(p, 1)
        first = (await p.pods("app=web"))[0]["metadata"]
        await p.client.delete(PODS, first["name"], p.namespace)

        async def replaced() -> bool:
            uids = {pod["metadata"]["uid"] for pod in await p.pods("app=web")}
            return bool(uids) and first["uid"] not in uids

        await p.until(replaced)

    cluster.run(probe)


def test_the_scale_subresource_scales(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(DEPLOYMENTS, "web", spec=_deployment(1))
        await p.client.merge_patch(
            DEPLOYMENTS.raw(), "web", {"spec": {"replicas": 3}}, p.namespace, subresource="scale"
        )
        await _rolled_out(p, 3)

    cluster.run(probe)


def test_a_selector_is_immutable_and_must_match(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(DEPLOYMENTS, "web", spec=_deployment(0))
        patch = {
            "spec": {
                "selector": {"matchLabels": {"app": "other"}},
                "template": {"metadata": {"labels": {"app": "other"}}},
            }
        }
        error = await p.refusal(p.client.merge_patch(DEPLOYMENTS, "web", patch, p.namespace))
        assert error.status.code == 422 and "field is immutable" in error.message
        wrong = _deployment(0, selector={"matchLabels": {"app": "other"}})
        error = await p.refusal(p.make(DEPLOYMENTS, "wrong", spec=wrong))
        assert "`selector` does not match template `labels`" in error.message

    cluster.run(probe)


def test_ready_pods_are_the_endpoints_of_their_service(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(labels=LABELS)
        running = await p.until_running()
        await p.make(SERVICES, "web", spec={"selector": LABELS, "ports": [{"port": 80, "targetPort": 8080}]})

        async def slices() -> list[Body]:
            found = await p.client.list(
                ENDPOINTSLICES.raw(), p.namespace, label_selector="kubernetes.io/service-name=web"
            )
            return [endpoint for item in found.items for endpoint in item.get("endpoints") or ()]

        async def listed() -> bool:
            return any(endpoint["conditions"].get("ready") for endpoint in await slices())

        await p.until(listed)
        endpoint = (await slices())[0]
        assert endpoint["addresses"] == [running["status"]["podIP"]]
        assert endpoint["targetRef"]["uid"] == running["metadata"]["uid"]
        assert endpoint["nodeName"] == running["spec"]["nodeName"]

    cluster.run(probe)


def test_a_service_gets_an_address_and_its_defaults(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        spec = (await p.make(SERVICES, "web", spec={"ports": [{"port": 80}]}))["spec"]
        assert spec["clusterIP"].count(".") == 3 and spec["type"] == "ClusterIP"
        assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
        headless = (await p.make(SERVICES, "bare", spec={"clusterIP": "None", "ports": [{"port": 80}]}))["spec"]
        assert headless["clusterIP"] == "None"

    cluster.run(probe)
