"""What a write may rely on: preconditions, patches, server-side apply, finalizers."""

import pytest

from hawser.errors import AlreadyExists, ObjectChanged, ObjectConflict, ObjectInvalid, ObjectNotFound
from hawser.resources import CONFIGMAPS, JOBS, PODS
from packages.drydock.tests.conformance.world import HostedCluster, Probe

ONE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]}}


def test_a_delete_with_a_wrong_uid_is_a_conflict(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod()
        error = await p.refusal(p.client.delete(PODS, "p", p.namespace, uid="somebody-else"))
        assert isinstance(error, ObjectConflict)
        assert "the UID in the precondition (somebody-else) does not match the UID in record" in error.message
        assert await p.exists(PODS)

    cluster.run(probe)


def test_a_delete_with_an_old_resource_version_is_a_conflict(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        old = await p.pod()
        await p.client.merge_patch(PODS, "p", {"metadata": {"labels": {"claimed": "yes"}}}, p.namespace)
        meta = old["metadata"]
        version = meta["resourceVersion"]
        error = await p.refusal(p.client.delete(PODS, "p", p.namespace, uid=meta["uid"], resource_version=version))
        assert isinstance(error, ObjectConflict)
        assert f"the ResourceVersion in the precondition ({version}) does not match" in error.message

    cluster.run(probe)


def test_a_delete_with_the_right_preconditions_takes_effect(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.make(CONFIGMAPS, "c", data={"a": "b"})
        meta = made["metadata"]
        await p.client.delete(CONFIGMAPS, "c", p.namespace, uid=meta["uid"], resource_version=meta["resourceVersion"])
        assert not await p.exists(CONFIGMAPS, "c")

    cluster.run(probe)


def test_an_eviction_with_a_wrong_uid_is_a_conflict(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod()
        assert await p.code(p.client.evict("p", p.namespace, uid="somebody-else")) == 409

    cluster.run(probe)


def test_a_put_without_resource_version_overwrites_what_came_in_between(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        old = await p.make(CONFIGMAPS, "c", data={"a": "1"})
        await p.client.merge_patch(CONFIGMAPS, "c", {"metadata": {"labels": {"claimed": "yes"}}}, p.namespace)
        del old["metadata"]["resourceVersion"]
        assert await p.send("PUT", CONFIGMAPS.path(p.namespace, "c"), old) == 200
        assert "labels" not in (await p.get(CONFIGMAPS, "c"))["metadata"]

    cluster.run(probe)


def test_a_put_with_an_old_resource_version_is_a_conflict(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        old = await p.make(CONFIGMAPS, "c", data={"a": "1"})
        await p.client.merge_patch(CONFIGMAPS, "c", {"data": {"a": "2"}}, p.namespace)
        error = await p.refusal(p.client.update(CONFIGMAPS.raw(), old))
        assert isinstance(error, ObjectConflict)
        assert error.message == (
            'Operation cannot be fulfilled on configmaps "c": the object has been modified; '
            "please apply your changes to the latest version and try again"
        )

    cluster.run(probe)


def test_a_merge_patch_with_an_old_resource_version_is_a_conflict(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        old = await p.pod()
        await p.client.merge_patch(PODS, "p", {"metadata": {"labels": {"x": "1"}}}, p.namespace)
        patch = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"], "labels": {"x": "2"}}}
        error = await p.refusal(p.client.merge_patch(PODS, "p", patch, p.namespace))
        assert isinstance(error, ObjectConflict)

    cluster.run(probe)


def test_a_merge_patch_with_a_wrong_uid_says_that_the_object_changed(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod()
        patch = {"metadata": {"uid": "00000000-0000-4000-8000-000000000000", "labels": {"x": "1"}}}
        error = await p.refusal(p.client.merge_patch(PODS, "p", patch, p.namespace))
        assert isinstance(error, ObjectChanged) and error.status.code == 422

    cluster.run(probe)


def test_a_json_patch_whose_test_fails_says_that_the_object_changed(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(labels={"x": "1"})
        operations = [
            {"op": "test", "path": "/metadata/labels/x", "value": "2"},
            {"op": "remove", "path": "/metadata/labels/x"},
        ]
        error = await p.refusal(p.client.json_patch(PODS, "p", operations, p.namespace))
        assert isinstance(error, ObjectChanged) and error.status.code == 422
        assert (await p.get(PODS))["metadata"]["labels"] == {"x": "1"}

    cluster.run(probe)


def test_a_json_patch_that_removes_what_is_not_there_is_refused(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(labels={"x": "1"})
        operations = [{"op": "remove", "path": "/metadata/labels/y"}]
        assert await p.code(p.client.json_patch(PODS, "p", operations, p.namespace)) == 422

    cluster.run(probe)


def test_a_json_patch_whose_tests_hold_takes_effect_as_a_whole(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.pod(labels={"x": "1"}, annotations={"mooring.dev/epoch": "7"})
        operations = [
            {"op": "test", "path": "/metadata/uid", "value": made["metadata"]["uid"]},
            {"op": "test", "path": "/metadata/annotations/mooring.dev~1epoch", "value": "7"},
            {"op": "remove", "path": "/metadata/annotations/mooring.dev~1epoch"},
            {"op": "remove", "path": "/metadata/labels/x"},
        ]
        await p.client.json_patch(PODS, "p", operations, p.namespace)
        meta = (await p.get(PODS))["metadata"]
        assert "labels" not in meta and "annotations" not in meta

    cluster.run(probe)


def test_a_terminating_pod_can_be_patched_and_its_answer_tells(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(terminationGracePeriodSeconds=30, metadata={"finalizers": ["mooring.dev/probe"]})
        await p.until_running()
        await p.client.delete(PODS, "p", p.namespace)
        answer = await p.client.merge_patch(PODS, "p", {"metadata": {"labels": {"late": "yes"}}}, p.namespace)
        assert answer.metadata.deletion_timestamp is not None
        assert answer.metadata.deletion_grace_period_seconds == 30
        await p.client.merge_patch(PODS, "p", {"metadata": {"finalizers": None}}, p.namespace)

    cluster.run(probe)


def test_no_finalizer_can_be_added_while_terminating(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(CONFIGMAPS, "c", metadata={"finalizers": ["mooring.dev/probe"]})
        await p.client.delete(CONFIGMAPS, "c", p.namespace)
        patch = {"metadata": {"finalizers": ["mooring.dev/probe", "mooring.dev/late"]}}
        error = await p.refusal(p.client.merge_patch(CONFIGMAPS, "c", patch, p.namespace))
        assert error.status.code == 422 and "no new finalizers can be added" in error.message
        await p.client.merge_patch(CONFIGMAPS, "c", {"metadata": {"finalizers": None}}, p.namespace)
        await p.until_gone(CONFIGMAPS, "c")

    cluster.run(probe)


def test_apply_creates_what_is_missing(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
        await p.client.apply(CONFIGMAPS, body, p.namespace, field_manager="probe")
        assert (await p.get(CONFIGMAPS, "c"))["data"] == {"a": "1"}

    cluster.run(probe)


def test_apply_with_a_uid_does_not_resurrect(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        metadata = {"name": "c", "uid": "00000000-0000-4000-8000-000000000000"}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}
        assert await p.code(p.client.apply(CONFIGMAPS, body, p.namespace, field_manager="probe")) == 409
        assert not await p.exists(CONFIGMAPS, "c")

    cluster.run(probe)


def test_apply_of_a_field_that_another_manager_owns_is_a_conflict_that_names_it(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
        await p.client.apply(CONFIGMAPS, body, p.namespace, field_manager="one")
        error = await p.refusal(
            p.client.apply(CONFIGMAPS, {**body, "data": {"a": "2"}}, p.namespace, field_manager="two")
        )
        assert error.status.code == 409
        assert [(cause.reason, cause.field) for cause in error.causes] == [("FieldManagerConflict", ".data.a")]
        await p.client.apply(CONFIGMAPS, {**body, "data": {"a": "2"}}, p.namespace, field_manager="two", force=True)
        assert (await p.get(CONFIGMAPS, "c"))["data"] == {"a": "2"}

    cluster.run(probe)


def test_apply_removes_what_its_manager_no_longer_says_and_leaves_what_others_said(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        await p.client.apply(CONFIGMAPS, {**body, "data": {"a": "1", "b": "1"}}, p.namespace, field_manager="one")
        await p.client.merge_patch(CONFIGMAPS, "c", {"data": {"c": "1"}}, p.namespace, field_manager="two")
        await p.client.apply(CONFIGMAPS, {**body, "data": {"a": "1"}}, p.namespace, field_manager="one")
        assert (await p.get(CONFIGMAPS, "c"))["data"] == {"a": "1", "c": "1"}

    cluster.run(probe)


def test_a_name_that_exists_is_refused_as_such(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(CONFIGMAPS, "c")
        error = await p.refusal(p.make(CONFIGMAPS, "c"))
        assert isinstance(error, AlreadyExists)
        assert error.message == 'configmaps "c" already exists'

    cluster.run(probe)


@pytest.mark.parametrize(("length", "accepted"), [(63, True), (64, False)])
def test_a_jobs_name_has_at_most_63_characters(cluster: HostedCluster, length: int, accepted: bool) -> None:
    async def probe(p: Probe) -> None:
        spec = {"template": ONE, "suspend": True}
        if accepted:
            await p.make(JOBS, "j" * length, spec=spec)
        else:
            assert isinstance(await p.refusal(p.make(JOBS, "j" * length, spec=spec)), ObjectInvalid)

    cluster.run(probe)


def test_a_jobs_template_is_immutable(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(JOBS, "j", spec={"template": ONE, "suspend": False, "parallelism": 0})
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}}
        error = await p.refusal(p.client.merge_patch(JOBS, "j", patch, p.namespace))
        assert error.status.code == 422 and "field is immutable" in error.message

    cluster.run(probe)


@pytest.mark.parametrize("resource", [CONFIGMAPS, PODS, JOBS], ids=lambda resource: resource.plural)
def test_what_does_not_exist_is_404_to_every_write(cluster: HostedCluster, resource) -> None:
    async def probe(p: Probe) -> None:
        patch = {"metadata": {"labels": {"x": "1"}}}
        assert isinstance(await p.refusal(p.client.merge_patch(resource, "none", patch, p.namespace)), ObjectNotFound)
        assert isinstance(await p.refusal(p.client.delete(resource, "none", p.namespace)), ObjectNotFound)

    cluster.run(probe)


def test_a_patch_that_changes_nothing_keeps_the_resource_version(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        made = await p.make(CONFIGMAPS, "c", data={"a": "1"})
        answer = await p.client.merge_patch(CONFIGMAPS, "c", {"data": {"a": "1"}}, p.namespace)
        assert answer.metadata.resource_version == made["metadata"]["resourceVersion"]

    cluster.run(probe)


def test_a_dry_run_changes_nothing(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        answer = await p.client.create(CONFIGMAPS, body, p.namespace, dry_run=True)
        assert answer.metadata.uid
        assert not await p.exists(CONFIGMAPS, "c")

    cluster.run(probe)


def test_an_object_in_a_namespace_that_does_not_exist_is_404(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        error = await p.refusal(p.client.create(CONFIGMAPS, body, "no-such-namespace"))
        assert error.message == 'namespaces "no-such-namespace" not found'

    cluster.run(probe)
