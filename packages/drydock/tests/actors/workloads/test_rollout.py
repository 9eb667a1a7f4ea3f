"""How Deployments move and ReplicaSets choose, as tables."""

from typing import Any

import pytest

from drydock.actors.workloads.replicasets import ReplicaPlan, compute_status, next_availability, plan_replicas
from drydock.actors.workloads.rollout import (
    fence_posts,
    first_size,
    is_scaling,
    plan_cleanup,
    plan_rolling,
    plan_scaling,
    set_annotations,
    split_sets,
    template_hash,
)
from drydock.actors.workloads.rollout_status import compute_rollout_status, is_complete, next_progress_check
from drydock.actors.workloads.rollout_status import compute_status as compute_counts
from packages.drydock.tests.actors.shapes import NOW, a_pod, ago, names, ready_for, restarted

Object = dict[str, Any]
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
REVISION = "deployment.kubernetes.io/revision"


def a_deployment(replicas: int, surge: int | str = "25%", unavailable: int | str = "25%", **spec: Any) -> Object:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    body = {"replicas": replicas, "strategy": rolling, "template": {"spec": {"image": "new"}}, **spec}
    metadata = {"name": "d", "namespace": "default", "uid": "d", "generation": 2}
    return {"metadata": metadata, "spec": body, "status": {}}


def a_set(
    name: str,
    replicas: int,
    available: int | None = None,
    *,
    image: str = "old",
    age: float = 100.0,
    annotations: Object | None = None,
    actual: int | None = None,
) -> Object:
    ready = replicas if available is None else available
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "creationTimestamp": ago(age),
            "annotations": annotations or {},
            "generation": 1,
        },
        "spec": {"replicas": replicas, "template": {"spec": {"image": image}}},
        "status": {
            "replicas": replicas if actual is None else actual,
            "availableReplicas": ready,
            "readyReplicas": ready,
            "observedGeneration": 1,
        },
    }


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (4, "25%", "25%", (1, 1)),
        (1, "25%", "25%", (1, 0)),
        (3, 0, 0, (0, 1)),
        (3, 1, 0, (1, 0)),
        (2, 0, 5, (0, 2)),
        (0, "25%", "25%", (0, 0)),
        (10, "0%", "0%", (0, 1)),
    ],
)
def test_surge_rounds_up_and_unavailable_rounds_down(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    assert fence_posts(a_deployment(replicas, surge, unavailable)) == expected


@pytest.mark.parametrize(
    ("deployment", "new", "olds", "expected"),
    [
        # the new set grows as far as the surge allows
        (a_deployment(10), a_set("new", 0), [a_set("old", 10)], {"new": 3}),
        # then the old one shrinks as far as availability allows
        (a_deployment(10), a_set("new", 3, 0), [a_set("old", 10)], {"old": 8}),
        (a_deployment(10), a_set("new", 5, 0), [a_set("old", 8)], {}),
        (a_deployment(10), a_set("new", 5, 5), [a_set("old", 8)], {"old": 3}),
        # pods that do not work go first
        (a_deployment(10), a_set("new", 5, 0), [a_set("old", 8, 6)], {}),
        (a_deployment(10), a_set("new", 0, 0), [a_set("old", 13, 9)], {"old": 8}),
        (a_deployment(3, 1, 0), a_set("new", 1, 1), [a_set("old", 3)], {"old": 2}),
        (a_deployment(3, 1, 0), a_set("new", 1, 0), [a_set("old", 3)], {}),
        (a_deployment(3, 1, 0), a_set("new", 3, 3), [a_set("old", 1)], {"old": 0}),
        (a_deployment(3, 1, 0), a_set("new", 3, 3), [a_set("old", 0)], {}),
        (a_deployment(2), a_set("new", 3, 3), [], {"new": 2}),
        # the oldest of several old sets shrinks first
        (
            a_deployment(4, 1, 1),
            a_set("new", 1, 1),
            [a_set("older", 2, age=300), a_set("old", 2, age=200)],
            {"older": 0},
        ),
    ],
)
def test_a_rolling_update_takes_one_step_at_a_time(
    deployment: Object, new: Object, olds: list[Object], expected: Object
) -> None:
    steps = plan_rolling(deployment, new, olds)
    assert {step.replica_set["metadata"]["name"]: step.replicas for step in steps} == expected


def test_a_rolling_update_ends_with_everything_new_and_never_breaks_its_limits() -> None:
    deployment = a_deployment(10)
    sizes = {"new": 0, "old": 10}
    for _ in range(30):
        new = a_set("new", sizes["new"], image="new")
        old = a_set("old", sizes["old"])
        assert sum(sizes.values()) <= 13 and sum(sizes.values()) >= 8
        steps = plan_rolling(deployment, new, [old])
        if not steps:
            break
        for step in steps:
            sizes[step.replica_set["metadata"]["name"]] = step.replicas
    assert sizes == {"new": 10, "old": 0}


@pytest.mark.parametrize(("total", "expected"), [(0, 4), (4, 1), (5, 0)])
def test_a_new_set_starts_with_what_the_surge_leaves(total: int, expected: int) -> None:
    assert first_size(a_deployment(4, 1, 0), 0, total) == expected


def test_a_size_change_in_mid_rollout_is_shared_in_proportion() -> None:
    remembered = {DESIRED: "10", MOST: "13"}
    new = a_set("new", 5, annotations=remembered, image="new", age=10)
    old = a_set("old", 8, annotations=remembered)
    deployment = a_deployment(20)
    assert is_scaling(deployment, [new, old])
    sizes = {step.replica_set["metadata"]["name"]: step.replicas for step in plan_scaling(deployment, new, [old])}
    assert sizes == {"old": 15, "new": 10}
    sizes = {step.replica_set["metadata"]["name"]: step.replicas for step in plan_scaling(a_deployment(0), new, [old])}
    assert sizes == {"old": 0, "new": 0}


def test_the_only_active_set_takes_the_whole_size() -> None:
    only = a_set("new", 3, image="new")
    assert [step.replicas for step in plan_scaling(a_deployment(5), only, [a_set("old", 0)])] == [5]
    assert plan_scaling(a_deployment(3), only, []) == []


def test_the_set_of_the_current_template_is_the_new_one_whatever_its_age() -> None:
    rolled_back = a_set("first", 0, image="new", age=500)
    rolled_back["spec"]["template"]["metadata"] = {"labels": {"pod-template-hash": "abc"}}
    new, olds = split_sets(a_deployment(3), [a_set("second", 3, age=100), rolled_back])
    assert new is not None and new["metadata"]["name"] == "first"
    assert names(olds) == ["second"]


def test_the_hash_of_a_template_ignores_empty_fields_and_its_own_label() -> None:
    plain = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "main"}]}}
    dressed = {
        "metadata": {"labels": {"app": "x", "pod-template-hash": "abc"}, "creationTimestamp": None},
        "spec": {"containers": [{"name": "main", "env": []}], "nodeSelector": {}},
    }
    assert template_hash(plain, 0) == template_hash(dressed, 0)
    assert template_hash(plain, 0) != template_hash(plain, 1)
    assert set(template_hash(plain, 0)) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_revisions_are_remembered() -> None:
    deployment = a_deployment(1)
    deployment["metadata"]["annotations"] = {"note": "x", REVISION: "7"}
    assert set_annotations(deployment, {}, 3) == {"note": "x", REVISION: "3"}
    again = set_annotations(deployment, {REVISION: "1", "own": "y"}, 3)
    assert again == {
        "own": "y",
        "note": "x",
        REVISION: "3",
        "deployment.kubernetes.io/revision-history": "1",
    }
    assert set_annotations(deployment, {REVISION: "3", "note": "x"}, 3) == {REVISION: "3", "note": "x"}


def test_the_oldest_empty_sets_beyond_the_history_are_deleted() -> None:
    sets = [a_set(str(number), 0, annotations={REVISION: str(number)}) for number in (3, 1, 2)]
    assert names(plan_cleanup(a_deployment(1, revisionHistoryLimit=1), sets)) == ["1", "2"]
    sets[1]["status"]["replicas"] = 1
    assert names(plan_cleanup(a_deployment(1, revisionHistoryLimit=1), sets)) == ["2"]
    assert plan_cleanup(a_deployment(1), sets) == []


def test_a_deployment_tells_what_is_available() -> None:
    status = compute_counts(a_deployment(10), a_set("new", 3, 1), [a_set("old", 8, 7)], NOW)
    assert (status["replicas"], status["updatedReplicas"], status["availableReplicas"]) == (11, 3, 8)
    assert (status["unavailableReplicas"], status["observedGeneration"]) == (3, 2)
    condition = status["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"], condition["message"]) == (
        "Available",
        "True",
        "MinimumReplicasAvailable",
        "Deployment has minimum availability.",
    )
    status = compute_counts(a_deployment(10), a_set("new", 3, 0), [a_set("old", 8, 7)], NOW)
    assert status["conditions"][0]["reason"] == "MinimumReplicasUnavailable"


def progressing(status: Object) -> Object:
    found: Object = next(one for one in status["conditions"] if one["type"] == "Progressing")
    return found


def test_a_complete_rollout_says_so() -> None:
    deployment = a_deployment(3, progressDeadlineSeconds=600)
    status = compute_rollout_status(deployment, a_set("new", 3), [a_set("old", 0)], NOW)
    assert is_complete(deployment, status)
    assert progressing(status)["reason"] == "NewReplicaSetAvailable"
    assert progressing(status)["message"] == 'ReplicaSet "new" has successfully progressed.'
    assert next_progress_check(deployment, status, NOW) is None


def test_a_rollout_without_progress_times_out() -> None:
    deployment = a_deployment(3, progressDeadlineSeconds=60)
    status = compute_rollout_status(deployment, a_set("new", 1, 0), [a_set("old", 3)], NOW)
    assert progressing(status)["reason"] == "ReplicaSetUpdated"
    assert next_progress_check(deployment, status, NOW) == 61.0
    progressing(status)["lastUpdateTime"] = ago(61)
    stuck = {**deployment, "status": status}
    late = compute_rollout_status(stuck, a_set("new", 1, 0), [a_set("old", 3)], NOW)
    assert (progressing(late)["status"], progressing(late)["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert progressing(late)["message"] == 'ReplicaSet "new" has timed out progressing.'


def test_progress_moves_the_deadline() -> None:
    deployment = a_deployment(3, progressDeadlineSeconds=60)
    status = compute_rollout_status(deployment, a_set("new", 1, 0), [a_set("old", 3)], NOW)
    progressing(status).update(lastUpdateTime=ago(61), lastTransitionTime=ago(90))
    moving = {**deployment, "status": status}
    later = compute_rollout_status(moving, a_set("new", 1, 1), [a_set("old", 3)], NOW)
    assert (progressing(later)["lastUpdateTime"], progressing(later)["lastTransitionTime"]) == (ago(0), ago(90))


# -- ReplicaSets


def replicas(count: int, **spec: Any) -> Object:
    metadata = {"name": "rs", "namespace": "default", "uid": "rs", "generation": 1}
    return {"metadata": metadata, "spec": {"replicas": count, "template": {}, **spec}, "status": {}}


COST = "controller.kubernetes.io/pod-deletion-cost"


@pytest.mark.parametrize(
    ("keep", "drop"),
    [
        (a_pod("keep", node="a"), a_pod("drop", node="")),
        (a_pod("keep"), a_pod("drop", "Pending")),
        (a_pod("keep"), a_pod("drop", ready=False)),
        (ready_for(a_pod("keep"), 5000), ready_for(a_pod("drop"), 10)),
        (a_pod("keep", age=5000), a_pod("drop", age=10)),
        (a_pod("keep"), restarted(a_pod("drop"), 5)),
        (a_pod("keep", annotations={COST: "10"}), a_pod("drop")),
        (a_pod("keep"), a_pod("drop", annotations={COST: "-10"})),
    ],
)
def test_the_least_useful_pod_goes_first(keep: Object, drop: Object) -> None:
    pods = [keep, drop]
    for order in (pods, pods[::-1]):
        assert names(plan_replicas(replicas(1), order, [], NOW).delete) == ["drop"]


def test_a_pod_among_many_of_its_kind_on_a_node_goes_first() -> None:
    pods = [a_pod("alone", node="b"), a_pod("crowded", node="a")]
    related = [*pods, a_pod("other", node="a")]
    assert names(plan_replicas(replicas(1), pods, related, NOW).delete) == ["crowded"]


def test_missing_pods_are_created_at_most_five_hundred_at_once() -> None:
    assert plan_replicas(replicas(3), [a_pod("p")], [], NOW) == ReplicaPlan(create=2)
    assert plan_replicas(replicas(900), [], [], NOW).create == 500
    assert plan_replicas(replicas(1), [a_pod("p")], [], NOW) == ReplicaPlan()


def test_a_pod_is_available_after_it_has_been_ready_long_enough() -> None:
    patient = replicas(2, minReadySeconds=20)
    pods = [a_pod("old"), ready_for(a_pod("young"), 5), a_pod("not", ready=False)]
    status = compute_status(patient, pods, 0, "", NOW)
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (3, 2, 1)
    assert next_availability(patient, pods, NOW) == 15.0
    assert next_availability(replicas(2), pods, NOW) is None


def test_a_refused_create_shows_in_the_status_and_goes_again() -> None:
    status = compute_status(replicas(2), [], 0, "exceeded quota", NOW)
    condition = status["conditions"][0]
    assert (condition["type"], condition["reason"], condition["message"]) == (
        "ReplicaFailure",
        "FailedCreate",
        "exceeded quota",
    )
    assert "conditions" not in compute_status({**replicas(2), "status": status}, [], 0, "", NOW)
