"""Decides which claims to make and which to release, from jobs and claims alone. No I/O, no clock.

A runner is not bound to a job: GitHub gives it any queued job with its labels. So the runner that was claimed for one
job may run another, and jobs and claims of a pool are matched, not looked up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mooring.client.records import ClaimView
from mooring_github_actions.job import Job, JobStatus
from mooring_github_actions.names import attempt_of, claim_of_runner, job_of
from mooring_github_actions.pools import PoolRule, choose_pool

ENDING = timedelta(seconds=60)  # a runner that has done its job uploads logs and exits by itself


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known. `spent`: attempts of a job whose claims have ended."""

    now: datetime
    jobs: Mapping[int, Job]
    claims: Sequence[ClaimView]  # open ones
    rules: Sequence[PoolRule]
    spent: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MakeClaim:
    """Ask for a worker."""

    job: Job
    pool: str
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReleaseClaim:
    """Give a worker, or a place in the queue, back. Its runner is removed from GitHub first, unless it is busy."""

    claim: ClaimView
    reason: str


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Ask GitHub for the state of the job of a claim."""

    claim: ClaimView
    job: int
    reason: str


Action = MakeClaim | ReleaseClaim | ReadJob


def plan_claims(snapshot: Snapshot) -> list[Action]:
    """What to do now. Nothing, when every queued job has a claim and no claim is too many."""
    actions: list[Action] = []
    for pool in dict.fromkeys(rule.pool for rule in snapshot.rules):
        actions += _plan_pool(snapshot, pool)
    return actions


def find_busy_claims(jobs: Mapping[int, Job]) -> frozenset[str]:
    """Claims whose runners have taken a job that is not completed."""
    running = (job for job in jobs.values() if job.status is JobStatus.IN_PROGRESS)
    return frozenset(filter(None, (claim_of_runner(job.runner) for job in running)))


def _plan_pool(snapshot: Snapshot, pool: str) -> list[Action]:
    queued = [job for job in snapshot.jobs.values() if job.status is JobStatus.QUEUED and _is_for(job, pool, snapshot)]
    queued.sort(key=lambda job: job.id)
    busy = find_busy_claims(snapshot.jobs)
    ours = sorted(
        (c for c in snapshot.claims if c.pool == pool and job_of(c) is not None), key=lambda c: (job_of(c), c.id)
    )
    free = [claim for claim in ours if claim.id not in busy and not _is_ending(claim, snapshot)]
    own, spare = _pair(queued, free)
    unserved = [job for job in queued if job.id not in own]
    served = min(len(unserved), len(spare))  # a spare runner takes the oldest job with its labels
    made: list[Action] = []
    for job in unserved[served:]:
        # Its open claims are busy with other jobs: under their keys it would get the same claims again.
        attempt = max(snapshot.spent.get(job.id, 0), *(attempt_of(c) for c in ours if job_of(c) == job.id), 0) + 1
        why = "it is queued" if attempt == 1 else "it is queued, and its last runner took another job or is gone"
        made.append(MakeClaim(job, pool, attempt, f"job {job.id}: {why}"))
    return made + [_judge(claim, snapshot.jobs.get(job_of(claim) or 0)) for claim in spare[served:]]


def _is_for(job: Job, pool: str, snapshot: Snapshot) -> bool:
    rule = choose_pool(job.labels, snapshot.rules)
    return rule is not None and rule.pool == pool


def _pair(queued: Sequence[Job], free: Sequence[ClaimView]) -> tuple[set[int], list[ClaimView]]:
    """Jobs that have a claim of their own, and the claims of no queued job."""
    wanted = {job.id for job in queued}
    own: set[int] = set()
    spare = []
    for claim in free:
        job = job_of(claim)
        if job in wanted and job not in own:
            own.add(job)
        else:
            spare.append(claim)
    return own, spare


def _is_ending(claim: ClaimView, snapshot: Snapshot) -> bool:
    """Whether its runner has done a job, and had no time yet to exit."""
    return any(
        job.completed_at is not None
        and claim_of_runner(job.runner) == claim.id
        and snapshot.now - job.completed_at < ENDING
        for job in snapshot.jobs.values()
    )


def _judge(claim: ClaimView, job: Job | None) -> Action:
    """What becomes of a claim that no queued job needs."""
    if job is None:
        return ReadJob(claim, job_of(claim) or 0, f"the state of job {job_of(claim)} was not read yet")
    if job.status is JobStatus.COMPLETED:
        return ReleaseClaim(claim, f"job {job.id} is completed, and no queued job needs its runner")
    if job.status is JobStatus.IN_PROGRESS:
        return ReleaseClaim(
            claim, f"job {job.id} runs on {job.runner or 'another runner'}, and no queued job needs this one"
        )
    if job.status is JobStatus.QUEUED:
        return ReleaseClaim(claim, f"job {job.id} has another claim")
    return ReadJob(claim, job.id, f"job {job.id} is {job.status.value}")
