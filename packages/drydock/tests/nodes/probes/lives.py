"""How pods start, become ready and are restarted."""

from datetime import datetime
from typing import Any

from packages.drydock.tests.nodes.probes.probed import (
    Facts,
    Probe,
    Probed,
    condition,
    conditions,
    phase,
    shell,
    state,
    states,
    statuses,
)

SHARED = {"volumes": [{"name": "shared", "emptyDir": {}}]}
OBEDIENT = "trap 'exit 6' TERM; while true; do sleep 0.1; done"
MOUNT = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}


async def containers_start_in_order(at: Probed) -> Facts:
    inits = [
        shell("echo first >> /shared/order; sleep 1", **MOUNT),
        shell("echo sidecar >> /shared/order; exec sleep 1000", restartPolicy="Always", **MOUNT),
        shell("echo second >> /shared/order", **MOUNT),
    ]
    await at.pod("p", shell("echo main >> /shared/order; cat /shared/order", **MOUNT), initContainers=inits, **SHARED)
    over = await at.until_over("p")
    return {
        "log": await at.log("p"),
        "phase": phase(over),
        "conditions": conditions(over),
        "main": states(over),
        "inits": [one["name"] for one in statuses(over, "initContainerStatuses")],
        "first": state(statuses(over, "initContainerStatuses")[0]),
    }


async def an_init_container_fails(at: Probed) -> Facts:
    await at.pod("p", shell("echo never"), initContainers=[shell("exit 3")])
    over = await at.until_over("p")
    return {
        "phase": phase(over),
        "reason": over["status"].get("reason"),
        "conditions": conditions(over),
        "main": states(over),
        "init": states(over, "initContainerStatuses"),
        "log": await at.log("p"),
    }


async def a_running_pod_looks_like_this(at: Probed) -> Facts:
    limits = {"cpu": "100m", "memory": "64Mi"}
    await at.pod("p", shell("exec sleep 1000", resources={"limits": limits}), restartPolicy="Always")
    pod = await at.until_ready("p")
    return {
        "conditions": conditions(pod),
        "states": states(pod),
        "qos": pod["status"].get("qosClass"),
        "addresses": [len(pod["status"].get(name, ())) for name in ("podIPs", "hostIPs")],
        "events": await at.events("p", "Pulled", "Created", "Started"),
    }


async def what_the_status_repeats(at: Probed) -> Facts:
    await at.pod("p", shell("exec sleep 1000", resources={"limits": {"cpu": "100m"}}))
    pod = await at.until_ready("p")
    return sorted(pod["status"]), sorted(statuses(pod)[0])


async def a_readiness_probe_decides(at: Probed) -> Facts:
    probe = {"exec": {"command": ["cat", "/shared/ready"]}, "periodSeconds": 1}
    await at.pod("p", shell("sleep 4; touch /shared/ready; exec sleep 1000", readinessProbe=probe, **MOUNT), **SHARED)
    unready = await at.until("p", lambda pod: phase(pod) == "Running")
    ready = await at.until_ready("p")
    await at.execute("p", "rm", "/shared/ready")
    again = await at.until("p", lambda pod: condition(pod, "Ready") == "False")
    return {
        "unready": (conditions(unready), states(unready)),
        "ready": (conditions(ready), states(ready)),
        "again": (conditions(again), states(again)),
    }


async def a_liveness_probe_restarts(at: Probed) -> Facts:
    probe = {"exec": {"command": ["test", "!", "-e", "/shared/dead"]}, "periodSeconds": 1, "failureThreshold": 2}
    script = "trap 'exit 5' TERM; echo alive; sleep 2; touch /shared/dead; while true; do sleep 0.1; done"
    container = shell(f"rm -f /shared/dead; {script}", livenessProbe=probe, **MOUNT)
    await at.pod("p", container, restartPolicy="Always", **SHARED)
    pod = await at.until("p", lambda pod: any(one["restartCount"] for one in statuses(pod)))
    return {
        "last": state(statuses(pod)[0], "lastState"),
        "events": await at.events("p", "Killing"),
    }


async def a_startup_probe_holds_the_others_back(at: Probed) -> Facts:
    container = shell(
        "sleep 3; touch /shared/up; exec sleep 1000",
        startupProbe={"exec": {"command": ["cat", "/shared/up"]}, "periodSeconds": 1, "failureThreshold": 30},
        readinessProbe={"exec": {"command": ["true"]}, "periodSeconds": 1},
        livenessProbe={"exec": {"command": ["cat", "/shared/up"]}, "periodSeconds": 1, "failureThreshold": 1},
        **MOUNT,
    )
    await at.pod("p", container, **SHARED)
    starting = await at.until("p", lambda pod: phase(pod) == "Running")
    ready = await at.until_ready("p")
    return {"starting": states(starting), "ready": states(ready)}


async def a_startup_probe_fails(at: Probed) -> Facts:
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 2}
    await at.pod("p", shell(OBEDIENT, startupProbe=probe), restartPolicy="OnFailure")
    pod = await at.until("p", lambda pod: any(one["restartCount"] for one in statuses(pod)))
    return {"last": state(statuses(pod)[0], "lastState"), "events": await at.events("p", "Killing")}


async def probes_ask_by_http_and_tcp(at: Probed) -> Facts:
    """A server that has its page later; beside it one that listens nowhere."""
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    serve = "cd /shared; (sleep 3; echo ok > ready) & exec busybox httpd -f -p $POD_IP:8080"
    web = shell(
        serve,
        env=[address],
        ports=[{"name": "web", "containerPort": 8080}],
        startupProbe={"tcpSocket": {"port": "web"}, "periodSeconds": 1, "failureThreshold": 30},
        readinessProbe={"httpGet": {"path": "/ready", "port": "web"}, "periodSeconds": 1, "timeoutSeconds": 20},
        **MOUNT,
    )
    deaf = shell(OBEDIENT, livenessProbe={"tcpSocket": {"port": 8081}, "periodSeconds": 1, "failureThreshold": 2})
    await at.pod("web", web, **SHARED)
    await at.pod("deaf", deaf, restartPolicy="OnFailure")
    started = await at.until("web", lambda pod: any(one.get("started") for one in statuses(pod)))
    ready = await at.until_ready("web")
    again = await at.until("deaf", lambda pod: any(one["restartCount"] for one in statuses(pod)))
    return {
        "started": states(started),
        "ready": states(ready),
        "unready": [event for event in await at.events("web", "Unhealthy") if "Readiness" in event[2]],
        "deaf": state(statuses(again)[0], "lastState"),
        "refused": await at.events("deaf", "Unhealthy", "Killing"),
    }


def _last_run(pod: dict[str, Any]) -> dict[str, Any]:
    ended: dict[str, Any] = statuses(pod)[0]["lastState"]["terminated"]
    return ended


async def _held_back_twice(at: Probed) -> dict[int, dict[str, Any]]:
    """The pod `p` in its first two back-offs; none for one that was over before a busy machine reported it."""
    await at.pod("p", shell("echo attempt; exit 2"), restartPolicy="Always")
    held: dict[int, dict[str, Any]] = {}  # by the number of restarts

    def known(pod: dict[str, Any]) -> bool:
        restarts = [one["restartCount"] for one in statuses(pod)]
        for one in statuses(pod):
            if one["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff":
                held.setdefault(one["restartCount"], pod)
        return {1, 2} <= held.keys() or max(restarts, default=0) > 2

    await at.until("p", known)
    return held


async def a_crashing_container_is_held_back(at: Probed) -> Facts:
    while not {1, 2} <= (held := await _held_back_twice(at)).keys():
        await at.delete("p", grace_seconds=0)
        await at.until_gone("p")
    first, second = held[1], held[2]
    waited = datetime.fromisoformat(_last_run(second)["startedAt"]) - datetime.fromisoformat(
        _last_run(first)["finishedAt"]
    )
    return {
        "phase": phase(first),
        "first": at.plain(str(state(statuses(first)[0]))),
        "second": at.plain(str(state(statuses(second)[0]))),
        "last": state(statuses(first)[0], "lastState"),
        "waited ten seconds": waited.total_seconds() >= 9,  # both times are whole seconds
        "conditions": conditions(first),
        "events": await at.events("p", "BackOff"),
    }


async def a_hook_runs_after_the_start(at: Probed) -> Facts:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "sleep 2; echo hooked > /shared/hook"]}}}
    await at.pod("p", shell("sleep 1; ls /shared; exec sleep 1000", lifecycle=hook, **MOUNT), **SHARED)
    pod = await at.until_ready("p")
    return {"states": states(pod), "read": await at.execute("p", "cat", "/shared/hook"), "log": await at.log("p")}


async def a_hook_fails(at: Probed) -> Facts:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo bad luck; exit 4"]}}}
    await at.pod("p", shell("trap 'exit 0' TERM; while true; do sleep 0.1; done", lifecycle=hook))
    over = await at.until_over("p")
    return {
        "phase": phase(over),
        "states": states(over),
        "events": await at.events("p", "FailedPostStartHook", "Killing"),
    }


PROBES: tuple[Probe, ...] = (
    containers_start_in_order,
    an_init_container_fails,
    a_running_pod_looks_like_this,
    what_the_status_repeats,
    a_readiness_probe_decides,
    a_liveness_probe_restarts,
    a_startup_probe_holds_the_others_back,
    a_startup_probe_fails,
    probes_ask_by_http_and_tcp,
    a_crashing_container_is_held_back,
    a_hook_runs_after_the_start,
    a_hook_fails,
)
