"""How containers end: codes, signals, grace, deadlines, eviction, and what they leave to read."""

from packages.drydock.tests.nodes.probes.probed import (
    KEEPS,
    Facts,
    Probe,
    Probed,
    conditions,
    phase,
    shell,
    states,
    statuses,
)

FINALIZED = {"finalizers": [KEEPS]}


async def exit_codes(at: Probed) -> Facts:
    killed = """sh -c 'sh -c "kill -9 \\$PPID"; true'"""  # the inner shell kills the one between it and the first
    scripts = {"zero": "exit 0", "seven": "exit 7", "child": f"{killed}; exit $?", "high": "exit 255"}
    found = {}
    for name, script in scripts.items():
        await at.pod(name, shell(script))
    for name in scripts:
        over = await at.until_torn_down(name)
        found[name] = (phase(over), states(over), conditions(over))
    return found


async def one_of_two_fails(at: Probed) -> Facts:
    await at.pod("p", shell("exit 0"), shell("sleep 2; exit 1"))
    over = await at.until_over("p")
    return {"phase": phase(over), "states": states(over)}


async def a_program_that_is_not_there(at: Probed) -> Facts:
    await at.pod("p", {"command": ["no-such-program"]})
    over = await at.until_over("p")
    [container] = statuses(over)
    ended = container["state"]["terminated"]
    return {
        "phase": phase(over),
        "code": ended["exitCode"],
        "reason": ended["reason"],
        "said": 'exec: "no-such-program": executable file not found in $PATH' in ended["message"],
        "log": await at.log("p"),
    }


async def a_pod_that_obeys(at: Probed) -> Facts:
    script = "trap 'echo bye; exit 4' TERM; echo up; while true; do sleep 0.1; done"
    await at.pod("p", shell(script), metadata=FINALIZED)
    await at.until_log("p", "up")
    await at.delete("p")
    ended = await at.until("p", lambda pod: any("terminated" in one["state"] for one in statuses(pod)))
    facts = {
        "phase": phase(ended),
        "states": states(ended),
        "conditions": conditions(ended),
        "events": await at.events("p", "Killing"),
    }
    await at.release("p")
    await at.until_gone("p")
    return facts


async def a_pod_that_does_not_obey(at: Probed) -> Facts:
    script = "trap '' TERM; echo up; while true; do sleep 0.1; done"
    await at.pod("p", shell(script), metadata=FINALIZED)
    await at.until_log("p", "up")
    moment = at.clock.monotonic()
    await at.delete("p", grace_seconds=4)
    ended = await at.until("p", lambda pod: any("terminated" in one["state"] for one in statuses(pod)))
    waited = at.clock.monotonic() - moment
    await at.release("p")
    return {"phase": phase(ended), "states": states(ended), "waited its grace": 3.5 < waited < 10}


async def a_program_without_a_handler(at: Probed) -> Facts:
    await at.pod("p", {"command": ["sleep", "1000"]}, metadata=FINALIZED)
    await at.until_ready("p")
    await at.delete("p", grace_seconds=2)
    ended = await at.until("p", lambda pod: any("terminated" in one["state"] for one in statuses(pod)))
    await at.release("p")
    return states(ended)


async def a_hook_runs_before_the_end(at: Probed) -> Facts:
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hooked > /shared/hook"]}}}
    script = "trap 'cat /shared/hook > /dev/termination-log; exit 0' TERM; echo up; while true; do sleep 0.1; done"
    container = shell(script, lifecycle=hook, **mount)
    await at.pod("p", container, volumes=[{"name": "shared", "emptyDir": {}}], metadata=FINALIZED)
    await at.until_log("p", "up")
    await at.delete("p")
    ended = await at.until("p", lambda pod: any("terminated" in one["state"] for one in statuses(pod)))
    await at.release("p")
    return states(ended)


async def a_pod_passes_its_deadline(at: Probed) -> Facts:
    await at.pod("p", shell("exec sleep 1000"), activeDeadlineSeconds=3, terminationGracePeriodSeconds=1)
    over = await at.until_over("p")
    return {
        "phase": phase(over),
        "reason": over["status"].get("reason"),
        "message": over["status"].get("message"),
        "events": await at.events("p", "DeadlineExceeded"),
    }


async def last_words(at: Probed) -> Facts:
    log, fallback = {"terminationMessagePath": "/dev/last"}, {"terminationMessagePolicy": "FallbackToLogsOnError"}
    await at.pod("file", shell("printf 'all is lost' > /dev/termination-log; exit 1"))
    await at.pod("elsewhere", shell("printf here > /dev/last", **log))
    await at.pod("logs", shell("echo one; echo two; exit 1", **fallback))
    await at.pod("fine", shell("echo one; exit 0", **fallback))
    await at.pod("long", shell("yes x | head -c 9000 > /dev/termination-log"))
    found = {}
    for name in ("file", "elsewhere", "logs", "fine", "long"):
        [container] = statuses(await at.until_over(name))
        message = container["state"]["terminated"].get("message", "")
        found[name] = message if len(message) < 100 else len(message)
    return found


async def a_pod_is_evicted(at: Probed) -> Facts:
    await at.pod("p", shell("trap 'exit 0' TERM; echo up; while true; do sleep 0.1; done"), metadata=FINALIZED)
    await at.until_log("p", "up")
    await at.client.evict("p", at.namespace)
    ended = await at.until("p", lambda pod: any("terminated" in one["state"] for one in statuses(pod)))
    await at.release("p")
    return {"phase": phase(ended), "states": states(ended), "conditions": conditions(ended)}


PROBES: tuple[Probe, ...] = (
    exit_codes,
    one_of_two_fails,
    a_program_that_is_not_there,
    a_pod_that_obeys,
    a_pod_that_does_not_obey,
    a_program_without_a_handler,
    a_hook_runs_before_the_end,
    a_pod_passes_its_deadline,
    last_words,
    a_pod_is_evicted,
)
