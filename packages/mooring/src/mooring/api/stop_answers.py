"""Answers to the requests that a stopping server cancels: 503 instead of uvicorn's 500 and a traceback for each."""

import asyncio

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from mooring.api.errors import ErrorBody
from mooring.controllers.claims.waiting_clients import Stopping

_BODY = msgspec.json.encode(
    ErrorBody(
        Stopping.code,
        "this replica of Mooring stops; the request may have taken effect",
        {"fix": "repeat the request, a claim with the same idempotencyKey"},
    )
)
_HEADERS = ((b"content-type", b"application/json"), (b"content-length", str(len(_BODY)).encode()))


class StopAnswers:
    """An application whose requests are cancelled when the grace of the server is over."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def note_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, note_start)
        except asyncio.CancelledError:
            if scope["type"] != ScopeType.HTTP:
                raise
            if not started:
                await send({"type": "http.response.start", "status": 503, "headers": _HEADERS})
                await send({"type": "http.response.body", "body": _BODY, "more_body": False})
