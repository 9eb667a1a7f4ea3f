"""What becomes of a Job."""

from typing import Any

from hawser.resources import JOBS
from packages.drydock.tests.conformance.world import Body, HostedCluster, Probe


def _template(*runs: dict[str, Any], policy: str = "Never") -> Body:
    import json

    annotations = {"drydock.dev/script": json.dumps({"runs": list(runs) or [{"runSeconds": 0.2}]})}
    container = {"name": "main", "image": "app", "command": ["run"]}
    spec = {"restartPolicy": policy, "containers": [container], "terminationGracePeriodSeconds": 0}
    return {"metadata": {"annotations": annotations}, "spec": spec}


def _conditions(job: Body) -> dict[str, Body]:
    return {c["type"]: c for c in job.get("status", {}).get("conditions", ()) if c["status"] == "True"}


async def _ended(p: Probe, name: str = "j", seconds: float = 40.0) -> Body:
    async def over() -> bool:
        return bool(_conditions(await p.get(JOBS, name)).keys() & {"Complete", "Failed"})

    await p.until(over, seconds)
    return await p.get(JOBS, name)


def test_a_job_completes_with_its_pod(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(JOBS, "j", spec={"template": _template()})
        job = await _ended(p)
        assert set(_conditions(job)) == {"SuccessCriteriaMet", "Complete"}
        assert job["status"]["succeeded"] == 1 and "completionTime" in job["status"]
        assert "active" not in job["status"] and job["status"].get("ready", 0) == 0

    cluster.run(probe)


def test_a_job_makes_as_many_pods_as_it_needs(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(JOBS, "j", spec={"template": _template(), "completions": 4, "parallelism": 2})
        job = await _ended(p)
        assert job["status"]["succeeded"] == 4
        assert len(await p.pods("job-name=j")) == 4

    cluster.run(probe)


def test_a_job_gives_up_beyond_its_limit_and_says_so(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        template = _template({"runSeconds": 0.1, "exitCode": 3})
        await p.make(JOBS, "j", spec={"template": template, "backoffLimit": 0})
        job = await _ended(p)
        failed = _conditions(job)["Failed"]
        assert failed["reason"] == "BackoffLimitExceeded"
        assert failed["message"] == "Job has reached the specified backoff limit"
        assert job["status"]["failed"] == 1

    cluster.run(probe)


def test_a_job_ends_at_its_deadline(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(JOBS, "j", spec={"template": _template({}), "activeDeadlineSeconds": 1})
        failed = _conditions(await _ended(p))["Failed"]
        assert failed["reason"] == "DeadlineExceeded"
        assert failed["message"] == "Job was active longer than specified deadline"

    cluster.run(probe)


def test_a_container_is_restarted_in_place_on_failure(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        template = _template({"runSeconds": 0.1, "exitCode": 1}, {"runSeconds": 0.1}, policy="OnFailure")
        await p.make(JOBS, "j", spec={"template": template})
        job = await _ended(p)
        assert "Complete" in _conditions(job)
        pods = await p.pods("job-name=j")
        assert len(pods) == 1
        assert pods[0]["status"]["containerStatuses"][0]["restartCount"] == 1

    cluster.run(probe)


def test_a_finished_job_is_removed_after_its_time(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(JOBS, "j", spec={"template": _template(), "ttlSecondsAfterFinished": 1})
        await p.until_gone(JOBS, "j")

    cluster.run(probe)


def test_a_suspended_job_makes_no_pods_until_it_is_resumed(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        await p.make(JOBS, "j", spec={"template": _template(), "suspend": True})
        await p.clock.sleep(1)
        assert await p.pods("job-name=j") == []
        await p.client.merge_patch(JOBS, "j", {"spec": {"suspend": False}}, p.namespace)
        assert "Complete" in _conditions(await _ended(p))

    cluster.run(probe)


def test_a_jobs_pods_carry_its_labels_and_its_owner(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        job = await p.make(JOBS, "j", spec={"template": _template({})})

        async def has_pod() -> bool:
            return bool(await p.pods("batch.kubernetes.io/job-name=j"))

        await p.until(has_pod)
        meta = (await p.pods("job-name=j"))[0]["metadata"]
        assert meta["labels"]["batch.kubernetes.io/controller-uid"] == job["metadata"]["uid"]
        assert meta["labels"]["controller-uid"] == job["metadata"]["uid"]
        owner = meta["ownerReferences"][0]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", job["metadata"]["uid"], True)

    cluster.run(probe)


def test_a_jobs_defaults_are_filled_in(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        spec = (await p.make(JOBS, "j", spec={"template": _template(), "suspend": True}))["spec"]
        assert {key: spec[key] for key in ("backoffLimit", "completions", "parallelism", "completionMode")} == {
            "backoffLimit": 6,
            "completions": 1,
            "parallelism": 1,
            "completionMode": "NonIndexed",
        }

    cluster.run(probe)


def test_a_job_that_restarts_always_is_refused(cluster: HostedCluster) -> None:
    async def probe(p: Probe) -> None:
        error = await p.refusal(p.make(JOBS, "j", spec={"template": _template(policy="Always")}))
        assert error.status.code == 422
        assert [cause.field for cause in error.causes] == ["spec.template.spec.restartPolicy"]

    cluster.run(probe)
