"""Our client and the fake GitHub against the published REST and webhook schemas."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from hawser.clock import SystemClock
from mooring.model.errors import InvalidInput
from mooring_github_actions.app_token import AppKey
from mooring_github_actions.github import GitHub, GitHubError, Installation, RateLimited
from mooring_github_actions.job import JobStatus, read_delivery, read_job
from mooring_github_actions.pools import parse_rules
from mooring_github_actions.runners import Runners

from ..demo.fake_github import APP, INSTALLATION, REPOSITORY, FakeGitHub  # type: ignore[import-not-found]
from ..demo.samples import load  # type: ignore[import-not-found]
from .contract import Contract, find_faults, held_to_contract  # type: ignore[import-not-found]

pytestmark = pytest.mark.realtime

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.json"))
RULES = parse_rules("ci/runners=self-hosted,linux,x64")
OWNER = "github"
CALL = {
    "claim": "c-1",
    "attempt": 1,
    "owner": OWNER,
    "pool": "ci/runners",
    "payload": {"github": {"repository": REPOSITORY}},
}


@contextlib.asynccontextmanager
async def running(fake: FakeGitHub, contract: Contract) -> AsyncIterator[GitHub]:
    server = web.AppRunner(fake.application(contract.check))
    await server.setup()
    site = web.TCPSite(server, "127.0.0.1", 0)
    await site.start()
    fake.url = f"http://127.0.0.1:{server.addresses[0][1]}"
    try:
        async with GitHub(Installation(fake.url, INSTALLATION), AppKey(APP, fake.pem), SystemClock()) as github:
            yield github
    finally:
        await server.cleanup()


async def test_every_request_and_answer_fits_the_published_rest_schemas() -> None:
    with held_to_contract() as contract:
        fake = FakeGitHub()
        async with running(fake, contract) as github:
            job = fake.push()
            runners = Runners(github, RULES, OWNER, 1)
            minted = await runners.register(CALL)
            assert minted["runner"]["name"] == "mooring-c-1-1"
            assert [name async for name in github.list_repositories()] == [REPOSITORY]
            (found,) = [job async for job in github.list_unfinished(REPOSITORY)]
            assert read_job(found, REPOSITORY).id == job.id
            taken = fake.take(next(iter(fake.runners.values())))
            assert taken is job
            (found,) = [job async for job in github.list_unfinished(REPOSITORY)]
            assert read_job(found, REPOSITORY).runner == "mooring-c-1-1"
            assert not await runners.remove(REPOSITORY, "c-1", 1), "it runs a job"
            fake.finish(next(iter(fake.runners.values())))
            read = await github.get_job(REPOSITORY, job.id)
            assert read is not None and read_job(read, REPOSITORY).status is JobStatus.COMPLETED
            await runners.register({**CALL, "attempt": 2})
            assert await runners.remove(REPOSITORY, "c-1", 2) and not fake.runners
            assert await github.get_job(REPOSITORY, 999) is None
    repository = {name for name in load("rest")["operations"] if "/orgs/" not in name}
    assert contract.used == repository, "every described operation was called"


@pytest.mark.parametrize("action", ["queued", "in_progress", "completed", "waiting"])
def test_the_webhooks_of_the_fake_fit_the_published_schemas(action: str) -> None:
    fake = FakeGitHub()
    job = fake.push()
    job.status = action
    if action in ("in_progress", "completed"):
        job.runner = "mooring-c-1-1"
    if action == "completed":
        job.conclusion, job.completed_at = "success", "2026-03-01T12:00:00Z"
    payload = fake.webhook(job, action)
    assert find_faults("webhooks", load("webhooks")["events"][action], payload) == []
    assert read_delivery(payload).id == job.id


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_published_examples_are_understood(example: Path) -> None:
    payload = json.loads(example.read_text())
    job = read_delivery(payload)
    assert (job.id, job.status.value) == (payload["workflow_job"]["id"], payload["workflow_job"]["status"])
    assert job.repository == payload["repository"]["full_name"]


async def test_the_token_of_the_installation_is_kept_and_a_revoked_one_replaced() -> None:
    fake = FakeGitHub()
    with held_to_contract() as contract:
        async with running(fake, contract) as github:
            await github.find_runners(REPOSITORY, "a")
            await github.find_runners(REPOSITORY, "b")
            assert fake.tokens == 1
            fake.tokens = 5  # the token is not valid any more
            with pytest.raises(GitHubError, match="Bad credentials"):
                await github.find_runners(REPOSITORY, "a")
            await github.find_runners(REPOSITORY, "a")
            assert fake.tokens == 6


async def test_an_unchanged_answer_costs_nothing_of_the_rate_limit() -> None:
    fake = FakeGitHub()
    with held_to_contract() as contract:
        async with running(fake, contract) as github:
            job = fake.push()
            await github.get_job(REPOSITORY, job.id)
            left = fake.remaining
            assert (await github.get_job(REPOSITORY, job.id) or {})["status"] == "queued"
            assert fake.remaining == left
            fake.cancel(job)
            assert (await github.get_job(REPOSITORY, job.id) or {})["status"] == "completed"


async def test_no_request_is_sent_while_the_rate_limit_is_reached() -> None:
    fake = FakeGitHub()
    with held_to_contract() as contract:
        async with running(fake, contract) as github:
            await github.find_runners(REPOSITORY, "a")
            fake.remaining = 0
            with pytest.raises(RateLimited):
                await github.find_runners(REPOSITORY, "b")
            sent = len(fake.requests)
            with pytest.raises(RateLimited):
                await github.find_runners(REPOSITORY, "c")
            assert len(fake.requests) == sent


async def test_a_name_that_is_taken_is_registered_again() -> None:
    """An earlier call for the attempt was answered, and Mooring never got the answer."""
    fake = FakeGitHub()
    with held_to_contract() as contract:
        async with running(fake, contract) as github:
            runners = Runners(github, RULES, OWNER, 1)
            first = await runners.register(CALL)
            second = await runners.register(CALL)
            assert second["runner"]["id"] != first["runner"]["id"]
            assert [runner.id for runner in fake.runners.values()] == [second["runner"]["id"]]


@pytest.mark.parametrize(
    "change",
    [
        {"owner": "team-b"},
        {"owner": None},
        {"payload": {"github": {"repository": "../../orgs/acme/actions"}}},
        {"payload": {"github": {"repository": "../acme"}}},
        {"payload": {"github": {"repository": "acme/.."}}},
        {"payload": {"github": {"repository": "acme/app?x="}}},
        {"payload": {"github": {"repository": "acme/app#"}}},
        {"payload": {"github": {"repository": "acme/%2e%2e"}}},
    ],
)
async def test_a_claim_that_the_receiver_did_not_make_gets_no_runner(change: dict[str, object]) -> None:
    """Whoever may claim from the pool writes a payload: it must not name a repository whose jobs it then gets."""
    fake = FakeGitHub()
    with held_to_contract() as contract:
        async with running(fake, contract) as github:
            with pytest.raises(InvalidInput):
                await Runners(github, RULES, OWNER, 1).register({**CALL, **change})
            assert not fake.requests and not fake.runners
