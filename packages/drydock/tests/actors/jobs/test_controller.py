"""Jobs in a cluster: counted once, retried with patience, ended for the right reason, cleaned up."""

from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest

from drydock.actors.machinery.objects import condition_of, moment_of
from drydock.actors.machinery.pods import is_active
from hawser.resources import JOBS, PODS
from packages.drydock.tests.actors.cluster import Cluster, job, pod, script

Object = dict[str, Any]
TRACKING = "batch.kubernetes.io/job-tracking"


def never_more_than(cluster: Cluster, most: int) -> Callable[[], Coroutine[Any, Any, bool]]:
    """A check that never holds: it only watches how many pods are alive."""

    async def check() -> bool:
        assert sum(1 for one in await cluster.pods() if is_active(one)) <= most
        return False

    return check


async def test_a_job_runs_its_pods_and_completes(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await world.create(JOBS, job("j", completions=5, parallelism=2))
    done = await world.until_job("j")
    status = done["status"]
    assert (status["succeeded"], status.get("failed"), status.get("active")) == (5, None, None)
    assert [one["type"] for one in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert status["conditions"][1]["reason"] == "CompletionsReached"
    assert status["startTime"] <= status["completionTime"]
    assert status["uncountedTerminatedPods"] == {}
    pods = await world.pods()
    assert len(pods) == 5
    for one in pods:
        assert one["metadata"]["name"].startswith("j-") and len(one["metadata"]["name"]) == 7
        assert not one["metadata"].get("finalizers")
    assert len(await world.events_about("j", "SuccessfulCreate")) == 5
    await world.sleep(1)
    assert [event["message"] for event in await world.events_about("j", "Completed")] == ["Job completed"]


async def test_never_more_pods_live_than_parallelism_allows(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    await world.create(JOBS, job("j", completions=12, parallelism=3, annotations=script(runSeconds=4)))
    check = never_more_than(world, 3)
    for _ in range(60):
        await check()
        await world.sleep(0.5)
    assert (await world.get(JOBS, "j"))["status"]["succeeded"] == 12


async def test_a_running_pod_holds_the_tracking_finalizer_and_is_counted_ready(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(JOBS, job("j", annotations=script(runSeconds=60)))
    await world.sleep(5)
    [one] = await world.pods()
    assert one["metadata"]["finalizers"] == [TRACKING]
    status = (await world.get(JOBS, "j"))["status"]
    assert (status["active"], status["ready"], status["terminating"]) == (1, 1, 0)


async def test_failures_are_retried_with_growing_patience_until_the_limit(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(JOBS, job("j", backoffLimit=2, annotations=script(runSeconds=1, exitCode=3)))
    failed = await world.until_job("j", "Failed", within=200)
    assert failed["status"]["failed"] == 3
    assert [one["type"] for one in failed["status"]["conditions"]] == ["FailureTarget", "Failed"]
    condition = failed["status"]["conditions"][1]
    assert (condition["reason"], condition["message"]) == (
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    )
    started = sorted(one["metadata"]["creationTimestamp"] for one in await world.pods())
    gaps = [(moment_of(later) - moment_of(earlier)).total_seconds() for earlier, later in pairwise(started)]
    assert 11 <= gaps[0] <= 13 and 21 <= gaps[1] <= 23
    await world.sleep(1)
    [event] = await world.events_about("j", "BackoffLimitExceeded")
    assert event["type"] == "Warning"


async def test_a_container_that_keeps_restarting_exhausts_the_limit(world: Cluster) -> None:
    await world.add_nodes("a")
    body = job("j", backoffLimit=2, restart="OnFailure", annotations=script(runSeconds=1, exitCode=3))
    await world.create(JOBS, body)
    failed = await world.until_job("j", "Failed", within=300)
    assert failed["status"]["conditions"][-1]["reason"] == "BackoffLimitExceeded"
    assert len(await world.pods()) <= 1


async def test_a_job_past_its_deadline_fails_only_when_its_pods_have_ended(world: Cluster) -> None:
    await world.add_nodes("a")
    slow = script(runSeconds=500, stopSeconds=20)
    await world.create(JOBS, job("j", activeDeadlineSeconds=10, annotations=slow))
    await world.sleep(16)
    status = (await world.get(JOBS, "j"))["status"]
    assert [one["type"] for one in status["conditions"]] == ["FailureTarget"]
    assert status["terminating"] == 1
    failed = await world.until_job("j", "Failed", within=60)
    condition = failed["status"]["conditions"][-1]
    assert (condition["reason"], condition["message"]) == (
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    )
    assert failed["status"]["failed"] == 1


async def test_a_finished_job_is_deleted_with_its_pods_when_its_time_is_over(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(JOBS, job("j", ttlSecondsAfterFinished=30))
    await world.until_job("j")
    await world.sleep(25)
    assert await world.find(JOBS, "j") is not None
    await world.until_gone(JOBS, "j", within=20)
    assert await world.pods() == []


async def test_a_suspended_job_stops_and_resumes(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(JOBS, job("j", annotations=script(runSeconds=30)))
    await world.sleep(5)
    await world.patch(JOBS, "j", {"spec": {"suspend": True}})
    await world.sleep(5)
    suspended = await world.get(JOBS, "j")
    assert await world.pods() == []
    assert suspended["status"].get("active") is None and suspended["status"].get("failed") is None
    condition = condition_of(suspended, "Suspended")
    assert condition is not None and (condition["status"], condition["reason"]) == ("True", "JobSuspended")
    await world.patch(JOBS, "j", {"spec": {"suspend": False}})
    done = await world.until_job("j")
    assert done["status"]["succeeded"] == 1


async def test_an_indexed_job_finishes_every_index(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(JOBS, job("j", completions=4, parallelism=2, completionMode="Indexed"))
    done = await world.until_job("j")
    assert (done["status"]["completedIndexes"], done["status"]["succeeded"]) == ("0-3", 4)
    indexes = sorted(
        one["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for one in await world.pods()
    )
    assert indexes == ["0", "1", "2", "3"]
    one = (await world.pods())[0]
    assert one["spec"]["hostname"] == "-".join(one["metadata"]["name"].split("-")[:2])


async def test_a_matching_orphan_is_adopted_instead_of_a_new_pod(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(
        PODS, pod("orphan", labels={"run": "x"}, annotations=script(runSeconds=20), restartPolicy="Never")
    )
    body = job("j", manualSelector=True, selector={"matchLabels": {"run": "x"}})
    body["spec"]["template"]["metadata"]["labels"] = {"run": "x"}
    created = await world.create(JOBS, body)
    await world.sleep(5)
    [adopted] = await world.pods()
    assert adopted["metadata"]["ownerReferences"][0]["uid"] == created["metadata"]["uid"]
    assert adopted["metadata"]["finalizers"] == [TRACKING]
    done = await world.until_job("j")
    assert done["status"]["succeeded"] == 1 and len(await world.pods()) == 1


async def test_deleting_a_job_without_a_policy_leaves_its_pods_running_and_free(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(JOBS, job("j", annotations=script(runSeconds=500)))
    await world.sleep(5)
    await world.delete(JOBS, "j")
    await world.sleep(5)
    assert await world.find(JOBS, "j") is None
    [left] = await world.pods()
    assert not left["metadata"].get("ownerReferences") and not left["metadata"].get("finalizers")
    assert left["status"]["phase"] == "Running"


async def test_a_deleted_pod_is_replaced_and_counted_as_failed(world: Cluster) -> None:
    await world.add_nodes("a")
    await world.create(JOBS, job("j", annotations=script(runSeconds=30, stopCode=143)))
    await world.sleep(5)
    [first] = await world.pods()
    await world.delete(PODS, first["metadata"]["name"])
    await world.sleep(20)
    [second] = await world.pods()
    assert second["metadata"]["name"] != first["metadata"]["name"]
    done = await world.until_job("j")
    assert (done["status"]["succeeded"], done["status"]["failed"]) == (1, 1)


async def test_a_policy_fails_the_job_at_once_or_ignores_the_failure(world: Cluster) -> None:
    await world.add_nodes("a")
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
    body = job("strict", podFailurePolicy={"rules": rules}, annotations=script(runSeconds=1, exitCode=42))
    await world.create(JOBS, body)
    failed = await world.until_job("strict", "Failed")
    assert failed["status"]["conditions"][-1]["reason"] == "PodFailurePolicy"
    assert "failed with exit code 42 matching FailJob rule at index 0" in failed["status"]["conditions"][-1]["message"]
    assert len(await world.pods("job-name=strict")) == 1


@pytest.mark.slow
async def test_a_hundred_jobs_complete_with_few_writes_each(world: Cluster) -> None:
    await world.add_nodes("a", "b")
    for number in range(100):
        await world.create(JOBS, job(f"j{number}"))
    await world.sleep(30)
    jobs = await world.items(JOBS)
    assert all(one["status"].get("succeeded") == 1 for one in jobs)
    assert len(await world.pods()) == 100
    assert world.counts["PUT jobs"] <= 500
