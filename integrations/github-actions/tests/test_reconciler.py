"""The periodic look: what it must not wait for, and what must not end it. In virtual time, with a GitHub in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from hawser.clock import SystemClock
from mooring.client.records import read_claim
from mooring_github_actions.github import GitHubError, RateLimited
from mooring_github_actions.job import Job, JobStatus
from mooring_github_actions.pools import parse_rules
from mooring_github_actions.reconciler import ClaimPolicy, Reconciler

LABELS = ["linux", "self-hosted"]


class Repositories:
    """Stands for GitHub: jobs of repositories, an answer time, and repositories that answer with an error."""

    def __init__(self, jobs: Mapping[str, list[dict[str, Any]]], answer_seconds: float = 0.1) -> None:
        self.jobs = jobs
        self.failing: dict[str, GitHubError] = {}
        self.looks = 0
        self._answer_seconds = answer_seconds

    async def list_repositories(self) -> AsyncIterator[str]:
        self.looks += 1
        for repository in self.jobs:
            yield repository

    async def list_unfinished(self, repository: str) -> AsyncIterator[dict[str, Any]]:
        await self._answer(repository)
        for job in self.jobs[repository]:
            yield job

    async def get_job(self, repository: str, job: int) -> dict[str, Any] | None:
        await self._answer(repository)
        return next((found for found in self.jobs[repository] if found["id"] == job), None)

    async def _answer(self, repository: str) -> None:
        await asyncio.sleep(self._answer_seconds)
        if repository in self.failing:
            raise self.failing[repository]


class Pool:
    """Stands for Mooring: notes which claims are asked for, and when."""

    def __init__(self) -> None:
        self.asked: dict[str, float] = {}

    async def claims(self, pool: str, *, owner: str, limit: int) -> list[Any]:
        return [self._claim(key) for key in self.asked]

    async def enqueue(self, pool: str, *, key: str, **_: Any) -> Any:
        self.asked.setdefault(key, asyncio.get_running_loop().time())
        return self._claim(key)

    def _claim(self, key: str) -> Any:
        body = {"id": key, "namespace": "ci", "pool": "linux", "owner": "github", "ttlSeconds": 60, "epoch": 1}
        return read_claim({**body, "state": "queued", "idempotencyKey": key})


def queued(job: int, status: str = "queued") -> dict[str, Any]:
    return {"id": job, "run_id": job, "labels": LABELS, "status": status}


@contextlib.asynccontextmanager
async def running(github: Repositories) -> AsyncIterator[tuple[Reconciler, Pool]]:
    made: Any = github
    pool: Any = Pool()
    policy = ClaimPolicy(parse_rules("ci/linux=self-hosted,linux"), "github")
    reconciler = Reconciler(pool, made, policy, SystemClock())
    task = asyncio.create_task(reconciler.run())
    try:
        yield reconciler, pool
        assert not task.done(), task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_a_webhook_does_not_wait_for_the_look_at_many_repositories() -> None:
    github = Repositories({f"acme/r{number}": [] for number in range(600)}, answer_seconds=0.5)
    async with running(github) as (reconciler, pool):
        await asyncio.sleep(30)  # the look takes five minutes
        reported = asyncio.get_running_loop().time()
        reconciler.report(Job(7, 7, "acme/r1", tuple(LABELS), JobStatus.QUEUED))
        await asyncio.sleep(20)
        assert pool.asked["github-job-7-1"] - reported < 1


@pytest.mark.parametrize("status", [403, 404, 451, 502])
async def test_a_repository_that_answers_with_an_error_does_not_hide_the_jobs_of_others(status: int) -> None:
    github = Repositories({"acme/broken": [], "acme/app": [queued(5)]})
    github.failing["acme/broken"] = GitHubError(status, "no")
    async with running(github) as (reconciler, pool):
        reconciler.report(Job(3, 3, "acme/broken", tuple(LABELS), JobStatus.QUEUED))
        await asyncio.sleep(30)
        assert set(pool.asked) == {"github-job-3-1", "github-job-5-1"}
        assert github.looks == 1, "the next look is not earlier than after a complete one"


async def test_a_job_with_a_status_that_is_not_known_does_not_end_the_receiver() -> None:
    github = Repositories({"acme/app": [queued(3)]})
    async with running(github) as (_, pool):
        await asyncio.sleep(5)
        github.jobs["acme/app"][:] = [queued(3, "paused"), queued(4)]
        await asyncio.sleep(120)
        assert set(pool.asked) == {"github-job-3-1", "github-job-4-1"}


@pytest.mark.parametrize("error", [GitHubError(0, "no answer"), RateLimited(403, SystemClock().now())])
async def test_a_silent_github_and_a_reached_rate_limit_end_the_look_and_it_begins_again_soon(
    error: GitHubError,
) -> None:
    github = Repositories({"acme/first": [], "acme/app": [queued(5)]})
    github.failing["acme/first"] = error
    async with running(github) as (_, pool):
        await asyncio.sleep(30)
        assert not pool.asked
        github.failing.clear()
        await asyncio.sleep(6)
        assert set(pool.asked) == {"github-job-5-1"}
