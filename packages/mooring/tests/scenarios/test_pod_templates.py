"""The shape that owners give to pods: it arrives, it never costs data, and conflicts are told by their field."""

from typing import Any

import pytest

from hawser.resources import DEPLOYMENTS, JOBS, NODES, PODS, SECRETS, SERVICEACCOUNTS, SERVICES
from mooring.kinds.resources import SUBMISSIONS
from mooring.model import names
from mooring.model.errors import InvalidInput
from mooring.model.submission import job_name
from packages.mooring.tests.controllers.services.hands import (
    PLACED,
    carry_out,
    change,
    create,
    fill_in,
    on_stage,
    status_of,
    until_code,
    until_serving,
)
from packages.mooring.tests.model.test_pod_template import IDENTITY
from packages.mooring.tests.scenarios.datasets import dataset_world
from packages.mooring.tests.scenarios.harbour import NAMESPACE
from packages.mooring.tests.scenarios.submits import gate_of, jobs, read, spec, submit, until, until_phase

# Without what would need objects of its own in the cluster.
SHAPE = {name: value for name, value in IDENTITY.items() if name not in ("priorityClassName", "nodeSelector")}


async def _account(client: Any) -> None:
    await client.create(SERVICEACCOUNTS, {"metadata": {"name": "searcher"}}, NAMESPACE)
    await client.create(SECRETS, {"metadata": {"name": "registry"}}, NAMESPACE)


def _assert_shaped(pod: dict[str, Any]) -> None:
    """What every kind's pods carry of the template."""
    meta, body = pod["metadata"], pod["spec"]
    assert SHAPE["labels"].items() <= meta["labels"].items()
    assert SHAPE["annotations"].items() <= meta["annotations"].items()
    assert (body["serviceAccountName"], body["securityContext"]["fsGroup"]) == ("searcher", 1000)
    assert {"identity", "data"} <= {volume["name"] for volume in body["volumes"]}
    for container in (*body.get("initContainers", ()), *body["containers"]):
        assert SHAPE["volumeMounts"][0] in container["volumeMounts"]
        assert container["resources"]["requests"]["cpu"] == "500m"
        assert container["securityContext"] == {"readOnlyRootFilesystem": True}


# --- warmups ---------------------------------------------------------------------------------------------------------
async def test_a_warmups_pods_get_the_template_and_a_new_one_fetches_nothing_again():
    async with dataset_world(nodes=2) as world:
        await _account(world.stage.client)
        assert await world.warmed(shards=2, podTemplate=SHAPE) == ["0", "1"]
        pods = (await world.stage.client.list(PODS.raw(), NAMESPACE)).items
        assert len(pods) == 2
        for pod in pods:
            _assert_shaped(pod)
        before = {job.metadata.uid for job in await world.jobs()}
        await world.edit({"spec": {"podTemplate": {"labels": {"team": "search"}}}})
        await world.watch(120)
        assert {job.metadata.uid for job in await world.jobs()} == before and world.lost() == []
        await world.edit({"spec": {"generation": "2"}})
        await world.watch(5)
        await world.until("Ready")
        assert world.lost() == ["0", "1"]
        assert {job["spec"]["template"]["metadata"]["labels"]["team"] for job in await _raw_jobs(world)} == {"search"}


async def _raw_jobs(world: Any) -> list[dict[str, Any]]:
    return list((await world.stage.client.list(JOBS.raw(), NAMESPACE, label_selector=names.DATASET)).items)


async def test_a_warm_job_that_cannot_start_is_made_again_when_the_template_is_corrected():
    async with dataset_world(nodes=2) as world:
        wrong = {"volumes": [{"name": "a", "secret": {"secretName": "nope"}}]}
        mount = {"volumeMounts": [{"name": "a", "mountPath": "/a"}]}
        await world.warmup(shards=2, podTemplate={**wrong, **mount}, propagationSeconds=0)
        await world.watch(60)
        assert world.lost() == []
        await world.edit({"spec": {"podTemplate": {"volumes": [{"name": "a", "emptyDir": {}}]}}})
        await world.until("Ready")
        assert world.lost() == ["0", "1"]


async def test_a_warmup_goes_only_to_nodes_that_its_template_selects():
    async with dataset_world(nodes=4) as world:
        chosen = world.stage.sandbox.fleet.node_names[1:3]
        for node in chosen:
            await world.stage.client.merge_patch(NODES, node, {"metadata": {"labels": {"disk": "ssd"}}})
        await world.warmed(shards=2, podTemplate={"nodeSelector": {"disk": "ssd"}})
        assert {shard["node"] for shard in (await world.status())["shards"]} == set(chosen)


async def test_a_warmup_with_a_conflict_has_failed_and_names_the_field():
    async with dataset_world(nodes=2) as world:
        clash = {"volumes": [{"name": "a", "emptyDir": {}}], "volumeMounts": [{"name": "a", "mountPath": "/mnt/nt/x"}]}
        await world.warmup(localPath="/mnt/nt", podTemplate=clash)
        await world.until("Failed", within=30)
        reason = (await world.status())["reason"]
        assert "spec.podTemplate.volumeMounts[0].mountPath: '/mnt/nt/x' is not allowed" in reason
        assert await world.jobs() == []


# --- submissions -----------------------------------------------------------------------------------------------------
async def test_a_submissions_pods_get_the_template(world):
    replica = world.start()
    await _account(world.client)
    await submit(replica, spec(podTemplate=SHAPE, volumes=[{"name": "own", "emptyDir": {}}], scripts={"a": "x"}))
    await until_phase(world, "Succeeded")
    pods = (await world.client.list(PODS.raw(), NAMESPACE)).items
    assert len(pods) == 4
    for pod in pods:
        _assert_shaped(pod)
        assert {"own", "mooring-scripts"} <= {volume["name"] for volume in pod["spec"]["volumes"]}
        assert names.SUBMISSION in pod["metadata"]["labels"]
    assert gate_of(await read(world), "service-account").message == "the ServiceAccount searcher exists"


async def test_the_account_of_a_template_is_looked_for_and_its_requests_are_judged(world):
    replica = world.start()
    await submit(replica, spec("one", podTemplate={"serviceAccountName": "searcher"}))
    refused = await until_phase(world, "Refused", "one", within=30)
    assert gate_of(refused, "service-account").state == "fail"
    await submit(replica, spec("two", podTemplate={"resources": {"requests": {"cpu": "10000"}}}))
    refused = await until_phase(world, "Refused", "two", within=30)
    assert gate_of(refused, "placement").state == "fail"
    await submit(replica, spec("three", podTemplate={"nodeSelector": {"disk": "ssd"}}))
    refused = await until_phase(world, "Refused", "three", within=30)
    assert gate_of(refused, "placement").state == "fail" and await jobs(world) == []


async def test_a_submission_with_a_conflict_is_refused_at_once_also_from_kubectl(world):
    replica = world.start()
    clash = {"serviceAccount": "a", "podTemplate": {"serviceAccountName": "b"}}
    with pytest.raises(InvalidInput, match=r"spec\.podTemplate\.serviceAccountName: 'b' is not allowed"):
        await submit(replica, spec(**clash))
    twice = {"volumes": [{"name": "a", "emptyDir": {}}], "podTemplate": {"volumes": [{"name": "a", "emptyDir": {}}]}}
    body = {"metadata": {"name": "mine"}, "spec": {"key": "k", "program": "p", "batches": [{}], **twice}}
    await world.client.create(SUBMISSIONS, body, NAMESPACE)

    async def refused() -> bool:
        return (await world.client.get(SUBMISSIONS, "mine", NAMESPACE)).status.phase == "Refused"

    await until(world, refused, 30)
    gate = gate_of(await world.client.get(SUBMISSIONS, "mine", NAMESPACE), "spec")
    assert "spec.podTemplate.volumes[0].name: 'a' is not allowed" in gate.message


async def test_a_template_that_changes_after_the_start_is_told_and_changes_nothing(world):
    replica = world.start()
    made = await submit(replica, spec(podTemplate={"labels": {"team": "a"}}))
    await until_phase(world, "Running")
    await world.client.merge_patch(
        SUBMISSIONS, made.metadata.name, {"spec": {"podTemplate": {"labels": {"team": "b"}}}}, NAMESPACE
    )
    await world.clock.sleep(30)
    found = await read(world)
    assert "the spec was changed after it was accepted" in gate_of(found, "spec").message
    job = await world.client.get(JOBS.raw(), job_name("night-1", "setup"), NAMESPACE)
    assert job["spec"]["template"]["metadata"]["labels"]["team"] == "a"


# --- services --------------------------------------------------------------------------------------------------------
async def test_a_services_pods_get_the_template_and_a_new_one_rolls_the_deployment():
    async with on_stage() as stage:
        stage.start()
        await _account(stage.client)
        await create(stage, podTemplate=SHAPE, **PLACED)
        await until_serving(stage)
        (pod,) = (await stage.client.list(PODS.raw(), NAMESPACE)).items
        _assert_shaped(pod)
        assert pod["spec"]["automountServiceAccountToken"] is True
        await change(stage, podTemplate={"labels": {"app": "other"}})
        await until_code(stage, "RollingOut", within=20)
        await until_serving(stage)
        pods = [one for one in await stage.pods() if not one.terminating]
        assert [one.metadata.labels["app"] for one in pods] == ["other"]
        assert pods[0].metadata.name != pod["metadata"]["name"]


async def test_a_service_without_an_account_gets_no_token_and_one_with_an_account_does():
    async with on_stage() as stage:
        stage.start()
        await _account(stage.client)
        await create(stage, **PLACED)
        await create(stage, "other", podTemplate={"serviceAccountName": "searcher"}, **PLACED)
        await until_serving(stage)
        await until_serving(stage, name="other")
        plain = await stage.client.get(DEPLOYMENTS.raw(), "api", NAMESPACE)
        named = await stage.client.get(DEPLOYMENTS.raw(), "other", NAMESPACE)
        assert plain["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
        assert "automountServiceAccountToken" not in named["spec"]["template"]["spec"]


async def test_annotations_of_a_service_are_set_changed_and_removed_and_others_stay():
    async with on_stage() as stage:
        replica = stage.start()
        lb = "service.beta.kubernetes.io/azure-load-balancer-internal"
        await create(stage, serviceAnnotations={lb: "true", "team": "a"}, **PLACED)
        await until_serving(stage)

        async def annotations() -> dict[str, str]:
            found = (await stage.client.get(SERVICES, "api", NAMESPACE)).metadata.annotations
            return {key: value for key, value in found.items() if not key.startswith(names.OWN_PREFIX)}

        assert await annotations() == {lb: "true", "team": "a"}
        await stage.client.merge_patch(SERVICES, "api", {"metadata": {"annotations": {"theirs": "x"}}}, NAMESPACE)
        await change(stage, serviceAnnotations={lb: None, "team": "b"})

        async def changed() -> bool:
            return await annotations() == {"team": "b", "theirs": "x"}

        await stage.until(changed, 60, "the annotations follow the spec")
        await change(stage, serviceAnnotations=None)

        async def removed() -> bool:
            return await annotations() == {"theirs": "x"}

        await stage.until(removed, 60, "the annotations are gone")
        await stage.clock.sleep(30)
        calls = len(replica.process.calls)
        await stage.clock.sleep(60)
        assert [call for call in replica.process.calls[calls:] if call.method != "GET"] == []


async def test_a_template_that_no_node_takes_is_refused_before_anything_is_applied_and_its_fix_helps():
    async with on_stage() as stage:
        stage.start()
        await create(stage, podTemplate={"resources": {"requests": {"cpu": "10000"}}}, **PLACED)
        status = await until_code(stage, "Unschedulable", within=30)
        assert "nothing was rolled out" in status["reason"]
        assert (await stage.client.list(DEPLOYMENTS, NAMESPACE)).items == []
        await carry_out(stage, status["fix"])
        await until_serving(stage)


async def test_a_service_with_a_conflict_names_the_field():
    async with on_stage() as stage:
        stage.start()
        await create(stage, podTemplate={"volumeMounts": [{"name": "nope", "mountPath": "/x"}]}, **PLACED)
        await until_code(stage, "InvalidSpec", within=30)
        assert "spec.podTemplate.volumeMounts[0].name: 'nope' is not allowed" in (await status_of(stage))["reason"]


async def test_a_missing_account_is_refused_before_anything_is_applied_and_its_fix_helps():
    async with on_stage() as stage:
        stage.start()
        await create(stage, podTemplate={"serviceAccountName": "searcher"}, **PLACED)
        status = await until_code(stage, "AccountMissing", within=30)
        assert (status["phase"], status["reason"]) == ("Failed", "there is no ServiceAccount searcher")
        assert (await stage.client.list(DEPLOYMENTS, NAMESPACE)).items == []
        await carry_out(stage, status["fix"])
        await until_serving(stage)
        await stage.client.delete(SERVICEACCOUNTS, "searcher", NAMESPACE)
        (pod,) = await stage.pods()
        await stage.client.delete(PODS, pod.metadata.name, NAMESPACE)
        status = await until_code(stage, "AccountMissing", within=60)
        await carry_out(stage, status["fix"])
        await until_serving(stage)


async def test_the_fix_of_a_refused_pull_reaches_pods_that_have_pull_secrets_of_their_own():
    async with on_stage() as stage:
        stage.start()
        await stage.client.create(SECRETS, {"metadata": {"name": "registry"}}, NAMESPACE)
        secrets = {"imagePullSecrets": [{"name": "registry"}]}
        await create(stage, image="private.example.invalid/api:1", podTemplate=secrets, **PLACED)
        status = await until_code(stage, "ImageUnauthorized")
        await carry_out(stage, fill_in(status["fix"], {"<USER>": "me", "<PASSWORD>": "secret"}))
        await until_serving(stage)
        template = (await stage.client.get(DEPLOYMENTS.raw(), "api", NAMESPACE))["spec"]["template"]
        assert [one["name"] for one in template["spec"]["imagePullSecrets"]] == [
            "registry",
            "pull-private-example-invalid",
        ]
