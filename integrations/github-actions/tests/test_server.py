"""A client that sends nothing, or sends slowly, keeps no connection of the receiver."""

import asyncio
from typing import Any, cast

import pytest
from aiohttp import web

from mooring_github_actions import server
from mooring_github_actions.receiver import Receiver, Secrets

pytestmark = pytest.mark.realtime

HEAD = b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"


def application() -> web.Application:
    unused = cast(Any, None)
    return Receiver(Secrets(b"secret", 1), unused, unused, unused, unused).application()


@pytest.mark.parametrize(
    ("sent", "answer"),
    [(b"", b""), (HEAD, b""), (HEAD + b"\r\na", b"HTTP/1.1 408")],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_request_that_does_not_arrive_ends_its_connection(
    sent: bytes, answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(server, "BODY_SECONDS", 0.2)
    async with server.serving(application(), "127.0.0.1", 0) as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        assert (await reader.read()).startswith(answer)
        writer.close()


async def test_a_connection_that_has_sent_a_request_stays_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    async with server.serving(application(), "127.0.0.1", 0) as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readuntil(b'{"status": "ok"}')).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(0.4)
        writer.close()


async def test_a_client_that_leaves_within_its_body_is_no_error_of_the_receiver(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with server.serving(application(), "127.0.0.1", 0) as port, asyncio.timeout(20):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"\r\na")
        await asyncio.sleep(0.2)
        writer.transport.abort()
        await asyncio.sleep(0.2)
    assert "Traceback" not in caplog.text
