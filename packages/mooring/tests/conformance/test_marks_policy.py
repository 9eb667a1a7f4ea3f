"""The admission policy of marks, in effect: on the embedded cluster and on a real API server."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hawser.client import KubeClient
from hawser.errors import KubeError, NotPermitted
from hawser.resources import JOBS, PODS, ROLEBINDINGS, SERVICEACCOUNTS, Resource
from hawser.views import PartialObject
from mooring.controllers.services.manifests import deployment_manifest
from mooring.kinds.marks_policy import marks_policy
from mooring.kinds.release import Release
from mooring.model import names
from mooring.model.service import Service, ServiceSpec
from mooring.planning.placement import Placed
from mooring.planning.services.plan import Desired
from packages.drydock.tests.conformance.test_access import token_of
from packages.drydock.tests.conformance.world import Body, HostedCluster, Probe

_GROUP = "admissionregistration.k8s.io"
_POLICY = "ValidatingAdmissionPolicy"
POLICIES = Resource(_GROUP, "v1", "validatingadmissionpolicies", _POLICY, False, PartialObject)
BINDINGS = Resource(_GROUP, "v1", "validatingadmissionpolicybindings", f"{_POLICY}Binding", False, PartialObject)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", True, PartialObject)

SPEC: Body = {"containers": [{"name": "main", "image": "app", "command": ["run"]}], "restartPolicy": "Never"}


@contextlib.asynccontextmanager
async def policed(p: Probe) -> AsyncIterator[KubeClient]:
    """The policy in effect; the client is Mooring's account."""
    await p.make(SERVICEACCOUNTS, "mooring")
    subject = {"kind": "ServiceAccount", "name": "mooring", "namespace": p.namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    await p.make(ROLEBINDINGS, "mooring", subjects=[subject], roleRef=role)
    policy, binding = marks_policy(Release(p.namespace))
    try:
        await p.client.create(POLICIES.raw(), policy)
        await p.client.create(BINDINGS.raw(), binding)
        await p.until(lambda: is_refused(p, p.client))
        async with p.as_bearer(await token_of(p, "mooring")) as mooring:

            async def allowed() -> bool:
                return not await is_refused(p, mooring)

            await p.until(allowed)  # the API server may still follow the policy of another probe
            yield mooring
    finally:
        for resource in (BINDINGS, POLICIES):
            with contextlib.suppress(KubeError):
                await p.client.delete(resource, policy["metadata"]["name"])


async def is_refused(p: Probe, client: KubeClient) -> bool:
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x", "labels": {names.WORKER: "x"}}}
    try:
        await client.create(SERVICEACCOUNTS.raw(), body, p.namespace)
    except NotPermitted:
        return True
    await p.client.delete(SERVICEACCOUNTS, "x", p.namespace)
    return False


def pod(name: str, **metadata: Any) -> Body:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": SPEC}


def job(name: str, template: Body, **metadata: Any) -> Body:
    spec = {"template": {"metadata": template, "spec": SPEC}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **metadata}, "spec": spec}


MARK = {names.EPOCH: "5000"}


def test_only_moorings_account_may_write_marks(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        async with policed(p) as mooring:
            await mooring.create(PODS.raw(), pod("w", labels={names.POOL: "linux"}, annotations=MARK), p.namespace)
            await p.client.create(PODS.raw(), pod("plain", labels={"app": "x"}), p.namespace)
            refused = {
                "a new pod with a label": p.client.create(PODS.raw(), pod("a", labels={names.POOL: "x"}), p.namespace),
                "a new pod with an epoch": p.client.create(PODS.raw(), pod("a", annotations=MARK), p.namespace),
                "a mark on a plain pod": _annotate(p, "plain", names.EPOCH, "5000"),
                "another value": _annotate(p, "w", names.EPOCH, "5001"),
                "a removal": _annotate(p, "w", names.EPOCH, None),
                "through the status": p.client.merge_patch(
                    PODS, "plain", {"metadata": {"annotations": MARK}}, p.namespace, subresource="status"
                ),
                "a Job": p.client.create(JOBS.raw(), job("j", {}, labels={names.DATASET: "x"}), p.namespace),
                "a Job's template": p.client.create(JOBS.raw(), job("j", {"labels": {names.POOL: "x"}}), p.namespace),
                "an account": p.make(SERVICEACCOUNTS, "b", metadata={"labels": {names.WORKER: "b"}}),
            }
            for what, attempt in refused.items():
                error = await p.refusal(attempt)
                assert isinstance(error, NotPermitted), (what, error)
                assert "reserved to Mooring" in error.message, what
            await _annotate(p, "w", "example.com/note", "others may write what is theirs")
            await mooring.merge_patch(PODS, "w", {"metadata": {"annotations": {names.EPOCH: "5001"}}}, p.namespace)

    cluster.run(probe)


async def _annotate(p: Probe, name: str, key: str, value: str | None) -> None:
    await p.client.merge_patch(PODS, name, {"metadata": {"annotations": {key: value}}}, p.namespace)


def test_controllers_copy_the_marks_of_a_service_to_its_pods(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        service = Service(p.namespace, "tides", "service-uid", 1, ServiceSpec(image="app", port=8080))
        body = deployment_manifest(service, Desired("app", "current", Placed()))
        metadata = {
            "name": "tides",
            "annotations": body["metadata"]["annotations"],
        }  # without its owner, which is absent
        async with policed(p) as mooring:
            wanted = {"apiVersion": "apps/v1", "kind": "Deployment", **body, "metadata": metadata}
            await mooring.create(DEPLOYMENTS.raw(), wanted, p.namespace)

            async def copied() -> bool:
                return bool(await p.pods(f"{names.SERVICE}=tides"))

            await p.until(copied)

    cluster.run(probe)


def test_controllers_copy_marks_of_jobs_to_pods_but_make_no_workers(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        async with policed(p) as mooring:
            marked = job("warm", {"labels": {names.DATASET: "nt"}}, labels={names.DATASET: "nt"})
            await mooring.create(JOBS.raw(), marked, p.namespace)

            async def copied() -> bool:
                return bool(await p.pods(f"{names.DATASET}=nt"))

            await p.until(copied)
            labels = {"app": "forged", names.POOL: "linux"}
            template = {"metadata": {"labels": labels}, "spec": {"containers": SPEC["containers"]}}
            selector = {"matchLabels": {"app": "forged"}}
            await p.make(DEPLOYMENTS, "forged", spec={"selector": selector, "template": template})
            if p.kind == "kubernetes":

                async def reported() -> bool:
                    events = await p.client.list(
                        Resource("", "v1", "events", "Event", True, PartialObject).raw(), p.namespace
                    )
                    return any("reserved to Mooring" in str(event.get("message")) for event in events.items)

                await p.until(reported)
            else:
                await p.clock.sleep(1)
            assert await p.pods("app=forged") == []

    cluster.run(probe)


@pytest.mark.parametrize("namespace", ["mooring", "fleet"])
def test_the_policy_names_the_account_of_its_installation(namespace: str) -> None:
    policy, binding = marks_policy(Release(namespace))
    assert f"system:serviceaccount:{namespace}:mooring'" in policy["spec"]["matchConditions"][0]["expression"]
    assert (policy["spec"]["failurePolicy"], binding["spec"]["validationActions"]) == ("Fail", ["Deny"])
