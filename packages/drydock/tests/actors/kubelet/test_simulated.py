"""Pods as scripts in virtual time: back-off, restarts, health, and nodes that hang, lose their disk or go."""

from itertools import pairwise
from typing import Any

import pytest

from drydock.faults.effects import LagEvents
from drydock.faults.plan import Rule
from drydock.runtime.contract import ContainerRun
from drydock.runtime.script import Script, scripts_from
from hawser.errors import ObjectNotFound
from hawser.resources import CONFIGMAPS, PODS
from packages.drydock.tests.actors.kubelet.virtual_nodes import START, virtual_nodes

READINESS = {"readinessProbe": {"httpGet": {"port": 80}}}
LIVENESS = {"livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 10, "failureThreshold": 3}}


def ready(status: dict[str, Any]) -> bool:
    return {entry["type"]: entry["status"] for entry in status["conditions"]}["Ready"] == "True"


async def test_a_pod_is_running_and_ready_at_once_with_a_single_status_write() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("web")
        await world.clock.sleep(1)
        status = await world.status("web")
        assert (status["phase"], ready(status)) == ("Running", True)
        assert status["startTime"] == "2026-03-01T12:00:00Z"
        assert world.calls["PATCH", "pods"] == 1


async def test_a_slow_start_shows_as_container_creating() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("slow", Script(start_seconds=20))
        await world.clock.sleep(10)
        assert (await world.container("slow"))["state"] == {"waiting": {"reason": "ContainerCreating"}}
        await world.clock.sleep(11)
        assert (await world.container("slow"))["state"] == {"running": {"startedAt": "2026-03-01T12:00:20Z"}}


async def test_a_crashing_container_is_restarted_after_0_10_20_40_80_160_300_300_seconds() -> None:
    starts: list[float] = []

    def choose(run: ContainerRun) -> Script:
        return Script(run_seconds=1, exit_code=1)

    async with virtual_nodes(scripts=scripts_from(choose)) as world:
        await world.create_pod("crash")
        seen = -1
        while len(starts) < 9:
            container = await world.container("crash") if seen >= 0 else {"restartCount": 0, "state": {"running": {}}}
            if container["restartCount"] > seen and "running" in container["state"]:
                seen = container["restartCount"]
                starts.append((world.clock.now() - START).total_seconds())
            await world.clock.sleep(0.5)
    gaps = [round(after - before - 1) for before, after in pairwise(starts)]
    assert gaps == [0, 10, 20, 40, 80, 160, 300, 300]


async def test_ten_quiet_minutes_forgive_earlier_crashes() -> None:
    async with virtual_nodes() as world:
        runs = [Script(run_seconds=1, exit_code=1), Script(run_seconds=1, exit_code=1), Script(run_seconds=700)]
        await world.create_pod("moody", *runs, Script(run_seconds=1, exit_code=1))
        await world.clock.sleep(720)
        assert (await world.container("moody"))["restartCount"] == 3


async def test_a_job_pod_that_fails_once_and_then_succeeds_is_restarted_under_on_failure_only() -> None:
    async with virtual_nodes() as world:
        runs = (Script(run_seconds=1, exit_code=1), Script(run_seconds=1))
        await world.create_pod("retried", *runs, restartPolicy="OnFailure")
        await world.create_pod("final", *runs, restartPolicy="Never")
        await world.clock.sleep(10)
        assert (await world.status("retried"))["phase"] == "Succeeded"
        assert (await world.container("retried"))["restartCount"] == 1
        assert (await world.status("final"))["phase"] == "Failed"


async def test_a_configmap_that_comes_late_lets_the_container_start() -> None:
    async with virtual_nodes() as world:
        env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "a"}}}]
        await world.create_pod("patient", container={"env": env})
        await world.clock.sleep(25)
        assert (await world.container("patient"))["state"]["waiting"]["reason"] == "CreateContainerConfigError"
        await world.client.create(
            CONFIGMAPS, {"metadata": {"name": "late", "namespace": "default"}, "data": {"a": "1"}}
        )
        await world.clock.sleep(11)
        assert (await world.status("patient"))["phase"] == "Running"


async def test_a_pod_that_does_not_fit_is_rejected_and_room_is_given_back() -> None:
    async with virtual_nodes() as world:
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


async def test_readiness_comes_and_goes_as_the_script_says() -> None:
    async with virtual_nodes() as world:
        script = Script(ready_seconds=5, unready=[(20, 30)])
        await world.create_pod("moody", script, container=READINESS)
        seen = []
        for _ in range(8):
            await world.clock.sleep(4.9)
            seen.append(ready(await world.status("moody")))
        assert seen == [False, True, True, True, False, False, True, True]
        assert (await world.container("moody"))["restartCount"] == 0


async def test_a_container_whose_liveness_fails_is_killed_and_restarted() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("dying", Script(dies_seconds=60), Script(), container=LIVENESS)
        await world.clock.sleep(89)
        assert (await world.container("dying"))["restartCount"] == 0
        await world.clock.sleep(2)
        assert (await world.container("dying"))["restartCount"] == 1
        assert ("Killing", "Container app failed liveness probe, will be restarted") in await world.events("dying")


async def test_deletion_waits_for_the_container_and_not_longer_than_the_grace() -> None:
    async with virtual_nodes() as world:
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


async def test_a_pod_that_is_still_starting_can_be_deleted_at_once() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("slow", Script(start_seconds=3600))
        await world.clock.sleep(10)
        await world.client.delete(PODS, "slow", "default")
        await world.clock.sleep(1)
        with pytest.raises(ObjectNotFound):
            await world.pod("slow")


async def test_a_hook_before_the_stop_takes_its_time_out_of_the_grace() -> None:
    async with virtual_nodes() as world:

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


async def test_a_second_deletion_can_shorten_the_grace() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("deaf", Script(stop_seconds=1000), terminationGracePeriodSeconds=600)
        await world.clock.sleep(1)
        await world.client.delete(PODS, "deaf", "default")
        await world.clock.sleep(10)
        await world.client.delete(PODS, "deaf", "default", grace_seconds=5)
        await world.clock.sleep(6)
        with pytest.raises(ObjectNotFound):
            await world.pod("deaf")


async def test_a_pod_that_is_deleted_shows_its_end_before_it_is_gone() -> None:
    async with virtual_nodes() as world:
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


async def test_a_pod_that_is_deleted_while_its_status_is_written_ends() -> None:
    async with virtual_nodes(faults=[Rule(LagEvents(0.5))]) as world:
        await world.create_pod("p", Script(start_seconds=5, run_seconds=1000))
        await world.clock.sleep(3)
        world.transport.meanwhile = lambda: world.client.delete(PODS, "p", "default", grace_seconds=5)
        await world.clock.sleep(20)
        with pytest.raises(ObjectNotFound):
            await world.pod("p")


async def test_a_condition_of_somebody_else_survives_the_kubelet() -> None:
    async with virtual_nodes() as world:
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


async def test_logs_grow_with_the_script_and_can_be_tailed() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("talker", Script(logs=["one", "two", "three"], log_seconds=10))
        await world.clock.sleep(11)
        assert await world.client.logs("talker", "default") == "one\ntwo\n"
        await world.clock.sleep(10)
        assert await world.client.logs("talker", "default", tail_lines=2) == "two\nthree\n"
