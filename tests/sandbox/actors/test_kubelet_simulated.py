"""Pods as scripts in virtual time: back-off, restarts, health, and nodes that hang, lose their disk or go."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from mooring.kube.errors import ObjectNotFound
from mooring.kube.resources import CONFIGMAPS, LEASES, NODES, PODS
from mooring.sandbox.actors.fleet import FleetOptions
from mooring.sandbox.actors.runtime.contract import ContainerRun
from mooring.sandbox.actors.runtime.script import Script, scripts_from
from tests.sandbox.actors.virtual_nodes import START, VirtualNodes, in_virtual_time

READINESS = {"readinessProbe": {"httpGet": {"port": 80}}}
LIVENESS = {"livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 10, "failureThreshold": 3}}


def ready(status: dict[str, Any]) -> bool:
    return {entry["type"]: entry["status"] for entry in status["conditions"]}["Ready"] == "True"


def test_a_pod_is_running_and_ready_at_once_with_a_single_status_write() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("web")
        await world.clock.sleep(1)
        status = await world.status("web")
        assert (status["phase"], ready(status)) == ("Running", True)
        assert status["startTime"] == "2026-03-01T12:00:00Z"
        assert world.calls["PATCH", "pods"] == 1

    in_virtual_time(story)


def test_a_slow_start_shows_as_container_creating() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("slow", Script(start_seconds=20))
        await world.clock.sleep(10)
        assert (await world.container("slow"))["state"] == {"waiting": {"reason": "ContainerCreating"}}
        await world.clock.sleep(11)
        assert (await world.container("slow"))["state"] == {"running": {"startedAt": "2026-03-01T12:00:20Z"}}

    in_virtual_time(story)


def test_a_crashing_container_is_restarted_after_0_10_20_40_80_160_300_300_seconds() -> None:
    starts: list[float] = []

    def choose(run: ContainerRun) -> Script:
        return Script(run_seconds=1, exit_code=1)

    async def story(world: VirtualNodes) -> None:
        await world.create_pod("crash")
        seen = -1
        while len(starts) < 9:
            container = await world.container("crash") if seen >= 0 else {"restartCount": 0, "state": {"running": {}}}
            if container["restartCount"] > seen and "running" in container["state"]:
                seen = container["restartCount"]
                starts.append((world.clock.now() - START).total_seconds())
            await world.clock.sleep(0.5)

    in_virtual_time(story, scripts=scripts_from(choose))
    gaps = [round(after - before - 1) for before, after in pairwise(starts)]
    assert gaps == [0, 10, 20, 40, 80, 160, 300, 300]


def test_ten_quiet_minutes_forgive_earlier_crashes() -> None:
    async def story(world: VirtualNodes) -> None:
        runs = [Script(run_seconds=1, exit_code=1), Script(run_seconds=1, exit_code=1), Script(run_seconds=700)]
        await world.create_pod("moody", *runs, Script(run_seconds=1, exit_code=1))
        await world.clock.sleep(720)
        assert (await world.container("moody"))["restartCount"] == 3

    in_virtual_time(story)


def test_a_job_pod_that_fails_once_and_then_succeeds_is_restarted_under_on_failure_only() -> None:
    async def story(world: VirtualNodes) -> None:
        runs = (Script(run_seconds=1, exit_code=1), Script(run_seconds=1))
        await world.create_pod("retried", *runs, restartPolicy="OnFailure")
        await world.create_pod("final", *runs, restartPolicy="Never")
        await world.clock.sleep(10)
        assert (await world.status("retried"))["phase"] == "Succeeded"
        assert (await world.container("retried"))["restartCount"] == 1
        assert (await world.status("final"))["phase"] == "Failed"

    in_virtual_time(story)


def test_a_configmap_that_comes_late_lets_the_container_start() -> None:
    async def story(world: VirtualNodes) -> None:
        env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "a"}}}]
        await world.create_pod("patient", container={"env": env})
        await world.clock.sleep(25)
        assert (await world.container("patient"))["state"]["waiting"]["reason"] == "CreateContainerConfigError"
        await world.client.create(
            CONFIGMAPS, {"metadata": {"name": "late", "namespace": "default"}, "data": {"a": "1"}}
        )
        await world.clock.sleep(11)
        assert (await world.status("patient"))["phase"] == "Running"

    in_virtual_time(story)


def test_a_pod_that_does_not_fit_is_rejected_and_room_is_given_back() -> None:
    async def story(world: VirtualNodes) -> None:
        large = {"container": {"resources": {"requests": {"cpu": "5"}}}, "restartPolicy": "Never"}
        await world.create_pod("first", Script(run_seconds=10), **large)
        await world.create_pod("second", **large)
        await world.create_pod("elsewhere", nodeSelector={"disk": "ssd"})
        await world.clock.sleep(1)
        refused = await world.status("second")
        assert (refused["phase"], refused["reason"]) == ("Failed", "OutOfcpu")
        told = "Node didn't have enough resource: cpu, requested: 5000, used: 5000, capacity: 8000"
        assert refused["message"] == f"Pod was rejected: {told}"
        assert (await world.status("elsewhere"))["reason"] == "NodeAffinity"
        assert ("OutOfcpu", told) in await world.events("second")
        await world.clock.sleep(10)
        await world.create_pod("third", **large)
        await world.clock.sleep(0.5)
        assert (await world.status("third"))["phase"] == "Running"

    in_virtual_time(story)


def test_readiness_comes_and_goes_as_the_script_says() -> None:
    async def story(world: VirtualNodes) -> None:
        script = Script(ready_seconds=5, unready=[(20, 30)])
        await world.create_pod("moody", script, container=READINESS)
        seen = []
        for _ in range(8):
            await world.clock.sleep(4.9)
            seen.append(ready(await world.status("moody")))
        assert seen == [False, True, True, True, False, False, True, True]
        assert (await world.container("moody"))["restartCount"] == 0

    in_virtual_time(story)


def test_a_container_whose_liveness_fails_is_killed_and_restarted() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("dying", Script(dies_seconds=60), Script(), container=LIVENESS)
        await world.clock.sleep(89)
        assert (await world.container("dying"))["restartCount"] == 0
        await world.clock.sleep(2)
        assert (await world.container("dying"))["restartCount"] == 1
        assert ("Killing", "Container app failed liveness probe, will be restarted") in await world.events("dying")

    in_virtual_time(story)


def test_deletion_waits_for_the_container_and_not_longer_than_the_grace() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("quick", Script(stop_seconds=3))
        await world.create_pod("deaf", Script(stop_seconds=1000), terminationGracePeriodSeconds=20)
        await world.clock.sleep(1)
        for name in ("quick", "deaf"):
            await world.client.delete(PODS, name, "default")
        await world.clock.sleep(2.5)
        assert (await world.pod("quick"))["metadata"]["deletionTimestamp"]
        await world.clock.sleep(1)
        with pytest.raises(ObjectNotFound):
            await world.pod("quick")
        await world.clock.sleep(15)
        await world.pod("deaf")
        await world.clock.sleep(2)
        with pytest.raises(ObjectNotFound):
            await world.pod("deaf")

    in_virtual_time(story)


def test_a_pod_that_is_still_starting_can_be_deleted_at_once() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("slow", Script(start_seconds=3600))
        await world.clock.sleep(10)
        await world.client.delete(PODS, "slow", "default")
        await world.clock.sleep(1)
        with pytest.raises(ObjectNotFound):
            await world.pod("slow")

    in_virtual_time(story)


def test_a_hook_before_the_stop_takes_its_time_out_of_the_grace() -> None:
    async def story(world: VirtualNodes) -> None:
        def hooked(seconds: int) -> dict[str, Any]:
            return {"container": {"lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}}}

        await world.create_pod("brief", **hooked(5), terminationGracePeriodSeconds=30)
        await world.create_pod("endless", Script(stop_seconds=1), **hooked(20), terminationGracePeriodSeconds=20)
        await world.client.merge_patch(PODS, "endless", {"metadata": {"finalizers": ["example.com/keep"]}}, "default")
        await world.clock.sleep(1)
        for name in ("brief", "endless"):
            await world.client.delete(PODS, name, "default")
        await world.clock.sleep(4.9)
        await world.pod("brief")
        await world.clock.sleep(0.2)
        with pytest.raises(ObjectNotFound):
            await world.pod("brief")
        await world.clock.sleep(17)
        ended = (await world.container("endless"))["state"]["terminated"]
        assert ended["exitCode"] == 0, "SIGTERM is sent also when the hook has used up the grace"
        await world.client.merge_patch(PODS, "endless", {"metadata": {"finalizers": None}}, "default")

    in_virtual_time(story)


def test_a_second_deletion_can_shorten_the_grace() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("deaf", Script(stop_seconds=1000), terminationGracePeriodSeconds=600)
        await world.clock.sleep(1)
        await world.client.delete(PODS, "deaf", "default")
        await world.clock.sleep(10)
        await world.client.delete(PODS, "deaf", "default", grace_seconds=5)
        await world.clock.sleep(6)
        with pytest.raises(ObjectNotFound):
            await world.pod("deaf")

    in_virtual_time(story)


def test_a_pod_that_is_deleted_shows_its_end_before_it_is_gone() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("kept", Script(stop_code=3))
        await world.client.merge_patch(PODS, "kept", {"metadata": {"finalizers": ["example.com/keep"]}}, "default")
        await world.clock.sleep(1)
        await world.client.delete(PODS, "kept", "default")
        await world.clock.sleep(1)
        status = await world.status("kept")
        assert status["phase"] == "Failed"
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
        before = sum(world.calls.values())
        await world.clock.sleep(5)
        assert sum(world.calls.values()) == before, "a pod held by a finalizer is left alone"
        await world.client.merge_patch(PODS, "kept", {"metadata": {"finalizers": None}}, "default")
        with pytest.raises(ObjectNotFound):
            await world.pod("kept")

    in_virtual_time(story)


def test_a_condition_of_somebody_else_survives_the_kubelet() -> None:
    async def story(world: VirtualNodes) -> None:
        pod = await world.create_pod("marked", Script(start_seconds=5))
        await world.clock.sleep(1)
        foreign = {"type": "example.com/Marked", "status": "True", "lastTransitionTime": "2026-03-01T12:00:00Z"}
        conditions = [*(await world.status("marked"))["conditions"], foreign]
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": conditions}}
        await world.client.merge_patch(PODS, "marked", patch, "default", subresource="status")
        await world.clock.sleep(10)
        status = await world.status("marked")
        assert status["phase"] == "Running"
        assert "example.com/Marked" in [entry["type"] for entry in status["conditions"]]

    in_virtual_time(story)


def test_a_node_that_hangs_is_silent_while_its_containers_run_on() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("busy", Script(run_seconds=100), restartPolicy="Never")
        await world.clock.sleep(1)
        await world.fleet.pause("node-1")
        await world.clock.sleep(20)
        renewed = (await world.client.get(LEASES.raw(), "node-1", "kube-node-lease"))["spec"]["renewTime"]
        await world.client.delete(PODS, "busy", "default")
        await world.clock.sleep(200)
        lease = await world.client.get(LEASES.raw(), "node-1", "kube-node-lease")
        assert lease["spec"]["renewTime"] == renewed
        assert (await world.status("busy"))["phase"] == "Running", "nobody tells that it has ended"
        await world.fleet.resume("node-1")
        await world.clock.sleep(1)
        with pytest.raises(ObjectNotFound):
            await world.pod("busy")

    in_virtual_time(story)


def test_a_living_node_contradicts_who_calls_it_not_ready() -> None:
    async def story(world: VirtualNodes) -> None:
        node = await world.client.get(NODES.raw(), "node-1")
        conditions = [
            {**entry, "status": "Unknown"} if entry["type"] == "Ready" else entry
            for entry in node["status"]["conditions"]
        ]
        await world.client.merge_patch(NODES, "node-1", {"status": {"conditions": conditions}}, subresource="status")
        await world.clock.sleep(0.1)
        node = await world.client.get(NODES.raw(), "node-1")
        assert {entry["type"]: entry["status"] for entry in node["status"]["conditions"]}["Ready"] == "True"

    in_virtual_time(story)


def test_a_wiped_node_starts_its_pods_anew() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("always", Script())
        await world.create_pod("once", Script(run_seconds=1000), restartPolicy="Never")
        await world.clock.sleep(1)
        await world.fleet.wipe("node-1")
        await world.clock.sleep(1)
        container = await world.container("always")
        assert container["restartCount"] == 1
        assert container["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
        assert (await world.status("once"))["phase"] == "Failed"

    in_virtual_time(story)


def test_a_kubelet_that_starts_anew_writes_nothing_about_pods_that_were_over() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("done", restartPolicy="Never")
        await world.clock.sleep(5)
        before = world.calls["PATCH", "pods"]
        await world.fleet.wipe("node-1")
        await world.clock.sleep(5)
        assert world.calls["PATCH", "pods"] == before

    in_virtual_time(story)


def test_a_removed_node_takes_its_object_and_its_lease_and_leaves_its_pods_to_the_cluster() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("left")
        await world.clock.sleep(1)
        await world.fleet.remove_node("node-1")
        with pytest.raises(ObjectNotFound):
            await world.client.get(NODES, "node-1")
        with pytest.raises(ObjectNotFound):
            await world.client.get(LEASES, "node-1", "kube-node-lease")
        assert (await world.status("left"))["phase"] == "Running"
        assert world.fleet.node_names == []

    in_virtual_time(story)


def test_a_node_can_come_back_under_its_name_with_a_new_uid() -> None:
    async def story(world: VirtualNodes) -> None:
        first = await world.client.get(NODES, "node-1")
        await world.fleet.remove_node("node-1")
        await world.fleet.add_node("node-1")
        second = await world.client.get(NODES, "node-1")
        assert first.metadata.uid != second.metadata.uid
        await world.create_pod("web")
        await world.clock.sleep(1)
        assert (await world.status("web"))["phase"] == "Running"

    in_virtual_time(story)


def test_a_node_deleted_by_others_stops_its_heartbeat_and_does_not_register_again() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.client.delete(NODES, "node-1")
        await world.clock.sleep(60)
        with pytest.raises(ObjectNotFound):
            await world.client.get(NODES, "node-1")

    in_virtual_time(story)


def test_a_status_that_could_not_be_written_is_written_later() -> None:
    async def story(world: VirtualNodes) -> None:
        world.transport.broken = True
        await world.create_pod("web", Script(run_seconds=3), restartPolicy="Never")
        await world.clock.sleep(5)
        assert "containerStatuses" not in await world.status("web")
        world.transport.broken = False
        await world.clock.sleep(1.1)
        assert (await world.status("web"))["phase"] == "Succeeded"

    in_virtual_time(story)


def test_logs_grow_with_the_script_and_can_be_tailed() -> None:
    async def story(world: VirtualNodes) -> None:
        await world.create_pod("talker", Script(logs=["one", "two", "three"], log_seconds=10))
        await world.clock.sleep(11)
        assert await world.client.logs("talker", "default") == "one\ntwo\n"
        await world.clock.sleep(10)
        assert await world.client.logs("talker", "default", tail_lines=2) == "two\nthree\n"

    in_virtual_time(story)


def test_five_hundred_pods_cost_one_write_each_and_an_idle_hour_costs_none() -> None:
    async def story(world: VirtualNodes) -> None:
        for number in range(500):
            await world.create_pod(f"pod-{number}", node=f"node-{number % 10 + 1}")
        await world.clock.sleep(1)
        assert world.calls["PATCH", "pods"] == 500
        before = world.calls.copy()
        await world.clock.sleep(timedelta(hours=1).total_seconds())
        spent = world.calls - before
        assert spent["PATCH", "pods"] == 0
        assert spent["PATCH", "leases"] == 10 * 3600 / 20
        assert spent["POST", "events"] == 0

    in_virtual_time(story, nodes=10, options=FleetOptions(normal_events=False, renew_seconds=20))
