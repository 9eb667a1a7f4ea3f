"""What controllers ask of a pod: alive, ready, available, finished, and which one to let go first."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import log2

from drydock.actors.machinery.objects import (
    Object,
    annotations_of,
    condition_of,
    created_at,
    is_terminating,
    moment_of,
    spec_of,
    status_of,
    uid_of,
)

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}


def phase_of(pod: Object) -> str:
    return str(status_of(pod).get("phase", "Pending"))


def node_name_of(pod: Object) -> str:
    return str(spec_of(pod).get("nodeName") or "")


def is_finished(pod: Object) -> bool:
    """Succeeded or failed: no container will run again."""
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    """Counts as a replica: neither finished nor on its way out."""
    return not is_finished(pod) and not is_terminating(pod)


def is_leaving(pod: Object) -> bool:
    """On its way out and perhaps still running."""
    return is_terminating(pod) and not is_finished(pod)


def is_ready(pod: Object) -> bool:
    condition = condition_of(pod, "Ready")
    return condition is not None and condition.get("status") == "True"


def ready_since(pod: Object) -> datetime | None:
    """Since when it has been ready; None while it is not."""
    condition = condition_of(pod, "Ready")
    if condition is None or condition.get("status") != "True" or not condition.get("lastTransitionTime"):
        return None
    return moment_of(condition["lastTransitionTime"])


def available_in(pod: Object, min_ready_seconds: int, now: datetime) -> float | None:
    """Seconds until the ready pod counts as available: 0 when it does, None when it is not ready."""
    if not is_ready(pod):
        return None
    since = ready_since(pod)
    if min_ready_seconds == 0:
        return 0.0
    if since is None:
        return None
    remaining = (since + timedelta(seconds=min_ready_seconds) - now).total_seconds()
    return max(0.0, remaining)


def most_restarts(pod: Object) -> int:
    statuses: Sequence[Object] = status_of(pod).get("containerStatuses") or ()
    return max((int(status.get("restartCount", 0)) for status in statuses), default=0)


def victims(pods: Iterable[Object], count: int, neighbours: Mapping[str, int], now: datetime) -> list[Object]:
    """The `count` pods a ReplicaSet lets go first; `neighbours` counts related pods a node name."""
    return sorted(pods, key=lambda pod: _worth(pod, neighbours, now))[:count]


def least_advanced(pods: Iterable[Object], count: int) -> list[Object]:
    """The `count` pods a Job lets go first: unassigned, pending, not ready, young."""
    return sorted(pods, key=_progress)[:count]


def _progress(pod: Object) -> tuple[int | float, ...]:
    since = ready_since(pod)
    return (
        1 if node_name_of(pod) else 0,
        _PHASE_ORDER.get(phase_of(pod), 0),
        1 if is_ready(pod) else 0,
        -since.timestamp() if since else 0,
        -most_restarts(pod),
        -created_at(pod).timestamp(),
    )


def _worth(pod: Object, neighbours: Mapping[str, int], now: datetime) -> tuple[int | str, ...]:
    # Ages are compared on a logarithmic scale, so that pods of about the same age fall in an arbitrary but
    # stable order (their uid) instead of always losing the youngest.
    since = ready_since(pod)
    return (
        1 if node_name_of(pod) else 0,
        _PHASE_ORDER.get(phase_of(pod), 0),
        1 if is_ready(pod) else 0,
        deletion_cost(pod),
        -neighbours.get(node_name_of(pod), 0),
        _age_rank(since, now) if since else -1,
        -most_restarts(pod),
        _age_rank(created_at(pod), now),
        uid_of(pod),
    )


def deletion_cost(pod: Object) -> int:
    text = annotations_of(pod).get(DELETION_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _age_rank(since: datetime, now: datetime) -> int:
    age = (now - since).total_seconds()
    return -1 if age <= 0 else int(log2(age * 1e9)) if age > 1e-9 else 0
