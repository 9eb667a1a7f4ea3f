"""Keeps the claims of Mooring in step with the jobs of GitHub: after each webhook, and by a periodic look at both."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from hawser.clock import Clock
from mooring.client import AsyncMooring, RemoteError
from mooring.client.records import ClaimView
from mooring.model.errors import InvalidInput, MooringError
from mooring_github_actions.github import GitHub, GitHubError, RateLimited
from mooring_github_actions.job import Job, JobStatus, choose_newer, read_job
from mooring_github_actions.names import attempt_of, job_of, make_key, make_payload
from mooring_github_actions.plan import Action, MakeClaim, ReadJob, ReleaseClaim, Snapshot, plan_claims
from mooring_github_actions.pools import PoolRule, choose_pool
from mooring_github_actions.runners import read_repository, read_runner

log = structlog.get_logger()

MOST_CLAIMS = 1000
REMEMBERED = timedelta(hours=1)  # completed jobs; a late delivery about an older one is read again from GitHub


@dataclass(frozen=True, slots=True)
class ClaimPolicy:
    """How claims are asked for."""

    rules: tuple[PoolRule, ...]
    owner: str
    ttl: str = "5m"
    wait: str = "1h"  # the periodic look asks again for as long as the job is queued
    look_seconds: float = 60.0  # between two looks at all jobs
    pause_seconds: float = 5.0  # between two rounds without news


class Reconciler:
    """One per installation. `report` takes news; `run` acts on them."""

    def __init__(self, mooring: AsyncMooring, github: GitHub, policy: ClaimPolicy, clock: Clock) -> None:
        self._mooring = mooring
        self._github = github
        self._policy = policy
        self._clock = clock
        self._jobs: dict[int, Job] = {}
        self._spent: dict[int, int] = {}
        self._news = asyncio.Event()

    def report(self, job: Job) -> None:
        """News of a job from a webhook."""
        self._note(job)
        self._news.set()

    def _note(self, job: Job) -> None:
        """Jobs whose labels no pool has are run by others."""
        if job.id in self._jobs or choose_pool(job.labels, self._policy.rules) is not None:
            self._jobs[job.id] = choose_newer(self._jobs.get(job.id), job)

    async def run(self) -> None:
        """Until cancelled. A look takes minutes where there are many repositories, so webhooks do not wait for it."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._look_again_and_again())
            tasks.create_task(self._reconcile_again_and_again())

    async def _look_again_and_again(self) -> None:
        while True:
            try:
                await self.look()
                pause = self._policy.look_seconds
            except GitHubError as error:
                log.warning("not all jobs were looked at", because=error.message)
                pause = self._policy.pause_seconds
            self._news.set()
            await self._clock.sleep(pause)

    async def _reconcile_again_and_again(self) -> None:
        """A failed round is repeated: nothing of it is needed by the next one."""
        while True:
            self._news.clear()
            try:
                await self.reconcile()
            except (GitHubError, RemoteError) as error:
                log.warning("a round failed and is repeated", because=error.message)
            try:
                async with asyncio.timeout(self._policy.pause_seconds):
                    await self._news.wait()
            except TimeoutError:
                continue

    async def reconcile(self) -> None:
        """One round."""
        claims = [claim for pool in self._pools for claim in await self._list(pool)]
        for claim in claims:  # after a restart, the keys say how many attempts there were
            if (job := job_of(claim)) is not None:
                self._spent[job] = max(self._spent.get(job, 0), attempt_of(claim) - 1)
        snapshot = Snapshot(self._clock.now(), self._jobs, claims, self._policy.rules, self._spent)
        for action in plan_claims(snapshot):
            await self._carry_out(action)
        self._forget(claims)

    @property
    def _pools(self) -> Iterable[str]:
        return dict.fromkeys(rule.pool for rule in self._policy.rules)

    async def _list(self, pool: str) -> list[ClaimView]:
        return await self._mooring.claims(pool, owner=self._policy.owner, limit=MOST_CLAIMS)

    async def look(self) -> None:
        """All unfinished jobs of GitHub, and those that we believe unfinished. Heals what webhooks missed."""
        seen: set[int] = set()
        async for repository in self._github.list_repositories():
            with _apart(repository):
                async for found in self._github.list_unfinished(repository):
                    if (job := _read_listed(found, repository)) is not None:
                        seen.add(job.id)
                        self._note(job)
        for job in list(self._jobs.values()):
            if job.status is not JobStatus.COMPLETED and job.id not in seen:
                with _apart(job.repository):
                    await self._read(job.id, job.repository)

    async def _read(self, job_id: int, repository: str) -> None:
        found = await self._github.get_job(repository, job_id)
        if found is not None:
            self._jobs[job_id] = choose_newer(self._jobs.get(job_id), read_job(found, repository))
            return
        # Deleted with its run or repository: it will never be run.
        known = self._jobs.get(job_id) or Job(job_id, 0, repository, (), JobStatus.COMPLETED)
        self._jobs[job_id] = Job(
            known.id, known.run, repository, known.labels, JobStatus.COMPLETED, known.runner, self._clock.now()
        )

    async def _carry_out(self, action: Action) -> None:
        log.info("acts", action=type(action).__name__, because=getattr(action, "reason", ""))
        try:
            match action:
                case MakeClaim():
                    await self._make(action)
                case ReleaseClaim():
                    await self._release(action)
                case ReadJob():
                    await self._read(action.job, read_repository(action.claim.payload))
        except (GitHubError, RemoteError, InvalidInput) as error:
            log.warning("an action failed and is planned again", because=error.message)

    async def _make(self, action: MakeClaim) -> None:
        claim = await self._mooring.enqueue(
            action.pool,
            key=make_key(action.job.id, action.attempt),
            owner=self._policy.owner,
            ttl=self._policy.ttl,
            wait=self._policy.wait,
            retryable=True,
            payload=make_payload(action.job),
        )
        if not claim.open:
            # Its runner ran this job or another one, and has ended. GitHub knows whether this job still waits.
            self._spent[action.job.id] = action.attempt
            await self._read(action.job.id, action.job.repository)

    async def _release(self, action: ReleaseClaim) -> None:
        claim = action.claim
        if claim.state == "claimed":
            return  # its runner is being registered; the next round sees it
        repository = read_repository(claim.payload)
        runner = read_runner(claim.payload) if claim.worker is not None else None
        if runner is not None and not await self._github.remove_runner(repository, runner):
            log.info("the runner of a claim runs a job, so it stays", claim=claim.id)
            return
        await self._mooring.release(claim.id, claim.epoch, reason=action.reason)

    def _forget(self, claims: list[ClaimView]) -> None:
        """Completed jobs without a claim, after a while; so memory is bounded by the jobs of an hour."""
        held = {job_of(claim) for claim in claims}
        now = self._clock.now()
        for job in list(self._jobs.values()):
            if (
                job.status is JobStatus.COMPLETED
                and job.id not in held
                and now - (job.completed_at or now) >= REMEMBERED
            ):
                del self._jobs[job.id]
                self._spent.pop(job.id, None)


@contextmanager
def _apart(repository: str) -> Iterator[None]:
    """What GitHub refuses for one repository does not hide the others. Without an answer, none would have one."""
    try:
        yield
    except RateLimited:
        raise
    except GitHubError as error:
        if not error.status:
            raise
        log.warning("a repository was not looked at", repository=repository, because=error.message)
    except InvalidInput as error:
        log.warning("a job is not understood", repository=repository, because=error.message)


def _read_listed(found: dict[str, Any], repository: str) -> Job | None:
    """One job that cannot be read does not hide the others."""
    try:
        return read_job(found, repository)
    except InvalidInput as error:
        log.warning("a job is not understood", repository=repository, because=error.message)
        return None


def explain(error: MooringError) -> dict[str, str]:
    """The body of an error answer."""
    return {"code": error.code, "message": error.message}
