"""Jobs: how they complete, fail, wait and count."""

import re

from hawser.resources import JOBS, PODS
from packages.drydock.tests.actors.cluster import job, script
from packages.drydock.tests.actors.probes.probed import Facts, Probe, Probed, conditions, plain


async def a_job_completes(at: Probed) -> Facts:
    await at.create(JOBS, job("j", completions=2, parallelism=1))
    done = await at.until_condition(JOBS, "j", "Complete")
    pods = await at.items(PODS, "job-name=j")
    return {
        "status": plain(done["status"]),
        "pods": [(one["status"]["phase"], one["metadata"].get("finalizers")) for one in pods],
        "owner": plain(
            {key: value for key, value in pods[0]["metadata"]["ownerReferences"][0].items() if key != "uid"}
        ),
        "name": plain(pods[0]["metadata"]["generateName"]),
        "events": await at.events("j"),
    }


async def a_job_fails(at: Probed) -> Facts:
    await at.create(JOBS, job("j", backoffLimit=0, annotations=script(runSeconds=1, exitCode=3)))
    failed = await at.until_condition(JOBS, "j", "Failed")
    return {"status": plain(failed["status"]), "events": await at.events("j")}


async def a_job_passes_its_deadline(at: Probed) -> Facts:
    await at.create(JOBS, job("j", activeDeadlineSeconds=3, annotations=script(runSeconds=99, stopCode=143)))
    failed = await at.until_condition(JOBS, "j", "Failed")
    return {"status": plain(failed["status"]), "events": await at.events("j")}


async def a_job_is_suspended_and_resumed(at: Probed) -> Facts:
    await at.create(JOBS, job("j", annotations=script(runSeconds=4, stopCode=143)))
    await at.clock.sleep(2.5)
    await at.patch(JOBS, "j", {"spec": {"suspend": True}})
    suspended = await at.until_condition(JOBS, "j", "Suspended")
    await at.patch(JOBS, "j", {"spec": {"suspend": False}})
    done = await at.until_condition(JOBS, "j", "Complete")
    return {
        "suspended": conditions(suspended),
        "startTime": "startTime" in suspended["status"],
        "status": plain(done["status"]),
    }


async def an_indexed_job_completes(at: Probed) -> Facts:
    await at.create(JOBS, job("j", completions=3, parallelism=3, completionMode="Indexed"))
    done = await at.until_condition(JOBS, "j", "Complete")
    pods = sorted(await at.items(PODS, "job-name=j"), key=lambda one: str(one["metadata"]["name"]))
    return {
        "status": plain(done["status"]),
        "annotations": [one["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for one in pods],
        "labels": [one["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for one in pods],
        "hostnames": [one["spec"]["hostname"] for one in pods],
        "env": [one["spec"]["containers"][0]["env"] for one in pods],
        "names": [one["metadata"]["generateName"] for one in pods],
    }


async def a_policy_fails_a_job(at: Probed) -> Facts:
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
    body = job("strict", podFailurePolicy={"rules": rules}, annotations=script(runSeconds=1, exitCode=42))
    await at.create(JOBS, body)
    failed = await at.until_condition(JOBS, "strict", "Failed")
    message = re.sub(r"pod \S+/", "pod <namespace>/", str(conditions(failed)))
    return {"conditions": message, "failed": failed["status"]["failed"]}


PROBES: tuple[Probe, ...] = (
    a_job_completes,
    a_job_fails,
    a_job_passes_its_deadline,
    a_job_is_suspended_and_resumed,
    an_indexed_job_completes,
    a_policy_fails_a_job,
)
