"""Garbage collection: dependents go with their owner, or with the wrong owner's uid at once."""

import pytest

from hawser.resources import CONFIGMAPS, JOBS, PODS
from packages.drydock.tests.conformance.world import Body, HostedCluster, Probe

ENDLESS = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]}}


def _owner(owner: Body, **more: object) -> dict[str, object]:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **more}


async def _family(p: Probe) -> None:
    owner = await p.make(CONFIGMAPS, "owner")
    await p.make(CONFIGMAPS, "child", metadata={"ownerReferences": [_owner(owner)]})


def test_a_child_goes_with_its_owner(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _family(p)
        await p.client.delete(CONFIGMAPS, "owner", p.namespace, propagation="Background")
        await p.until_gone(CONFIGMAPS, "child")

    cluster.run(probe)


def test_an_orphan_stays_and_forgets_its_owner(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await _family(p)
        await p.client.delete(CONFIGMAPS, "owner", p.namespace, propagation="Orphan")
        await p.until_gone(CONFIGMAPS, "owner")
        assert "ownerReferences" not in (await p.get(CONFIGMAPS, "child"))["metadata"]

    cluster.run(probe)


def test_in_the_foreground_the_owner_waits_for_the_children_that_block_it(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        owner = await p.make(CONFIGMAPS, "owner")
        reference = _owner(owner, blockOwnerDeletion=True)
        metadata = {"ownerReferences": [reference], "finalizers": ["mooring.dev/probe"]}
        await p.make(CONFIGMAPS, "child", metadata=metadata)
        await p.client.delete(CONFIGMAPS, "owner", p.namespace, propagation="Foreground")

        async def child_is_going() -> bool:
            return "deletionTimestamp" in (await p.get(CONFIGMAPS, "child"))["metadata"]

        await p.until(child_is_going)
        waiting = (await p.get(CONFIGMAPS, "owner"))["metadata"]
        assert waiting["finalizers"] == ["foregroundDeletion"] and "deletionTimestamp" in waiting
        await p.client.merge_patch(CONFIGMAPS, "child", {"metadata": {"finalizers": None}}, p.namespace)
        await p.until_gone(CONFIGMAPS, "owner")

    cluster.run(probe)


def test_a_child_of_an_owner_that_never_was_is_deleted_soon(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        owner = await p.make(CONFIGMAPS, "owner")
        owner["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
        await p.make(CONFIGMAPS, "child", metadata={"ownerReferences": [_owner(owner)]})
        await p.until_gone(CONFIGMAPS, "child", seconds=10)
        assert await p.exists(CONFIGMAPS, "owner")

    cluster.run(probe)


def test_a_child_with_a_second_living_owner_stays(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        one, two = await p.make(CONFIGMAPS, "one"), await p.make(CONFIGMAPS, "two")
        await p.make(CONFIGMAPS, "child", metadata={"ownerReferences": [_owner(one), _owner(two)]})
        await p.client.delete(CONFIGMAPS, "one", p.namespace, propagation="Background")

        async def one_left() -> bool:
            return len((await p.get(CONFIGMAPS, "child"))["metadata"].get("ownerReferences", ())) == 1

        await p.until(one_left)

    cluster.run(probe)


@pytest.mark.parametrize(("propagation", "pods_stay"), [("", True), ("Background", False)])
def test_a_jobs_pods_go_only_when_asked_to(cluster: HostedCluster, propagation: str, pods_stay: bool) -> None:
    async def probe(p: Probe) -> None:
        script = {"metadata": {"annotations": {"drydock.dev/script": '{"runs": [{}]}'}}}
        await p.make(JOBS, "j", spec={"template": {**ENDLESS, **script}})

        async def has_pod() -> bool:
            return bool(await p.pods("job-name=j"))

        await p.until(has_pod)
        await p.client.delete(JOBS, "j", p.namespace, propagation=propagation)  # type: ignore[arg-type]
        await p.until_gone(JOBS, "j")

        async def gone() -> bool:
            return not await p.pods("job-name=j")

        if pods_stay:
            await p.clock.sleep(1.5)
            assert await has_pod()
        else:
            await p.until(gone)

    cluster.run(probe)


def test_finalizers_hold_an_object_until_they_are_removed(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(CONFIGMAPS, "c", metadata={"finalizers": ["mooring.dev/probe"]})
        await p.client.delete(CONFIGMAPS, "c", p.namespace)
        assert "deletionTimestamp" in (await p.get(CONFIGMAPS, "c"))["metadata"]
        await p.client.merge_patch(CONFIGMAPS, "c", {"metadata": {"finalizers": None}}, p.namespace)
        assert not await p.exists(CONFIGMAPS, "c")

    cluster.run(probe)


def test_an_unscheduled_pod_is_deleted_at_once(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(schedulerName="nobody", terminationGracePeriodSeconds=600)
        await p.client.delete(PODS, "p", p.namespace)
        assert not await p.exists(PODS)

    cluster.run(probe)


def test_a_running_pod_gets_its_grace(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        script = '{"runs": [{"stopSeconds": 3}]}'
        await p.pod(terminationGracePeriodSeconds=40, annotations={"drydock.dev/script": script})
        await p.until_running()
        await p.client.delete(PODS, "p", p.namespace)
        assert (await p.get(PODS))["metadata"]["deletionGracePeriodSeconds"] == 40
        await p.until_gone(PODS)

    cluster.run(probe)


def test_with_no_grace_a_pod_is_gone_at_once(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.pod(terminationGracePeriodSeconds=600)
        await p.until_running()
        await p.client.delete(PODS, "p", p.namespace, grace_seconds=0)
        assert not await p.exists(PODS)

    cluster.run(probe)
