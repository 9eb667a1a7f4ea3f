"""Pools whose workers fail to start or keep crashing, each with its worst worker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mooring.model.doctor_report import Check, CheckStatus
from mooring.model.explanation import Explanation
from mooring.model.pool import Pool
from mooring.model.worker import Worker

FAILING = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RegistryUnavailable",
        "RunContainerError",
        "StartError",
    }
)
"""Reasons of the kubelet for which a container does not start, or does not stay up."""

CRASHES = 3  # restarts from which a container that has just started again does not count as recovered
STEADY_AFTER = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class SickPool:
    """A pool, the worker that has failed most, and how many fail."""

    pool: Pool
    worst: Worker
    since: datetime
    sick: int
    workers: int

    @property
    def starved(self) -> bool:
        """Whether the pool cannot reach its floor."""
        return any(one.type == "Ready" and one.status == "False" for one in self.pool.status.conditions)


def find_sick_pools(
    pools: Iterable[Pool], workers: Mapping[str, Sequence[Worker]], now: datetime
) -> tuple[SickPool, ...]:
    """Sick pools in the order of their keys. A worker that has failed for less than a minute may still recover."""
    found = []
    for pool in sorted(pools, key=lambda pool: pool.key):
        present = workers.get(pool.key, ())
        sick = [worker for worker in present if is_sick(worker, now)]
        if sick:
            worst = min(sick, key=lambda worker: (-worker.restarts, _since(worker), worker.name))
            found.append(SickPool(pool, worst, _since(worst), len(sick), len(present)))
    return tuple(found)


def is_sick(worker: Worker, now: datetime) -> bool:
    """Whether it fails, and not for the first time a moment ago."""
    return is_failing(worker, now) and not _may_recover(worker, now)


def is_failing(worker: Worker, now: datetime) -> bool:
    """Whether its containers do not start or do not stay up."""
    if worker.terminating_since is not None:
        return False
    if worker.waiting in FAILING or worker.phase == "Failed":
        return True
    fresh = not worker.ready or worker.ready_since is None or now - worker.ready_since < STEADY_AFTER
    return worker.restarts >= CRASHES and fresh


def judge_sick_pool(sick: SickPool, explanation: Explanation | None, unread: str = "") -> Check:
    """One check for the pool: the cause of its worst worker, its last line of log, and the command that helps."""
    pool, worst = sick.pool, sick.worst
    cause = explanation.summary if explanation is not None else worst.waiting_message or worst.waiting or "it crashes"
    failure = explanation.failure if explanation is not None else None
    last = failure.logs[-1] if failure is not None and failure.logs else ""
    words = f"; its last line: {last}" if last and last not in cause else ""
    if unread and not last:
        words = f"; its log cannot be read: {unread}"
    return Check(
        f"pool/{pool.key}",
        CheckStatus.FAIL if sick.starved else CheckStatus.WARN,
        f"{pool.key}: {sick.sick} of {sick.workers} worker(s) fail, {worst.name} most: {cause}{words}",
        {
            "worker": f"{worst.namespace}/{worst.name}",
            "since": sick.since.isoformat(),
            "restarts": worst.restarts,
            "logs": list(failure.logs[-5:]) if failure is not None else [],
        },
        fix_sick_pool(pool, worst),
    )


def fix_sick_pool(pool: Pool, worst: Worker) -> str:
    """A container that fails at every start is cured in the pool's template; first, what shows what to correct."""
    ran = worst.restarts > 0 or worst.phase == "Failed"
    log = f"kubectl -n {worst.namespace} logs {worst.name} --all-containers --tail=20"
    look = log if ran else f"mooring explain pod/{worst.namespace}/{worst.name}"
    return f"{look}; kubectl -n {pool.namespace} edit workerpool {pool.name}"


def _may_recover(worker: Worker, now: datetime) -> bool:
    """Whether it failed for the first time a moment ago. Each crash of many begins a new unready time."""
    return worker.restarts < CRASHES and now - _since(worker) < STEADY_AFTER


def _since(worker: Worker) -> datetime:
    return worker.unready_since or worker.finished_at or worker.created_at
