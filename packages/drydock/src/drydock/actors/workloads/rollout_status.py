"""What a Deployment says of its rollout: counts, and the conditions Available, Progressing, ReplicaFailure. Pure."""

from collections.abc import Sequence
from datetime import datetime

from drydock.actors.machinery.objects import (
    Object,
    find_condition,
    moment_of,
    name_of,
    spec_of,
    status_of,
)
from drydock.actors.workloads.rollout import fence_posts, replicas_of
from hawser.views.base import format_time

_UNLIMITED = 2**31 - 1


def has_deadline(deployment: Object) -> bool:
    deadline = spec_of(deployment).get("progressDeadlineSeconds")
    return deadline is not None and deadline != _UNLIMITED


def compute_status(deployment: Object, new: Object | None, olds: Sequence[Object], now: datetime) -> Object:
    """Counts and availability."""
    sets = [*olds, *([new] if new is not None else [])]
    available = _total(sets, "availableReplicas")
    old = status_of(deployment)
    status: Object = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": _total(sets, "replicas"),
        "updatedReplicas": _total([new] if new is not None else [], "replicas"),
        "readyReplicas": _total(sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(replicas_of(one) for one in sets) - available),
        "terminatingReplicas": _total(sets, "terminatingReplicas"),
    }
    status = {key: value for key, value in status.items() if value or key == "terminatingReplicas"}
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    conditions = list(old.get("conditions") or ())
    if available >= replicas_of(deployment) - fence_posts(deployment)[1]:
        told = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        told = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    status["conditions"] = with_condition(conditions, "Available", *told, now)
    return status


def compute_rollout_status(deployment: Object, new: Object | None, olds: Sequence[Object], now: datetime) -> Object:
    """The same with progress and failures judged."""
    status = compute_status(deployment, new, olds, now)
    conditions: list[Object] = status["conditions"]
    current = find_condition(status_of(deployment).get("conditions"), "Progressing")
    if not has_deadline(deployment):
        conditions = _without(conditions, "Progressing")
    elif not _is_over(status, current):
        conditions = _with_progress(deployment, new, status, current, now)
    failure = _replica_failure(new, olds)
    conditions = _without(conditions, "ReplicaFailure") if failure is None else _with_failure(conditions, failure)
    return {**status, "conditions": conditions}


def is_complete(deployment: Object, status: Object) -> bool:
    """Everything is new and available."""
    desired = replicas_of(deployment)
    counts = (status.get("updatedReplicas", 0), status.get("replicas", 0), status.get("availableReplicas", 0))
    seen: bool = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return counts == (desired, desired, desired) and seen


def next_progress_check(deployment: Object, status: Object, now: datetime) -> float | None:
    """Seconds until a rollout without progress has to be called timed out."""
    current = find_condition(status.get("conditions"), "Progressing")
    if not has_deadline(deployment) or current is None or is_complete(deployment, status):
        return None
    if current.get("reason") == "ProgressDeadlineExceeded":
        return None
    # The deadline has to be over, not only reached; conditions carry whole seconds.
    return max(1.0, _seconds_left(deployment, current, now) + 1.0)


def with_condition(
    conditions: Sequence[Object], kind: str, status: str, reason: str, message: str, now: datetime
) -> list[Object]:
    """Set a condition; one with the same status and reason is left as it is."""
    current = find_condition(conditions, kind)
    if current is not None and current.get("status") == status and current.get("reason") == reason:
        return list(conditions)
    stamp = format_time(now)
    kept = current is not None and current.get("status") == status
    transition = current.get("lastTransitionTime", stamp) if kept and current is not None else stamp
    new = {
        "type": kind,
        "status": status,
        "lastUpdateTime": stamp,
        "lastTransitionTime": transition,
        "reason": reason,
        "message": message,
    }
    return [*_without(conditions, kind), new]


def _with_progress(
    deployment: Object, new: Object | None, status: Object, current: Object | None, now: datetime
) -> list[Object]:
    conditions: list[Object] = status["conditions"]
    what = f'ReplicaSet "{name_of(new)}"' if new is not None else f'Deployment "{name_of(deployment)}"'
    if is_complete(deployment, status):
        told = ("True", "NewReplicaSetAvailable", f"{what} has successfully progressed.")
        return with_condition(conditions, "Progressing", *told, now)
    if _has_progressed(deployment, status):
        # Every progress moves the update time, which the deadline counts from; the transition time stays.
        moved = with_condition(
            _without(conditions, "Progressing"),
            "Progressing",
            "True",
            "ReplicaSetUpdated",
            f"{what} is progressing.",
            now,
        )
        if current is not None and current.get("status") == "True":
            moved[-1]["lastTransitionTime"] = current["lastTransitionTime"]
        return moved
    if _has_timed_out(deployment, current, now):
        told = ("False", "ProgressDeadlineExceeded", f"{what} has timed out progressing.")
        return with_condition(conditions, "Progressing", *told, now)
    return conditions


def _is_over(status: Object, current: Object | None) -> bool:
    """A rollout that was complete and still is: nothing to estimate."""
    same: bool = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return same and current is not None and current.get("reason") == "NewReplicaSetAvailable"


def _has_progressed(deployment: Object, new: Object) -> bool:
    old = status_of(deployment)

    def rose(name: str) -> bool:
        return bool(new.get(name, 0) > old.get(name, 0))

    old_left = old.get("replicas", 0) - old.get("updatedReplicas", 0)
    new_left = new.get("replicas", 0) - new.get("updatedReplicas", 0)
    return rose("updatedReplicas") or new_left < old_left or rose("readyReplicas") or rose("availableReplicas")


def _has_timed_out(deployment: Object, current: Object | None, now: datetime) -> bool:
    if current is None or current.get("reason") == "NewReplicaSetAvailable":
        return False
    return current.get("reason") == "ProgressDeadlineExceeded" or _seconds_left(deployment, current, now) < 0


def _seconds_left(deployment: Object, current: Object, now: datetime) -> float:
    updated = moment_of(current["lastUpdateTime"])
    return float(spec_of(deployment)["progressDeadlineSeconds"] - (now - updated).total_seconds())


def _replica_failure(new: Object | None, olds: Sequence[Object]) -> Object | None:
    for one in ([new] if new is not None else []) + list(olds):
        failure = find_condition(status_of(one).get("conditions"), "ReplicaFailure")
        if failure is not None:
            return failure
    return None


def _with_failure(conditions: Sequence[Object], failure: Object) -> list[Object]:
    current = find_condition(conditions, "ReplicaFailure")
    if current is not None and current.get("reason") == failure.get("reason"):
        return list(conditions)
    return [*_without(conditions, "ReplicaFailure"), {**failure, "lastUpdateTime": failure["lastTransitionTime"]}]


def _without(conditions: Sequence[Object], kind: str) -> list[Object]:
    return [one for one in conditions if one.get("type") != kind]


def _total(sets: Sequence[Object], field: str) -> int:
    return sum(int(status_of(one).get(field) or 0) for one in sets)
