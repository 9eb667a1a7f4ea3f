"""Pods as local processes: the same behaviour under the embedded API and under a real control plane."""

import asyncio
from typing import Any

from hawser.resources import LEASES, NODES, PODS
from packages.drydock.tests.actors.kubelet.node_worlds import (
    World,
    container_state,
    is_ready,
    phase,
    shell,
    waiting,
)


async def test_a_node_registers_with_its_names_and_is_ready(world: World) -> None:
    node = await world.client.get(NODES.raw(), world.node)
    lease = await world.client.get(LEASES.raw(), world.node, "kube-node-lease")
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == world.node
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    assert node["status"]["allocatable"]["pods"] == "110"
    ready = [entry for entry in node["status"]["conditions"] if entry["type"] == "Ready"]
    assert [(entry["status"], entry["reason"]) for entry in ready] == [("True", "KubeletReady")]
    assert lease["spec"]["holderIdentity"] == world.node
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


async def test_a_pod_runs_with_its_own_address_and_its_log_can_be_read(world: World) -> None:
    await world.create_pod("web", shell("echo I am $HOSTNAME at $POD_IP; echo oops >&2; exec sleep 60"))
    pod = await world.until("web", is_ready)
    address = pod["status"]["podIP"]
    assert address.startswith("127.")
    assert 64 <= int(address.split(".")[1]) < 128
    assert pod["status"]["podIPs"] == [{"ip": address}]
    assert pod["status"]["phase"] == "Running"
    assert pod["status"]["qosClass"] == "BestEffort"
    kinds = [entry["type"] for entry in pod["status"]["conditions"]]
    assert sorted(kinds) == ["ContainersReady", "Initialized", "PodReadyToStartContainers", "PodScheduled", "Ready"]
    log = await world.until_log("web", "oops")
    assert log.splitlines() == [f"I am web at {address}", "oops"]
    assert await world.log("web", tail_lines=1) == "oops\n"
    assert await world.log("web", limit_bytes=4) == "I am"


async def test_two_pods_have_two_addresses(world: World) -> None:
    for name in ("one", "two"):
        await world.create_pod(name, shell("exec sleep 60"))
    pods = [await world.until(name, is_ready) for name in ("one", "two")]
    assert len({pod["status"]["podIP"] for pod in pods}) == 2


async def test_a_command_that_ends_makes_its_pod_succeed_or_fail(world: World) -> None:
    await world.create_pod("good", shell("echo done"), restartPolicy="Never")
    await world.create_pod("bad", shell("exit 7"), restartPolicy="Never")
    good = await world.until("good", phase("Succeeded"))
    bad = await world.until("bad", phase("Failed"))
    assert container_state(good)["terminated"]["reason"] == "Completed"
    assert container_state(bad)["terminated"]["exitCode"] == 7
    assert container_state(bad)["terminated"]["reason"] == "Error"
    conditions = {entry["type"]: entry for entry in bad["status"]["conditions"]}
    assert conditions["Ready"]["reason"] == "PodFailed"
    assert await world.log("good") == "done\n"


async def test_a_container_that_crashes_is_restarted_at_once_and_then_held_back(world: World) -> None:
    await world.create_pod("crash", shell("echo attempt; exit 3"))
    pod = await world.until("crash", waiting("CrashLoopBackOff"))
    status = pod["status"]["containerStatuses"][0]
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["exitCode"] == 3
    uid = pod["metadata"]["uid"]
    place = f"crash_{world.namespace}({uid})"
    assert status["state"]["waiting"]["message"] == f"back-off 10s restarting failed container=app pod={place}"
    assert pod["status"]["phase"] == "Running"
    assert await world.log("crash", previous=True) == "attempt\n"


async def test_on_failure_restarts_what_failed_and_not_what_succeeded(world: World) -> None:
    script = "if [ -e /work/seen ]; then exit 0; fi; touch /work/seen; exit 1"
    mounts = [{"name": "work", "mountPath": "/work"}]
    volumes = [{"name": "work", "emptyDir": {}}]
    await world.create_pod("retry", shell(script, volumeMounts=mounts), restartPolicy="OnFailure", volumes=volumes)
    pod = await world.until("retry", phase("Succeeded"))
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1


async def test_deletion_asks_first_and_the_pod_is_gone_when_its_processes_are(world: World) -> None:
    script = "trap 'sleep 0.3; exit 0' TERM; echo armed; while true; do sleep 0.05; done"
    await world.create_pod("polite", shell(script), terminationGracePeriodSeconds=20)
    await world.until("polite", is_ready)
    await world.until_log("polite", "armed")
    await world.client.delete(PODS, "polite", world.namespace)
    assert (await world.pod("polite"))["metadata"]["deletionTimestamp"]
    started = asyncio.get_running_loop().time()
    await world.until_gone("polite")
    assert 0.2 < asyncio.get_running_loop().time() - started < 5
    await world.until_event("polite", "Killing", "Stopping container app")


async def test_who_does_not_listen_is_killed_after_the_grace(world: World) -> None:
    await world.create_pod("deaf", shell("trap '' TERM; echo armed; while true; do sleep 0.05; done"))
    await world.until("deaf", is_ready)
    await world.until_log("deaf", "armed")
    await world.client.delete(PODS, "deaf", world.namespace, grace_seconds=2)
    started = asyncio.get_running_loop().time()
    await world.until_gone("deaf")
    assert asyncio.get_running_loop().time() - started > 1.5


async def test_init_containers_run_one_after_another_before_the_others(world: World) -> None:
    mounts = [{"name": "shared", "mountPath": "/shared"}]

    def step(name: str, script: str) -> dict[str, Any]:
        return {"name": name, "image": "busybox", **shell(script, volumeMounts=mounts)}

    await world.create_pod(
        "staged",
        shell("cat /shared/steps", volumeMounts=mounts),
        initContainers=[
            step("first", "sleep 0.2; echo first >> /shared/steps"),
            step("second", "echo second >> /shared/steps"),
        ],
        volumes=[{"name": "shared", "emptyDir": {}}],
        restartPolicy="Never",
    )
    pod = await world.until("staged", phase("Succeeded"))
    assert await world.log("staged", container="app") == "first\nsecond\n"
    assert [entry["ready"] for entry in pod["status"]["initContainerStatuses"]] == [True, True]


async def test_an_init_container_that_fails_for_good_fails_the_pod(world: World) -> None:
    init = {"name": "first", "image": "busybox", "command": ["false"]}
    await world.create_pod("broken", shell("echo never"), initContainers=[init], restartPolicy="Never")
    pod = await world.until("broken", phase("Failed"))
    assert "waiting" in container_state(pod)


async def test_a_sidecar_runs_beside_the_others_and_ends_after_them(world: World) -> None:
    sidecar = {"name": "side", "image": "busybox", "restartPolicy": "Always", **shell("exec sleep 60")}
    await world.create_pod("helped", shell("sleep 0.3"), initContainers=[sidecar], restartPolicy="Never")
    pod = await world.until("helped", phase("Succeeded"))
    assert "terminated" in pod["status"]["initContainerStatuses"][0]["state"]


async def test_an_image_that_cannot_be_pulled_is_told_as_such(world: World) -> None:
    await world.create_pod("unpullable", {"image": "example.invalid/app:1", "command": ["true"]})
    pod = await world.until("unpullable", waiting("ImagePullBackOff"))
    assert 'Back-off pulling image "example.invalid/app:1"' in container_state(pod)["waiting"]["message"]
    await world.until_event("unpullable", "Failed", "Error: ErrImagePull")


async def test_a_program_that_is_not_there_is_a_start_error(world: World) -> None:
    await world.create_pod("nothing", {"command": ["no-such-program"]}, restartPolicy="Never")
    pod = await world.until("nothing", phase("Failed"))
    ended = container_state(pod)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert 'exec: "no-such-program": executable file not found in $PATH' in ended["message"]


async def test_a_pod_past_its_deadline_fails(world: World) -> None:
    await world.create_pod("late", shell("exec sleep 60"), activeDeadlineSeconds=1, restartPolicy="Never")
    pod = await world.until("late", phase("Failed"))
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert pod["status"]["message"] == "Pod was active on the node longer than the specified deadline"


async def test_readiness_follows_its_probe(world: World) -> None:
    server = "sleep 1; exec python -m http.server 8000 --bind $POD_IP"
    probe = {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1}
    ports = [{"name": "http", "containerPort": 8000}]
    await world.create_pod("slow", shell(server, ports=ports, readinessProbe=probe))
    pod = await world.until("slow", phase("Running"))
    assert not is_ready(pod)
    conditions = {entry["type"]: entry for entry in pod["status"]["conditions"]}
    assert conditions["Ready"]["message"] == "containers with unready status: [app]"
    pod = await world.until("slow", is_ready)
    url = f"http://{pod['status']['podIP']}:8000/"
    refused = f'Get "{url}": dial tcp {pod["status"]["podIP"]}:8000: connect: connection refused'
    await world.until_event("slow", "Unhealthy", f"Readiness probe failed: {refused}")


async def test_who_fails_its_liveness_probe_is_restarted(world: World) -> None:
    probe = {"exec": {"command": ["test", "-e", "/work/alive"]}, "periodSeconds": 1, "failureThreshold": 1}
    mounts = [{"name": "work", "mountPath": "/work"}]
    script = "touch /work/alive; sleep 1; rm /work/alive; exec sleep 60"
    volumes = [{"name": "work", "emptyDir": {}}]
    await world.create_pod(
        "sick",
        shell(script, volumeMounts=mounts, livenessProbe={**probe, "initialDelaySeconds": 1}),
        volumes=volumes,
    )
    await world.until("sick", lambda pod: restarts(pod) >= 1)
    await world.until_event("sick", "Killing", "Container app failed liveness probe, will be restarted")


def restarts(pod: dict[str, Any]) -> int:
    statuses = pod.get("status", {}).get("containerStatuses") or [{"restartCount": 0}]
    return int(statuses[0]["restartCount"])


async def test_a_pod_recreated_under_its_name_is_another_pod(world: World) -> None:
    await world.create_pod("twin", shell("echo one; exec sleep 60"))
    first = await world.until("twin", is_ready)
    await world.client.delete(PODS, "twin", world.namespace, grace_seconds=0)
    await world.create_pod("twin", shell("echo two; exec sleep 60"))
    second = await world.until("twin", is_ready)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert await world.until_log("twin", "two") == "two\n"
