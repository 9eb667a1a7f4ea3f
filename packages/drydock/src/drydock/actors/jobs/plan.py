"""What a Job needs now: pods to create or let go, or an end. Pure: Job, pods and time in, plan out.

Left out: `backoffLimitPerIndex`, `maxFailedIndexes` and `successPolicy`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from drydock.actors.jobs.backoff import Backoff
from drydock.actors.jobs.failures import consequence_of, is_failed, waits_for_the_end
from drydock.actors.jobs.indexes import index_of, parse_indexes
from drydock.actors.machinery.objects import (
    Object,
    condition_is_true,
    condition_of,
    finalizers_of,
    is_terminating,
    optional_moment,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.pods import is_active, is_leaving, is_ready, least_advanced, phase_of

TRACKING = "batch.kubernetes.io/job-tracking"
_MOST_PODS_A_SYNC = 500


@dataclass(frozen=True, slots=True)
class Ending:
    """The condition a Job ends with; `FailureTarget` and `SuccessCriteriaMet` announce `Failed` and `Complete`."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Census:
    """A Job's pods, counted."""

    active: tuple[Object, ...]
    leaving: tuple[Object, ...]
    ready: int
    succeeded: int
    failed: int
    backoff: Backoff
    earlier_indexes: frozenset[int]  # completed according to the status
    indexes: frozenset[int]  # completed according to status and pods


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The pods to make and to let go, and the end, if it has come."""

    create: tuple[int | None, ...] = ()  # the completion index of each new pod
    delete: tuple[Object, ...] = ()
    untrack_deleted: bool = False  # let them go uncounted: surplus and suspended pods are no failures
    ending: Ending | None = None
    wake_in: float | None = None


def is_finished(job: Object) -> bool:
    return condition_is_true(job, "Complete") or condition_is_true(job, "Failed")


def is_indexed(job: Object) -> bool:
    return bool(spec_of(job).get("completionMode") == "Indexed")


def is_suspended(job: Object) -> bool:
    return bool(spec_of(job).get("suspend"))


def is_tracked(pod: Object) -> bool:
    """Whether the pod still waits to be counted."""
    return TRACKING in finalizers_of(pod)


def has_valid_index(job: Object, pod: Object) -> bool:
    """Whether the pod counts at all: pods of an Indexed Job need an index in range."""
    index = index_of(pod)
    return not is_indexed(job) or (index is not None and index < spec_of(job)["completions"])


def take_census(job: Object, pods: Sequence[Object], backoff: Backoff) -> Census:
    """Count the pods once: those in the counters, those noted in the status, and the newly finished."""
    status = status_of(job)
    noted = status.get("uncountedTerminatedPods") or {}
    noted_good, noted_bad = frozenset(noted.get("succeeded") or ()), frozenset(noted.get("failed") or ())
    tracked = [pod for pod in pods if is_tracked(pod) and has_valid_index(job, pod)]
    good = [pod for pod in tracked if phase_of(pod) == "Succeeded" and uid_of(pod) not in noted_good]
    bad = [pod for pod in tracked if is_failed(job, pod) and uid_of(pod) not in noted_bad]
    active = tuple(pod for pod in pods if is_active(pod))
    succeeded = status.get("succeeded", 0) + len(good) + len(noted_good)
    earlier: frozenset[int] = frozenset()
    indexes: frozenset[int] = frozenset()
    if is_indexed(job):
        earlier = frozenset(parse_indexes(status.get("completedIndexes") or "", spec_of(job)["completions"]))
        indexes = earlier | {index for pod in good if (index := index_of(pod)) is not None}
        succeeded = len(indexes)
    return Census(
        active=active,
        leaving=tuple(pod for pod in pods if is_leaving(pod)),
        ready=sum(1 for pod in active if is_ready(pod)),
        succeeded=succeeded,
        failed=status.get("failed", 0) + sum(1 for pod in bad if consequence_of(job, pod).counts) + len(noted_bad),
        backoff=backoff.after(good, bad),
        earlier_indexes=earlier,
        indexes=indexes,
    )


def plan_job(job: Object, pods: Sequence[Object], census: Census, now: datetime) -> JobPlan:
    """The next step."""
    ending = _ending(job, pods, census, now)
    if ending is not None:
        return JobPlan(delete=census.active, ending=ending)
    wake_in = _until_deadline(job, now)
    plan = JobPlan(wake_in=wake_in) if is_terminating(job) else _plan_pods(job, census, now, wake_in)
    if _is_complete(job, census, len(census.active) + len(plan.create) - len(plan.delete)):
        reached = Ending("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
        return JobPlan(plan.create, plan.delete, plan.untrack_deleted, reached)
    return plan


def _ending(job: Object, pods: Sequence[Object], census: Census, now: datetime) -> Ending | None:
    for announced, final in (("SuccessCriteriaMet", "SuccessCriteriaMet"), ("FailureTarget", "Failed")):
        condition = condition_of(job, announced)
        if condition is not None and condition.get("status") == "True":
            return Ending(final, condition.get("reason", ""), condition.get("message", ""))
    for pod in pods:
        if is_failed(job, pod) and (message := consequence_of(job, pod).fails_job):
            return Ending("FailureTarget", "PodFailurePolicy", message)
    limit = spec_of(job).get("backoffLimit", 6)
    if census.failed > limit or _restarted_too_often(job, pods, limit):
        return Ending("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    remaining = _until_deadline(job, now)
    if remaining is not None and remaining <= 0:
        return Ending("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def _until_deadline(job: Object, now: datetime) -> float | None:
    deadline = spec_of(job).get("activeDeadlineSeconds")
    if deadline is None or is_suspended(job):
        return None
    start = optional_moment(status_of(job).get("startTime")) or now
    return float(deadline - (now - start).total_seconds())


def _restarted_too_often(job: Object, pods: Sequence[Object], limit: int) -> bool:
    if spec_of(job)["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = 0
    for pod in pods:
        if phase_of(pod) in ("Running", "Pending"):
            status = status_of(pod)
            for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
                restarts += one.get("restartCount", 0)
    return restarts > 0 if limit == 0 else restarts >= limit


def _plan_pods(job: Object, census: Census, now: datetime, wake_in: float | None) -> JobPlan:
    active = len(census.active)
    if is_suspended(job):
        return JobPlan(delete=tuple(_surplus(job, census.active, active)), untrack_deleted=True, wake_in=wake_in)
    wanted = _wanted_active(job, census)
    surplus = _surplus(job, census.active, max(0, active - wanted))[:_MOST_PODS_A_SYNC]
    if surplus:
        return JobPlan(delete=tuple(surplus), untrack_deleted=True, wake_in=wake_in)
    missing = wanted - active - (len(census.leaving) if waits_for_the_end(job) else 0)
    if missing <= 0:
        return JobPlan(wake_in=wake_in)
    remaining = census.backoff.remaining(now)
    if remaining > 0:
        remaining = max(remaining, 1.0)
        return JobPlan(wake_in=remaining if wake_in is None else min(wake_in, remaining))
    missing = min(missing, _MOST_PODS_A_SYNC)
    return JobPlan(create=tuple(_next_indexes(job, census, missing)), wake_in=wake_in)


def _wanted_active(job: Object, census: Census) -> int:
    spec = spec_of(job)
    parallelism: int = spec.get("parallelism", 1)
    completions: int | None = spec.get("completions")
    if completions is None:
        # A work queue: once one pod has succeeded, the others finish and nobody new starts.
        return len(census.active) if census.succeeded > 0 else parallelism
    return max(0, min(completions - census.succeeded, parallelism))


def _surplus(job: Object, active: Sequence[Object], at_least: int) -> list[Object]:
    surplus: list[Object] = []
    rest: Sequence[Object] = active
    if is_indexed(job):
        surplus, rest = _split_by_index(job, active)
    if len(surplus) < at_least:
        surplus += least_advanced(rest, at_least - len(surplus))
    return surplus


def _split_by_index(job: Object, active: Sequence[Object]) -> tuple[list[Object], list[Object]]:
    """Pods with no index, an index out of range or one that another pod has too; and the others."""
    by_index: dict[int, list[Object]] = {}
    surplus: list[Object] = []
    for pod in active:
        index = index_of(pod)
        if index is None or not has_valid_index(job, pod):
            surplus.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    rest: list[Object] = []
    for same in by_index.values():
        twins = least_advanced(same, len(same) - 1)
        surplus += twins
        kept = {id(pod) for pod in twins}
        rest += [pod for pod in same if id(pod) not in kept]
    return surplus, rest


def _next_indexes(job: Object, census: Census, count: int) -> Sequence[int | None]:
    if not is_indexed(job):
        return [None] * count
    alive = [*census.active, *(census.leaving if waits_for_the_end(job) else ())]
    taken = census.indexes | {index_of(pod) for pod in alive}
    return [index for index in range(spec_of(job)["completions"]) if index not in taken][:count]


def _is_complete(job: Object, census: Census, active: int) -> bool:
    completions = spec_of(job).get("completions")
    if completions is None:
        return census.succeeded > 0 and active == 0
    return census.succeeded >= completions and active == 0
