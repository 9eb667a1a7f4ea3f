"""Logs and commands."""

from packages.drydock.tests.nodes.probes.probed import Facts, Probe, Probed, shell, statuses


async def logs(at: Probed) -> Facts:
    await at.pod("p", shell("echo one; sleep 0.3; echo two >&2; sleep 0.3; echo; echo three; printf end"))
    await at.until_over("p")
    return {
        "all": await at.log("p"),
        "tail": await at.log("p", tail_lines=2),
        "none": await at.log("p", tail_lines=0),
        "bytes": await at.log("p", limit_bytes=5),
        "previous": await at.log("p", previous=True),
        "unknown": await at.log("p", container="nobody"),
    }


async def logs_of_the_run_before(at: Probed) -> Facts:
    await at.pod("p", shell("echo $RANDOM > /dev/null; echo run; sleep 1; exit 1"), restartPolicy="OnFailure")
    await at.until("p", lambda pod: any(one["restartCount"] for one in statuses(pod)))
    # The kubelet removes older runs: one that it names may be gone before its log is read.
    return {"now": await at.until_log("p", "run"), "before": await at.until_log("p", "run", previous=True)}


async def logs_before_the_start(at: Probed) -> Facts:
    missing = {"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "x"}}}]}
    await at.pod("p", shell("true", **missing))
    await at.until("p", lambda pod: any("Error" in str(one["state"]) for one in statuses(pod)))
    return await at.log("p")


async def commands(at: Probed) -> Facts:
    env = [{"name": "COLOR", "value": "blue"}]
    await at.pod("p", shell("exec sleep 1000", env=env, workingDir="/tmp"), shell("exec sleep 1000", name="other"))
    await at.until_ready("p")
    return {
        "output": await at.execute("p", "sh", "-c", "echo $COLOR; pwd; echo oops >&2", container="c0"),
        "code": (await at.execute("p", "sh", "-c", "exit 9", container="c0"))[0],
        "missing": (await at.execute("p", "no-such-program", container="c0"))[0],
        "other": await at.execute("p", "sh", "-c", "echo $COLOR", container="other"),
        "nobody": (await at.execute("p", "true", container="nobody"))[0],
    }


PROBES: tuple[Probe, ...] = (logs, logs_of_the_run_before, logs_before_the_start, commands)
