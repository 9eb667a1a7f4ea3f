"""The mint's webhook, against a small server on loopback."""

import asyncio
import base64
import contextlib
import gzip
import re
import tracemalloc
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.transport import Request, Response
from mooring.controllers.claims.mint import MintFailed, WebhookMinter
from mooring.controllers.claims.mint_auth import MintKeys
from mooring.model.claim import ClaimState, EndCause
from mooring.model.pool import Mint, Pool, PoolSpec
from mooring.planning.destinations import THIS_MACHINE, OutgoingPolicy
from packages.mooring.tests.planning.fleets import TEMPLATE
from packages.mooring.tests.planning.invariants.test_claims import row

pytestmark = pytest.mark.realtime

DOCUMENT = Path(__file__).parents[5] / "docs" / "how-to" / "mint.md"
KEY = b"a key with \x00 bytes"
TOKEN = "s3cr3t-token"
BEARER = {"bearer": {"secretName": "mint", "key": "token"}}
HMAC = {"hmac": {"secretName": "mint", "key": "hmac"}}


class Secrets:
    """The API server, as far as a mint needs it."""

    def __init__(self) -> None:
        self.status = 200
        self.data = {"token": f" {TOKEN}\n".encode(), "hmac": KEY, "broken": b"two words\r\nX: y"}
        self.reads: list[str] = []

    async def send(self, request: Request) -> Response:
        self.reads.append(request.path)
        data = {key: base64.b64encode(value).decode() for key, value in self.data.items()}
        found: dict[str, Any] = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "mint"}, "data": data}
        if self.status != 200:
            found = {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "code": self.status,
                "message": "no",
                "reason": {403: "Forbidden", 404: "NotFound"}.get(self.status, ""),
            }

        async def body() -> AsyncIterator[bytes]:
            yield msgspec.json.encode(found)

        return Response(self.status, {"content-type": "application/json"}, body())


class Webhook:
    """Answers as told, and remembers what it was asked."""

    def __init__(self, answer: web.Response, *, in_pieces: bool = False, auth: dict[str, Any] | None = None) -> None:
        self._answer = answer
        self._in_pieces = in_pieces
        self._auth = auth
        self._secrets = Secrets()
        self.received: list[tuple[Mapping[str, str], bytes]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.received.append((request.headers, await request.read()))
        self.asked.append((request.headers["Idempotency-Key"], await request.json()))
        passed = ("Content-Encoding", "Location")
        headers = {key: value for key, value in self._answer.headers.items() if key in passed}
        return web.Response(status=self._answer.status, body=self._answer.body, headers=headers)

    async def handle_in_pieces(self, request: web.Request) -> web.StreamResponse:
        """The same answer, with a pause in the middle."""
        whole = await self.handle(request)
        assert isinstance(whole.body, bytes)
        answer = web.StreamResponse()
        await answer.prepare(request)
        for piece in (whole.body[:5], whole.body[5:]):
            await answer.write(piece)
            await asyncio.sleep(0.05)
        return answer

    async def mint(self, *epochs: int, revoking: bool = False, refused: bool = False) -> dict[str, Any] | None:
        """Ask once for each epoch of one claim; answers the last payload. `revoking` is the other call."""
        app = web.Application()
        app.router.add_post("/mint", self.handle_in_pieces if self._in_pieces else self.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        minter = WebhookMinter(MintKeys(KubeClient(self._secrets), SystemClock()), THIS_MACHINE)
        try:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/mint"
            spec = {"warm": 1, "max": 1, "template": TEMPLATE, "mint": {"url": url, "timeoutSeconds": 5}}
            if self._auth is not None:
                spec["mint"]["auth"] = self._auth
            pool = Pool("runners", "linux", "pool-uid", 1, msgspec.convert(spec, PoolSpec))
            payload = None
            for attempt, epoch in enumerate(epochs, 1):
                claim = row(ClaimState.CLAIMED, epoch=epoch, attempt=attempt, payload={"command": ["make"]})
                if revoking:
                    ended = msgspec.structs.replace(
                        claim, state=ClaimState.EXPIRED, cause=EndCause.EXPIRED, payload=None
                    )
                    await minter.revoke(msgspec.convert({**spec["mint"], "revokeURL": url}, Mint), ended)
                    continue
                with pytest.raises(MintFailed) if refused else contextlib.nullcontext():
                    payload = await minter.mint(pool, claim)
            return payload
        finally:
            await minter.close()
            await runner.cleanup()


async def test_a_claim_that_is_minted_again_under_a_new_epoch_keeps_its_reference():
    webhook = Webhook(web.json_response({"token": "t"}))
    assert await webhook.mint(7, 8) == {"token": "t"}
    assert [reference for reference, _ in webhook.asked] == ["claim-1", "claim-1"]
    assert [(body["claim"], body["epoch"], body["owner"]) for _, body in webhook.asked] == [
        ("claim-1", 7, "acme"),
        ("claim-1", 8, "acme"),
    ]


async def test_an_answer_that_arrives_in_pieces_is_read_to_its_end():
    webhook = Webhook(web.json_response({"token": "t" * 1000}), in_pieces=True)
    assert await webhook.mint(7) == {"token": "t" * 1000}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (web.Response(status=503), "answered 503"),
        (web.Response(status=302), "answered 302"),
        (web.Response(status=307, headers={"Location": "/mint"}), "answered 307"),
        (web.Response(text="no json"), "did not answer with JSON"),
        (web.Response(body=b'{"a": "\xff"}'), "did not answer with JSON"),
        (web.Response(text='{"a":' * 20_000), "did not answer with JSON"),
        (web.Response(text='{"a":' * 500 + "1" + "}" * 500), "nested at most 64 deep"),
        (web.Response(text='{"token": "a\\u0000b"}'), "text without NUL characters"),
        (web.Response(text="[1]"), "did not answer with a JSON object"),
        (web.Response(text=" " * 300_000), "more than"),
        (web.Response(body=gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"}), "compressed"),
    ],
)
async def test_what_is_no_payload_is_a_failed_mint_and_is_not_asked_for_again(answer, told):
    webhook = Webhook(answer)
    with pytest.raises(MintFailed, match=told):
        await webhook.mint(7)
    assert len(webhook.asked) == 1


async def test_the_request_carries_the_clients_payload_the_attempt_and_the_claim():
    webhook = Webhook(web.json_response({}))
    await webhook.mint(7, 9)
    bodies = [body for _, body in webhook.asked]
    assert [(body["claim"], body["attempt"], body["epoch"]) for body in bodies] == [
        ("claim-1", 1, 7),
        ("claim-1", 2, 9),
    ]
    assert all(body["payload"] == {"command": ["make"]} and body["pool"] == "runners/linux" for body in bodies)


async def test_a_bearer_token_comes_from_the_secret_without_its_white_space_and_is_read_once():
    webhook = Webhook(web.json_response({}), auth=BEARER)
    await webhook.mint(7, 8)
    assert [headers["Authorization"] for headers, _ in webhook.received] == [f"Bearer {TOKEN}"] * 2
    assert webhook._secrets.reads == ["/api/v1/namespaces/runners/secrets/mint"]


def documented_verify() -> Any:
    """The function of the document, as a reader would copy it."""
    [example] = [block for block in re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.S) if "verify" in block]
    names: dict[str, Any] = {}
    exec(example, names)
    return names["verify"]


@pytest.mark.parametrize("revoking", [False, True], ids=["mint", "revoke"])
async def test_a_signed_request_passes_the_documented_verification_and_a_changed_one_does_not(revoking):
    webhook = Webhook(web.json_response({}), auth=HMAC)
    await webhook.mint(7, revoking=revoking)
    [(headers, body)] = webhook.received
    verify = documented_verify()
    sent_at = int(headers["Mooring-Timestamp"])
    assert verify(KEY, headers, body)
    assert not verify(b"another key", headers, body)
    assert not verify(KEY, headers, body + b" ")
    assert not verify(KEY, {**headers, "Mooring-Timestamp": str(sent_at + 1)}, body)
    assert not verify(KEY, headers, body, now=sent_at + 301)
    assert not verify(KEY, {}, body)


async def test_a_revocation_says_how_the_claim_ended_and_carries_no_payload():
    webhook = Webhook(web.Response(status=204))
    await webhook.mint(7, revoking=True)
    [(reference, body)] = webhook.asked
    assert (reference, body["claim"], body["attempt"], body["state"], body["cause"]) == (
        "claim-1", "claim-1", 1, "expired", "expired",
    )  # fmt: skip
    assert "payload" not in body


@pytest.mark.parametrize(("status", "done"), [(200, True), (410, True), (404, False), (302, False), (503, False)])
async def test_a_revocation_succeeds_with_2xx_or_gone(status, done):
    webhook = Webhook(web.Response(status=status))
    if done:
        await webhook.mint(7, revoking=True)
    else:
        with pytest.raises(MintFailed, match=f"answered {status}"):
            await webhook.mint(7, revoking=True)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_the_mint_refuses_is_read_again(status):
    webhook = Webhook(web.Response(status=status), auth=BEARER)
    await webhook.mint(7, 8, refused=True)
    assert len(webhook.received) == len(webhook._secrets.reads) == 2


@pytest.mark.parametrize(
    ("status", "which", "said"),
    [
        (404, BEARER, "Secret runners/mint of the mint does not exist"),
        (403, BEARER, "Mooring may not read Secret runners/mint of the mint"),
        (500, BEARER, "cannot be read"),
        (200, {"hmac": {"secretName": "mint", "key": "absent"}}, "has no key 'absent'"),
        (200, {"bearer": {"secretName": "mint", "key": "broken"}}, "is not a bearer token"),
    ],
)
async def test_without_its_key_a_mint_is_not_called_and_no_error_shows_a_secret(status, which, said):
    webhook = Webhook(web.json_response({}), auth=which)
    webhook._secrets.status = status
    with pytest.raises(MintFailed, match=said) as caught:
        await webhook.mint(7)
    assert webhook.asked == []
    shown = f"{caught.value!r} {caught.value.message} {caught.value.fix} {caught.value.__cause__!r}"
    assert TOKEN not in shown and "two words" not in shown


async def test_a_mint_at_a_metadata_service_is_not_called_and_the_error_says_so():
    minter = WebhookMinter(MintKeys(KubeClient(Secrets()), SystemClock()), OutgoingPolicy())
    spec = {"warm": 1, "max": 1, "template": TEMPLATE, "mint": {"url": "http://169.254.169.254/latest/meta-data"}}
    pool = Pool("runners", "linux", "pool-uid", 1, msgspec.convert(spec, PoolSpec))
    with pytest.raises(MintFailed, match="the mint of runners/linux is not called") as refused:
        await minter.mint(pool, row(ClaimState.CLAIMED, epoch=1, attempt=1))
    assert refused.value.fix == "correct the URL: no setting allows this destination"
    await minter.close()


@pytest.mark.parametrize(
    "url", ["http://u:hidden@127.0.0.1:1/mint?key=hidden#hidden", "http://127.0.0.1:1/x?sig=hidden", "http://[hidden/"]
)
async def test_an_error_of_a_mint_shows_no_secret_of_its_url(url: str):
    minter = WebhookMinter(MintKeys(KubeClient(Secrets()), SystemClock()), THIS_MACHINE)
    spec = {"warm": 1, "max": 1, "template": TEMPLATE, "mint": {"url": url}}
    pool = Pool("runners", "linux", "pool-uid", 1, msgspec.convert(spec, PoolSpec))
    with pytest.raises(MintFailed) as refused:
        await minter.mint(pool, row(ClaimState.CLAIMED, epoch=1, attempt=1))
    assert "hidden" not in f"{refused.value.message} {refused.value.fix}"
    await minter.close()


async def test_an_answer_that_would_fill_the_memory_is_not_unpacked():
    """64 KB that become 64 MB: what is read is what was sent, and no more than the limit."""
    bomb = gzip.compress(b" " * 64_000_000)
    webhook = Webhook(web.Response(body=bomb, headers={"Content-Encoding": "gzip"}))
    tracemalloc.start()
    try:
        with pytest.raises(MintFailed, match="compressed"):
            await webhook.mint(1)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert webhook.received[0][0]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, "the answer is not HTTP"),
        (b"nonsense\r\n\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "the answer is cut off"),
        (b"", "the connection was closed"),
    ],
    ids=["long header", "no HTTP", "cut off", "nothing"],
)
async def test_an_answer_that_is_not_http_shows_neither_the_key_nor_the_url(answer: bytes, told: str):
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    minter = WebhookMinter(MintKeys(KubeClient(Secrets()), SystemClock()), THIS_MACHINE)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mint?key=hidden"
    spec = {"warm": 1, "max": 1, "template": TEMPLATE, "mint": {"url": url, "auth": BEARER}}
    pool = Pool("runners", "linux", "pool-uid", 1, msgspec.convert(spec, PoolSpec))
    async with server:
        with pytest.raises(MintFailed, match=told) as refused:
            await minter.mint(pool, row(ClaimState.CLAIMED, epoch=1, attempt=1))
    shown = f"{refused.value.message} {refused.value.fix}"
    assert TOKEN not in shown and "hidden" not in shown
    await minter.close()
