"""The mint's webhook, against a small server on loopback."""

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import web

from mooring.control.claiming.minting import MintFailed, WebhookMinter
from mooring.model.claim import ClaimState
from mooring.model.pool import Pool, PoolSpec
from tests.planning.fleets import TEMPLATE
from tests.planning.test_claims import row


class Webhook:
    """Answers as told, and remembers what it was asked."""

    def __init__(self, answer: web.Response, *, in_pieces: bool = False) -> None:
        self._answer = answer
        self._in_pieces = in_pieces
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append((request.headers["Idempotency-Key"], await request.json()))
        return web.Response(status=self._answer.status, body=self._answer.body)

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

    async def mint(self, *epochs: int) -> dict[str, Any] | None:
        """Ask once for each epoch of one claim; answers the last payload."""
        app = web.Application()
        app.router.add_post("/mint", self.handle_in_pieces if self._in_pieces else self.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        minter = WebhookMinter()
        try:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}/mint"
            spec = {"warm": 1, "max": 1, "template": TEMPLATE, "mint": {"url": url, "timeoutSeconds": 5}}
            pool = Pool("runners", "linux", "pool-uid", 1, msgspec.convert(spec, PoolSpec))
            payload = None
            for epoch in epochs:
                payload = await minter.mint(pool, row(ClaimState.CLAIMED, epoch=epoch))
            return payload
        finally:
            await minter.close()
            await runner.cleanup()


def test_a_claim_that_is_minted_again_under_a_new_epoch_keeps_its_reference():
    webhook = Webhook(web.json_response({"token": "t"}))
    assert asyncio.run(webhook.mint(7, 8)) == {"token": "t"}
    assert [reference for reference, _ in webhook.asked] == ["claim-1", "claim-1"]
    assert [(body["claim"], body["epoch"], body["owner"]) for _, body in webhook.asked] == [
        ("claim-1", 7, "acme"),
        ("claim-1", 8, "acme"),
    ]


def test_an_answer_that_arrives_in_pieces_is_read_to_its_end():
    webhook = Webhook(web.json_response({"token": "t" * 1000}), in_pieces=True)
    assert asyncio.run(webhook.mint(7)) == {"token": "t" * 1000}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (web.Response(status=503), "answered 503"),
        (web.Response(status=302), "answered 302"),
        (web.Response(text="no json"), "did not answer"),
        (web.Response(text="[1]"), "something else than a JSON object"),
        (web.Response(text=" " * 300_000), "more than"),
    ],
)
def test_what_is_no_payload_is_a_failed_mint_and_is_not_asked_for_again(answer, told):
    webhook = Webhook(answer)
    with pytest.raises(MintFailed, match=told):
        asyncio.run(webhook.mint(7))
    assert len(webhook.asked) == 1
