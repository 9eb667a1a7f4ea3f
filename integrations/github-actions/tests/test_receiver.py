"""The HTTP face: what is refused, and with which words."""

import contextlib
import hashlib
import hmac
import io
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hawser.clock import SystemClock
from mooring.client.records import read_claim
from mooring.model.errors import InvalidInput
from mooring_github_actions.github import GitHubError
from mooring_github_actions.job import Job
from mooring_github_actions.receiver import MOST_BYTES, Receiver, Secrets

from ..demo.fake_github import INSTALLATION, REPOSITORY, SECRET, FakeGitHub  # type: ignore[import-not-found]

pytestmark = pytest.mark.realtime

CALL = {
    "claim": "c-1",
    "attempt": 2,
    "owner": "github",
    "pool": "ci/runners",
    "payload": {"github": {"repository": REPOSITORY}},
}


class Ledger:
    """Stands for the reconciler, the runners and Mooring."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.busy = False
        self.removed: list[tuple[str, str, int]] = []

    def report(self, job: Job) -> None:
        self.jobs.append(job)

    def serves(self, call: dict[str, Any]) -> bool:
        return bool(call["owner"] == "github")

    async def register(self, call: dict[str, Any]) -> dict[str, Any]:
        if call["pool"] != "ci/runners":
            raise InvalidInput("pool", call["pool"], "a pool of MOORING_GITHUB_POOLS")
        return {"jitconfig": "x"}

    async def remove(self, repository: str, claim: str, attempts: int) -> bool:
        if claim == "silent":
            raise GitHubError(0, "no answer")
        self.removed.append((repository, claim, attempts))
        return not self.busy

    async def get_claim(self, claim_id: str) -> Any:
        body = {"id": claim_id, "namespace": "ci", "pool": "runners", "owner": "github", "ttlSeconds": 60}
        return read_claim({**body, "state": "released", "epoch": 1, "payload": CALL["payload"]})


class Face:
    """A client of the receiver."""

    def __init__(self, session: aiohttp.ClientSession, ledger: Ledger) -> None:
        self._session = session
        self.ledger = ledger

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, Any]:
        async with self._session.post(path, data=io.BytesIO(body), headers=headers) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if answer.content_type == "application/json" else text

    async def call(self, path: str, body: object, token: str = "token") -> tuple[int, Any]:
        return await self.post(path, json.dumps(body).encode(), {"Authorization": f"Bearer {token}"})


@pytest.fixture
def face() -> contextlib.AbstractAsyncContextManager[Face]:
    @contextlib.asynccontextmanager
    async def running() -> AsyncIterator[Face]:
        ledger: Any = Ledger()
        receiver = Receiver(Secrets(SECRET, INSTALLATION, mint_token="token"), ledger, ledger, ledger, SystemClock())
        server = web.AppRunner(receiver.application())
        await server.setup()
        await web.TCPSite(server, "127.0.0.1", 0).start()
        try:
            async with aiohttp.ClientSession(f"http://127.0.0.1:{server.addresses[0][1]}") as session:
                yield Face(session, ledger)
        finally:
            await server.cleanup()

    return running()


def delivery(body: bytes, name: str = "d-1", event: str = "workflow_job") -> dict[str, str]:
    signature = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": signature, "X-GitHub-Event": event, "X-GitHub-Delivery": name}


def queued() -> bytes:
    fake = FakeGitHub()
    return json.dumps(fake.webhook(fake.push(), "queued")).encode()


async def test_a_signed_delivery_is_noted_once(face: Face) -> None:
    body = queued()
    assert await face.post("/webhook", body, delivery(body)) == (202, {"job": 1, "status": "queued"})
    status, said = await face.post("/webhook", body, delivery(body))
    assert status == 200 and "received before" in said["ignored"]
    assert [job.id for job in face.ledger.jobs] == [1]


async def test_an_unsigned_changed_or_oversized_delivery_is_refused_before_it_is_read(face: Face) -> None:
    body = queued()
    assert (await face.post("/webhook", body + b" ", delivery(body)))[0] == 401
    assert (await face.post("/webhook", body, {"X-GitHub-Event": "workflow_job"}))[0] == 401
    assert (await face.post("/webhook", b"x" * (MOST_BYTES + 1), {}))[0] == 413
    assert face.ledger.jobs == []


async def test_other_events_are_ignored_and_bodies_that_do_not_fit_name_their_field(face: Face) -> None:
    assert await face.post("/webhook", b"{}", delivery(b"{}", event="ping")) == (200, {"ignored": "event ping"})
    assert (await face.post("/webhook", b"nonsense", delivery(b"nonsense")))[0] == 400
    for wrong in (b"[]", b"{}", queued().replace(b'"queued"', b'"sleeping"')):
        status, said = await face.post("/webhook", wrong, delivery(wrong))
        assert status == 422 and said["code"] == "invalid_input", said
    assert face.ledger.jobs == []


async def test_a_delivery_of_another_installation_of_the_app_is_ignored(face: Face) -> None:
    async def post(name: str, **changes: object) -> tuple[int, Any]:
        made = json.loads(queued())
        made.pop("installation", None)
        body = json.dumps({**made, **changes}).encode()
        return await face.post("/webhook", body, delivery(body, name))

    status, said = await post("d-1", installation={"id": INSTALLATION + 1})
    assert (status, said) == (200, {"ignored": f"installation {INSTALLATION + 1}"})
    assert (await post("d-2", installation={"id": "x"}))[0] == 422
    assert face.ledger.jobs == []
    assert (await post("d-3", installation={"id": INSTALLATION}))[0] == 202
    assert (await post("d-4"))[0] == 202, "a webhook of the repository, not of the App, names no installation"


async def test_only_mooring_may_mint_and_revoke(face: Face) -> None:
    for path in ("/mint", "/revoke"):
        assert (await face.call(path, CALL, token="other"))[0] == 401
    assert await face.call("/mint", CALL) == (200, {"jitconfig": "x"})
    assert (await face.call("/mint", {**CALL, "pool": "ci/other"}))[0] == 422
    assert (await face.call("/mint", []))[0] == 422


async def test_a_revocation_removes_the_runners_of_every_attempt_and_is_asked_again_while_one_is_busy(
    face: Face,
) -> None:
    call = {"claim": "c-1", "attempt": 2, "owner": "github"}
    assert await face.call("/revoke", {**call, "owner": "team-b"}) == (200, {}), "it never had a runner"
    assert face.ledger.removed == []
    assert await face.call("/revoke", call) == (200, {})
    assert face.ledger.removed == [(REPOSITORY, "c-1", 2)]
    face.ledger.busy = True
    assert (await face.call("/revoke", call))[0] == 502
    assert (await face.call("/revoke", {**call, "claim": "silent"}))[0] == 502
