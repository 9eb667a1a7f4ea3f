"""Credentials are renewed in time, once for everybody, and a refused request is sent once more."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hawser.clock import LoopClock
from hawser.credentials import (
    AuthenticatedTransport,
    Credential,
    Credentials,
    FixedCredential,
    TokenFile,
    basic,
    bearer,
)
from hawser.errors import CredentialsFailed
from hawser.transport import Request, Response
from packages.hawser.tests.answers import FakeApi, whole

START = datetime(2026, 3, 1, tzinfo=UTC)
GET = Request("GET", "/x")


@dataclass
class Issuer:
    """A slow source of numbered tokens, and an API that accepts only the newest."""

    valid: int = 1
    loads: int = 0
    broken: bool = False
    lifetime: timedelta | None = None
    reload_seconds: float | None = None
    clock: LoopClock = field(default_factory=lambda: LoopClock(START))

    async def load(self) -> Credential:
        self.loads += 1
        await asyncio.sleep(0.5)
        if self.broken:
            raise CredentialsFailed("the issuer is away")
        return Credential(
            bearer(str(self.valid)), expires_at=self.clock.now() + self.lifetime if self.lifetime else None
        )

    def answer(self, request: Request) -> Response:
        return whole({}, 200 if request.headers.get("authorization") == bearer(str(self.valid)) else 401)

    def transport(self) -> tuple[AuthenticatedTransport, FakeApi]:
        api = FakeApi(self.answer)
        return AuthenticatedTransport(api, Credentials(self, self.clock)), api


async def test_a_credential_is_put_on_every_request() -> None:
    transport, api = Issuer().transport()
    assert (await transport.send(Request("GET", "/x", headers={"accept": "a"}))).status == 200
    assert api.last.headers == {"accept": "a", "authorization": "Bearer 1"}


async def test_a_hundred_refusals_renew_once_and_each_request_is_sent_once_more() -> None:
    issuer = Issuer()
    transport, api = issuer.transport()
    await transport.send(GET)
    issuer.valid = 2
    answers = await asyncio.gather(*[transport.send(GET) for _ in range(100)])
    assert [answer.status for answer in answers] == [200] * 100
    assert issuer.loads == 2
    assert len(api.requests) == 1 + 200


async def test_a_request_is_sent_again_only_once() -> None:
    issuer = Issuer()
    api = FakeApi(lambda request: whole({}, 401))

    async def another() -> Credential:
        issuer.valid += 1
        return Credential(bearer(str(issuer.valid)))

    issuer.load = another  # type: ignore[method-assign]
    transport = AuthenticatedTransport(api, Credentials(issuer, issuer.clock))
    assert (await transport.send(GET)).status == 401
    assert len(api.requests) == 2


async def test_a_refused_credential_that_cannot_change_is_not_tried_again() -> None:
    api = FakeApi(lambda request: whole({}, 401))
    source = FixedCredential(Credential(bearer("t")))
    transport = AuthenticatedTransport(api, Credentials(source, LoopClock(START)))
    answer = await transport.send(GET)
    assert answer.status == 401
    assert await answer.read() == b"{}"
    assert len(api.requests) == 1


async def test_a_refusal_that_arrives_after_the_renewal_uses_what_is_there() -> None:
    issuer = Issuer()
    credentials = Credentials(issuer, issuer.clock)
    old = await credentials.current()
    issuer.valid = 2
    new = await credentials.after_refusal(old)
    assert await credentials.after_refusal(old) is new
    assert issuer.loads == 2


async def test_an_old_credential_is_looked_up_again_after_a_minute() -> None:
    issuer = Issuer(reload_seconds=60)
    transport, _ = issuer.transport()
    for _ in range(50):
        await transport.send(GET)
        await issuer.clock.sleep(1)
    assert issuer.loads == 1
    await issuer.clock.sleep(10)
    await asyncio.gather(*[transport.send(GET) for _ in range(10)])
    assert issuer.loads == 2


async def test_an_expired_credential_is_not_used() -> None:
    issuer = Issuer(lifetime=timedelta(minutes=15))
    transport, api = issuer.transport()
    await transport.send(GET)
    await issuer.clock.sleep(14 * 60)
    await transport.send(GET)
    assert issuer.loads == 1
    issuer.valid = 2
    await issuer.clock.sleep(60)
    assert (await transport.send(GET)).status == 200
    assert len(api.requests) == 3


async def test_a_source_that_is_away_leaves_the_old_credential_in_use() -> None:
    issuer = Issuer(reload_seconds=60)
    transport, _ = issuer.transport()
    await transport.send(GET)
    issuer.broken = True
    await issuer.clock.sleep(61)
    assert (await transport.send(GET)).status == 200
    assert (await transport.send(GET)).status == 200
    assert issuer.loads == 2


async def test_a_source_that_is_away_when_it_is_needed_is_an_error_for_all_who_wait() -> None:
    issuer = Issuer()
    transport, _ = issuer.transport()
    await transport.send(GET)
    issuer.valid, issuer.broken = 2, True
    results = await asyncio.gather(*[transport.send(GET) for _ in range(20)], return_exceptions=True)
    assert all(isinstance(result, CredentialsFailed) for result in results)
    assert issuer.loads == 2
    issuer.broken = False
    assert (await transport.send(GET)).status == 200


async def test_somebody_who_gives_up_does_not_stop_the_renewal_for_the_others() -> None:
    issuer = Issuer()
    transport, _ = issuer.transport()
    impatient = asyncio.create_task(transport.send(GET))
    patient = asyncio.create_task(transport.send(GET))
    await issuer.clock.sleep(0.1)
    impatient.cancel()
    assert (await patient).status == 200
    assert issuer.loads == 1


async def test_a_renewal_that_nobody_waits_for_any_more_may_fail_quietly() -> None:
    issuer = Issuer(broken=True)
    transport, _ = issuer.transport()
    lonely = asyncio.create_task(transport.send(GET))
    await issuer.clock.sleep(0.1)
    lonely.cancel()
    await issuer.clock.sleep(1)
    issuer.broken = False
    assert (await transport.send(GET)).status == 200


async def test_a_token_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    source = TokenFile(path)
    assert source.reload_seconds == 60
    assert (await source.load()).authorization == "Bearer one"
    path.write_text("two")
    assert (await source.load()).authorization == "Bearer two"


@pytest.mark.parametrize("content", [b"", b"  \n", b"\xff\xfe"])
async def test_a_token_file_without_a_token_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(CredentialsFailed, match=str(path)):
        await TokenFile(path).load()


async def test_a_token_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CredentialsFailed, match="token"):
        await TokenFile(tmp_path / "token").load()


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(Credential(bearer("secret")))
    assert basic("user", "pass") == "Basic dXNlcjpwYXNz"
