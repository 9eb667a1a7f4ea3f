"""What is refused, in which words, and what is filled in."""

import pytest

from hawser.resources import CONFIGMAPS, PODS, SERVICEACCOUNTS
from packages.drydock.tests.conformance.world import HostedCluster, Probe

REFUSED = {
    "a name with capitals": (
        {"metadata": {"name": "Wrong_Name"}},
        "metadata.name",
        "a lowercase RFC 1123 subdomain must consist of",
    ),
    "a label value with a space": ({"labels": {"x": "a b"}}, "metadata.labels", "a valid label must be"),
    "a label key with two slashes": (
        {"labels": {"a/b/c": "x"}},
        "metadata.labels",
        "a valid label key must consist of",
    ),
    "a label value of 64 characters": ({"labels": {"x": "a" * 64}}, "metadata.labels", "must be no more than 63"),
    "no container": ({"containers": []}, "spec.containers", "Required value"),
    "a container without name": ({"containers": [{"image": "a"}]}, "spec.containers[0].name", "Required value"),
    "two containers of one name": (
        {"containers": [{"name": "a", "image": "a"}, {"name": "a", "image": "a"}]},
        "spec.containers[1].name",
        "Duplicate value",
    ),
    "a request above its limit": (
        {"container": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}},
        "spec.containers[0].resources.requests",
        "must be less than or equal to cpu limit",
    ),
    "an unknown restart policy": ({"restartPolicy": "Sometimes"}, "spec.restartPolicy", "Unsupported value"),
    "a mount of no volume": (
        {"container": {"volumeMounts": [{"name": "none", "mountPath": "/x"}]}},
        "spec.containers[0].volumeMounts[0].name",
        "Not found",
    ),
    "a pin by another field": (
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["x"]}]}
                        ]
                    }
                }
            }
        },
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key",
        "not a valid field selector key",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_pod_is_refused_and_the_field_is_named(cluster: HostedCluster, case: str) -> None:
    changes, field, words = REFUSED[case]

    async def probe(p: Probe) -> None:
        error = await p.refusal(p.pod(**dict(changes)))
        assert error.status.code == 422 and error.status.reason == "Invalid"
        assert field in [cause.field for cause in error.causes]
        assert words in error.message

    cluster.run(probe)


def test_a_pods_defaults_are_filled_in(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.pod(schedulerName="nobody", terminationGracePeriodSeconds=None)
        spec = made["spec"]
        assert {
            key: spec[key]
            for key in ("restartPolicy", "dnsPolicy", "terminationGracePeriodSeconds", "serviceAccountName")
        } == {
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30,
            "serviceAccountName": "default",
        }
        assert made["status"]["phase"] == "Pending" and made["status"]["qosClass"] == "BestEffort"
        tolerated = {(t["key"], t["effect"], t.get("tolerationSeconds")) for t in spec["tolerations"]}
        assert tolerated == {
            ("node.kubernetes.io/not-ready", "NoExecute", 300),
            ("node.kubernetes.io/unreachable", "NoExecute", 300),
        }

    cluster.run(probe)


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"containers": [{"name": "main", "image": "app", "command": ["other"]}]}},
        {"spec": {"nodeSelector": {"disk": "ssd"}}},
        {"spec": {"terminationGracePeriodSeconds": 5}},
    ],
    ids=["command", "selector", "grace"],
)
def test_a_pods_spec_is_immutable(cluster: HostedCluster, patch: dict) -> None:
    async def probe(p: Probe) -> None:
        await p.pod()
        await p.until_running()
        error = await p.refusal(p.client.merge_patch(PODS, "p", patch, p.namespace))
        assert error.status.code == 422 and "pod updates may not change fields other than" in error.message

    cluster.run(probe)


def test_a_pods_image_may_change(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.pod(schedulerName="nobody")
        operations = [{"op": "replace", "path": "/spec/containers/0/image", "value": "app:2"}]
        await p.client.json_patch(PODS, "p", operations, p.namespace)
        after = await p.get(PODS)
        assert after["spec"]["containers"][0]["image"] == "app:2"
        assert after["metadata"]["uid"] == made["metadata"]["uid"]

    cluster.run(probe)


def test_a_status_cannot_be_changed_through_the_object_itself(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(schedulerName="nobody")
        await p.client.merge_patch(PODS, "p", {"status": {"phase": "Failed"}}, p.namespace)
        assert await p.phase() == "Pending"
        await p.client.merge_patch(PODS, "p", {"status": {"phase": "Failed"}}, p.namespace, subresource="status")
        assert await p.phase() == "Failed"

    cluster.run(probe)


def test_an_immutable_config_map_stays_as_it_is(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(CONFIGMAPS, "c", data={"a": "1"}, immutable=True)
        error = await p.refusal(p.client.merge_patch(CONFIGMAPS, "c", {"data": {"a": "2"}}, p.namespace))
        assert "field is immutable when `immutable` is set" in error.message

    cluster.run(probe)


def test_a_pod_of_an_unknown_service_account_is_refused(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        error = await p.refusal(p.pod(serviceAccountName="nobody"))
        assert error.status.code == 403
        assert (
            "error looking up service account" in error.message and 'serviceaccount "nobody" not found' in error.message
        )
        await p.make(SERVICEACCOUNTS, "nobody")

        async def accepted() -> bool:
            return (await p.pod(serviceAccountName="nobody"))["spec"]["serviceAccountName"] == "nobody"

        assert await accepted()

    cluster.run(probe)


def test_a_body_that_is_no_json_is_a_bad_request(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": 5}}
        assert await p.send("POST", CONFIGMAPS.path(p.namespace), body) == 400

    cluster.run(probe)


def test_a_strategic_merge_patch_merges_lists_by_their_keys(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(schedulerName="nobody", containers=[{"name": "a", "image": "a"}, {"name": "b", "image": "b"}])
        patch = {"spec": {"containers": [{"name": "b", "image": "b:2"}]}}
        path = PODS.path(p.namespace, "p")
        assert await p.send("PATCH", path, patch, "application/strategic-merge-patch+json") == 200
        images = [container["image"] for container in (await p.get(PODS))["spec"]["containers"]]
        assert images == ["a", "b:2"]

    cluster.run(probe)
