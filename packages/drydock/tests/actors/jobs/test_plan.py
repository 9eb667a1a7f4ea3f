"""What a Job decides to do, as tables."""

from datetime import timedelta
from typing import Any

import pytest

from drydock.actors.jobs.backoff import Backoff
from drydock.actors.jobs.indexes import format_indexes, parse_indexes
from drydock.actors.jobs.plan import TRACKING, JobPlan, plan_job, take_census
from drydock.actors.jobs.tracking import (
    announce,
    close_status,
    count_released,
    note_finished,
    open_status,
    with_suspension,
)
from packages.drydock.tests.actors.shapes import NOW, a_pod, ago, ended, names, restarted

Object = dict[str, Any]
INDEX = "batch.kubernetes.io/job-completion-index"


def a_job(status: Object | None = None, restart: str = "Never", terminating: bool = False, **spec: Any) -> Object:
    metadata = {"name": "j", "namespace": "default", "uid": "job", "creationTimestamp": ago(100)}
    if terminating:
        metadata["deletionTimestamp"] = ago(0)
    template = {"spec": {"restartPolicy": restart}}
    defaults = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed"}
    body = {**defaults, **spec, "template": template}
    if body["completions"] is None:
        del body["completions"]
    return {"metadata": metadata, "spec": body, "status": {"startTime": ago(60), **(status or {})}}


def tracked(name: str, *args: Any, index: int | None = None, **kwargs: Any) -> Object:
    annotations = {} if index is None else {INDEX: str(index)}
    return a_pod(name, *args, finalizers=[TRACKING], annotations=annotations, **kwargs)


def plan(job: Object, *pods: Object, backoff: Backoff = Backoff()) -> JobPlan:
    return plan_job(job, pods, take_census(job, pods, backoff), NOW)


def failed(name: str, since: float = 1000.0, **kwargs: Any) -> Object:
    return ended(tracked(name, "Failed", **kwargs), since)


@pytest.mark.parametrize(
    ("job", "pods", "created"),
    [
        (a_job(), [], 1),
        (a_job(), [tracked("p")], 0),
        (a_job(parallelism=3, completions=5), [], 3),
        (a_job(parallelism=3, completions=5), [tracked("p"), tracked("q")], 1),
        (a_job(parallelism=3, completions=5, status={"succeeded": 4}), [], 1),
        (a_job(parallelism=3, completions=5), [tracked("p", "Succeeded"), tracked("q", "Succeeded")], 3),
        (a_job(parallelism=2, completions=None), [], 2),
        (a_job(parallelism=2, completions=None), [tracked("p", "Succeeded"), tracked("q")], 0),
        (a_job(parallelism=0), [], 0),
        (a_job(parallelism=2, completions=2), [failed("p"), tracked("q")], 1),
        (a_job(suspend=True), [], 0),
        (a_job(terminating=True), [], 0),
        (a_job(parallelism=1000, completions=1000), [], 500),
    ],
)
def test_as_many_pods_are_created_as_are_missing(job: Object, pods: list[Object], created: int) -> None:
    assert len(plan(job, *pods).create) == created


def test_a_terminating_pod_is_replaced_at_once_unless_the_job_waits_for_its_end() -> None:
    leaving = tracked("p", terminating=True)
    assert len(plan(a_job(), leaving).create) == 1
    assert len(plan(a_job(podReplacementPolicy="TerminatingOrFailed"), leaving).create) == 1
    waiting = plan(a_job(podReplacementPolicy="Failed"), leaving)
    assert (waiting.create, waiting.wake_in) == ((), None)


@pytest.mark.parametrize(
    ("failures", "delay"), [(1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 320), (7, 600), (30, 600)]
)
def test_the_back_off_doubles_from_ten_seconds_to_ten_minutes(failures: int, delay: float) -> None:
    assert Backoff(failures, NOW).remaining(NOW) == delay
    assert Backoff(failures, NOW - timedelta(seconds=delay)).remaining(NOW) == 0


def test_a_success_forgets_earlier_failures() -> None:
    record = Backoff(3, NOW).after([ended(a_pod("p", "Succeeded"), 10)], [ended(a_pod("q", "Failed"), 20)])
    assert record == Backoff()
    record = Backoff(3, NOW).after([ended(a_pod("p", "Succeeded"), 20)], [ended(a_pod("q", "Failed"), 10)])
    assert record == Backoff(1, NOW - timedelta(seconds=10))


def test_a_failed_pod_is_replaced_after_the_back_off() -> None:
    assert plan(a_job(), failed("p", since=4)).wake_in == 6.0
    assert plan(a_job(), failed("p", since=4)).create == ()
    assert plan(a_job(), failed("p", since=11)).create == (None,)


def test_a_pod_in_the_back_off_does_not_stop_the_others_from_being_counted() -> None:
    job = a_job(parallelism=2, completions=2)
    pods = [failed("p", since=1), tracked("q")]
    assert plan(job, *pods).create == ()
    assert open_status(job, pods, NOW)["active"] == 1


@pytest.mark.parametrize(
    ("job", "pods", "reason"),
    [
        (a_job(backoffLimit=0), [failed("p")], "BackoffLimitExceeded"),
        (a_job(backoffLimit=1, status={"failed": 1}), [failed("p")], "BackoffLimitExceeded"),
        (a_job(backoffLimit=1), [failed("p")], ""),
        (a_job(backoffLimit=3, restart="OnFailure"), [restarted(tracked("p"), 3)], "BackoffLimitExceeded"),
        (a_job(backoffLimit=3, restart="OnFailure"), [restarted(tracked("p"), 2)], ""),
        (a_job(backoffLimit=0, restart="OnFailure"), [restarted(tracked("p"), 1)], "BackoffLimitExceeded"),
        (a_job(activeDeadlineSeconds=60), [tracked("p")], "DeadlineExceeded"),
        (a_job(activeDeadlineSeconds=61), [tracked("p")], ""),
        (a_job(activeDeadlineSeconds=60, suspend=True), [], ""),
    ],
)
def test_a_job_fails_for_the_reasons_kubernetes_names(job: Object, pods: list[Object], reason: str) -> None:
    ending = plan(job, *pods).ending
    assert (ending.reason if ending else "") == reason
    if ending:
        assert ending.type == "FailureTarget"


def test_the_deadline_wakes_the_job() -> None:
    assert plan(a_job(activeDeadlineSeconds=61), tracked("p")).wake_in == 1.0


def test_when_a_job_fails_its_active_pods_are_deleted_and_counted() -> None:
    job = a_job(backoffLimit=0, parallelism=2, completions=2)
    pods = [failed("p"), tracked("q")]
    decided = plan(job, *pods)
    assert names(decided.delete) == ["q"] and not decided.untrack_deleted
    going = [pods[0], tracked("q", terminating=True)]
    census = take_census(job, going, Backoff())
    notes = announce(note_finished(job, going, census, open_status(job, going, NOW), decided.ending), NOW)
    assert notes.status["uncountedTerminatedPods"] == {"failed": ["uid-p", "uid-q"]}
    assert [one["type"] for one in notes.status["conditions"]] == ["FailureTarget"]
    assert notes.final is not None and notes.final.type == "Failed"


def test_a_failed_job_is_closed_only_when_its_last_pod_has_ended() -> None:
    notes = {"uncountedTerminatedPods": {"failed": ["uid-p"]}, "terminating": 0}
    ending = plan(a_job(backoffLimit=0), failed("p")).ending
    assert close_status(notes, ending, NOW) is None
    assert close_status({"uncountedTerminatedPods": {}, "terminating": 1}, ending, NOW) is None
    assert close_status({"uncountedTerminatedPods": {}, "terminating": 0}, ending, NOW) is not None


def test_an_announced_failure_is_carried_out_whatever_happens_next() -> None:
    announced = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "late"}
    job = a_job(status={"conditions": [announced], "succeeded": 1})
    ending = plan(job).ending
    assert ending is not None and (ending.type, ending.reason, ending.message) == ("Failed", "DeadlineExceeded", "late")


def test_a_job_is_complete_when_enough_pods_have_succeeded_and_none_is_active() -> None:
    job = a_job(parallelism=2, completions=2)
    assert plan(job, tracked("p", "Succeeded"), tracked("q")).ending is None
    ending = plan(job, tracked("p", "Succeeded"), tracked("q", "Succeeded")).ending
    assert ending is not None
    assert (ending.type, ending.reason) == ("SuccessCriteriaMet", "CompletionsReached")
    assert ending.message == "Reached expected number of succeeded pods"


def test_a_work_queue_is_complete_when_one_has_succeeded_and_all_have_ended() -> None:
    job = a_job(parallelism=2, completions=None)
    assert plan(job, tracked("p", "Succeeded"), tracked("q")).ending is None
    assert plan(job, tracked("p", "Succeeded"), failed("q")).ending is not None


def test_finished_pods_are_noted_released_and_then_counted_once() -> None:
    job = a_job(parallelism=2, completions=3)
    pods = [tracked("p", "Succeeded"), failed("q"), tracked("r")]
    notes = note_finished(job, pods, take_census(job, pods, Backoff()), open_status(job, pods, NOW), None)
    assert notes.status["uncountedTerminatedPods"] == {"succeeded": ["uid-p"], "failed": ["uid-q"]}
    assert names(notes.release) == ["p", "q"]
    counted = count_released(notes.status, {"uid-r"})
    assert (counted["succeeded"], counted["failed"], counted["uncountedTerminatedPods"]) == (1, 1, {})
    assert count_released(counted, {"uid-r"}) == counted


def test_a_crash_between_noting_and_counting_counts_a_pod_once() -> None:
    job = a_job(completions=2, status={"uncountedTerminatedPods": {"succeeded": ["uid-p"]}})
    still_held = [tracked("p", "Succeeded")]
    assert take_census(job, still_held, Backoff()).succeeded == 1
    notes = note_finished(
        job, still_held, take_census(job, still_held, Backoff()), open_status(job, still_held, NOW), None
    )
    assert notes.status["uncountedTerminatedPods"] == {"succeeded": ["uid-p"]}
    released = [a_pod("p", "Succeeded")]
    notes = note_finished(job, released, take_census(job, released, Backoff()), open_status(job, released, NOW), None)
    assert (notes.status["succeeded"], notes.status["uncountedTerminatedPods"]) == (1, {})


def test_surplus_pods_are_let_go_uncounted_the_least_advanced_first() -> None:
    job = a_job(parallelism=1, completions=5)
    pods = [tracked("running"), tracked("pending", "Pending", node=""), tracked("starting", "Pending")]
    decided = plan(job, *pods)
    assert names(decided.delete) == ["pending", "starting"] and decided.untrack_deleted


def test_a_suspended_job_lets_all_its_pods_go_and_forgets_its_start() -> None:
    job = a_job(suspend=True, parallelism=2, completions=2)
    assert names(plan(job, tracked("p"), tracked("q")).delete) == ["p", "q"]
    status, told = with_suspension(job, open_status(job, [], NOW), NOW)
    assert told == "Suspended" and "startTime" not in status
    condition = status["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Suspended", "True", "JobSuspended")
    resumed = {**a_job(), "status": status}
    status, told = with_suspension(resumed, open_status(resumed, [], NOW), NOW)
    assert (told, status["conditions"][0]["reason"], status["startTime"]) == ("Resumed", "JobResumed", ago(0))


@pytest.mark.parametrize(
    ("rule", "counted", "message"),
    [
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}, False, ""),
        ({"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}}, True, ""),
        (
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 2]}},
            True,
            "Container main for pod default/p failed with exit code 1 matching FailJob rule at index 0",
        ),
        ({"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}, True, ""),
        ({"action": "FailJob", "onExitCodes": {"containerName": "x", "operator": "In", "values": [1]}}, True, ""),
        (
            {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            True,
            "Pod default/p has condition DisruptionTarget matching FailJob rule at index 0",
        ),
        ({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}, False, ""),
        ({"action": "Ignore", "onPodConditions": [{"type": "Other", "status": "True"}]}, True, ""),
    ],
)
def test_a_pod_failure_policy_decides_what_a_failure_means(rule: Object, counted: bool, message: str) -> None:
    job = a_job(podFailurePolicy={"rules": [rule]})
    pod = failed("p")
    pod["status"]["conditions"].append({"type": "DisruptionTarget", "status": "True"})
    assert take_census(job, [pod], Backoff()).failed == (1 if counted else 0)
    ending = plan(job, pod).ending
    assert (ending.message if ending else "") == message
    if ending:
        assert ending.reason == "PodFailurePolicy"


def test_an_indexed_job_gives_each_pod_the_lowest_free_index() -> None:
    job = a_job(
        completionMode="Indexed", parallelism=3, completions=5, status={"completedIndexes": "0", "succeeded": 1}
    )
    assert plan(job, tracked("p", index=2)).create == (1, 3)


def test_an_indexed_job_lets_twins_and_strangers_go() -> None:
    job = a_job(completionMode="Indexed", parallelism=3, completions=3)
    pods = [tracked("p", index=0), tracked("twin", "Pending", index=0), tracked("stranger"), tracked("far", index=9)]
    assert sorted(names(plan(job, *pods).delete)) == ["far", "stranger", "twin"]


def test_an_index_is_completed_once_however_many_pods_succeed_for_it() -> None:
    job = a_job(completionMode="Indexed", parallelism=2, completions=3)
    pods = [tracked("p", "Succeeded", index=1), tracked("q", "Succeeded", index=1), tracked("r", "Succeeded", index=0)]
    census = take_census(job, pods, Backoff())
    assert census.succeeded == 2
    notes = note_finished(job, pods, census, open_status(job, pods, NOW), None)
    assert (notes.status["completedIndexes"], notes.status["succeeded"]) == ("0,1", 2)
    assert notes.status["uncountedTerminatedPods"] == {}


@pytest.mark.parametrize(
    ("text", "indexes"), [("", []), ("0", [0]), ("0,2", [0, 2]), ("0,1", [0, 1]), ("0-2,5", [0, 1, 2, 5])]
)
def test_indexes_are_written_and_read_in_their_shortest_form(text: str, indexes: list[int]) -> None:
    assert format_indexes(indexes) == text
    assert parse_indexes(text, 10) == set(indexes)


def test_indexes_out_of_range_or_broken_are_left_out() -> None:
    assert parse_indexes("0-9,x,3-y", 3) == {0, 1, 2}


def test_a_status_without_active_pods_has_no_count_of_them() -> None:
    status = open_status(a_job(), [], NOW)
    assert "active" not in status and (status["ready"], status["terminating"]) == (0, 0)
