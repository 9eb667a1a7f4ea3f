"""HTTPS: the certificate that a client sees, its renewal without a restart, and heads that are too long."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar, Request, get, post

from hawser.clock import SystemClock
from mooring.api import request_limit
from mooring.api.certificate import ServingCertificate, TlsFiles
from mooring.api.hosting import HttpHost, bind, refuse_plain_http
from mooring.api.request_limit import MOST_BYTES
from mooring.api.server import secure_headers
from mooring.model.errors import Misconfigured
from packages.mooring.tests.certificates import TestAuthority

pytestmark = pytest.mark.realtime
AUTHORITY = TestAuthority()


@get("/hello", sync_to_thread=False)
def hello() -> str:
    return "hello"


@post("/wait")
async def wait(request: Request[Any, Any, Any]) -> str:
    await request.body()
    await asyncio.sleep(0.6)
    return "done"


@dataclass
class Served:
    listener: socket.socket
    folder: Path
    certificate: ServingCertificate | None

    async def connect(self, trusted: bytes | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls = ssl.create_default_context(cadata=(trusted or AUTHORITY.pem).decode()) if self.certificate else None
        return await asyncio.open_connection(
            *self.listener.getsockname(), ssl=tls, server_hostname="localhost" if tls else None
        )

    async def ask(self, head: str = "") -> str:
        """The head of the answer."""
        reader, writer = await self.connect()
        writer.write(f"GET /hello HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        answer = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return answer.decode()

    async def seen_serial(self) -> int:
        _, writer = await self.connect()
        serial = int(writer.get_extra_info("peercert")["serialNumber"], 16)
        writer.close()
        return serial


@contextlib.asynccontextmanager
async def served(folder: Path, tls: bool = True) -> AsyncIterator[Served]:
    certificate = None
    if tls:
        certificate = ServingCertificate(TlsFiles(*AUTHORITY.issue().write(folder)), SystemClock())
    with bind("127.0.0.1", 0) as listener:
        app = Litestar([hello, wait], before_send=[secure_headers], openapi_config=None, logging_config=None)
        host = HttpHost(app, [listener], certificate.context if certificate else None)
        running = asyncio.create_task(host.run())
        try:
            yield Served(listener, folder, certificate)
        finally:
            host.stop()
            await running


async def test_with_tls_browsers_are_asked_to_stay_with_it(tmp_path: Path):
    async with served(tmp_path) as there:
        assert "strict-transport-security: max-age=31536000" in await there.ask()
    async with served(tmp_path, tls=False) as there:
        assert "strict-transport-security" not in await there.ask()


async def test_a_renewed_certificate_is_used_for_new_connections_and_open_ones_stay(tmp_path: Path):
    async with served(tmp_path) as there:
        assert there.certificate is not None
        before = await there.seen_serial()
        reader, writer = await there.connect()
        AUTHORITY.issue().write(tmp_path)
        there.certificate.look()
        assert await there.seen_serial() != before
        writer.write(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("tls.key", AUTHORITY.issue().key, "the key does not belong to the certificate"),
        ("tls.crt", b"-----BEGIN CERTIFICATE-----\nMIIB", "PEM"),
        ("tls.key", b"", "PEM"),
        ("tls.crt", None, "tls.crt: No such file or directory"),
    ],
    ids=["foreign key", "cut off", "empty", "missing"],
)
async def test_a_pair_that_cannot_be_used_leaves_the_old_one_in_use_until_it_is_repaired(
    tmp_path: Path, name: str, content: bytes | None, problem: str
):
    async with served(tmp_path) as there:
        assert there.certificate is not None
        before = await there.seen_serial()
        (tmp_path / name).unlink()
        if content is not None:
            (tmp_path / name).write_bytes(content)
        there.certificate.look()
        assert await there.seen_serial() == before
        assert problem in there.certificate.state.problem
        AUTHORITY.issue().write(tmp_path)
        there.certificate.look()
        assert there.certificate.state.problem == ""
        assert await there.seen_serial() != before


def test_a_pair_that_cannot_be_used_at_the_start_is_an_error_with_its_fix(tmp_path: Path):
    certificate, key = AUTHORITY.issue().write(tmp_path)
    key.write_bytes(AUTHORITY.issue().key)
    with pytest.raises(Misconfigured, match="the key does not belong to the certificate") as refused:
        ServingCertificate(TlsFiles(certificate, key), SystemClock())
    assert "MOORING_TLS_KEY" in refused.value.fix


def test_versions_of_tls_that_are_broken_are_not_spoken(tmp_path: Path):
    serving = ServingCertificate(TlsFiles(*AUTHORITY.issue().write(tmp_path)), SystemClock())
    assert serving.context.minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "mooring.example.com"])
def test_plain_http_for_other_machines_has_to_be_asked_for(host: str):
    with pytest.raises(Misconfigured) as refused:
        refuse_plain_http(host)
    assert "MOORING_PLAIN_HTTP=true" in refused.value.fix and "MOORING_TLS_CERTIFICATE" in refused.value.fix


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.3.4.5"])
def test_plain_http_on_loopback_needs_no_permission(host: str):
    refuse_plain_http(host)


async def test_headers_that_are_too_long_are_refused_with_431(tmp_path: Path):
    async with served(tmp_path, tls=False) as there:
        assert "200 OK" in await there.ask(f"X-Long: {'x' * (MOST_BYTES - 100)}\r\n")
        for head in (f"X-Long: {'x' * MOST_BYTES}\r\n", "".join(f"X-{n}: 1\r\n" for n in range(9000))):
            answer = await there.ask(head)
            assert answer.startswith("HTTP/1.1 431") and "connection: close" in answer


async def test_a_head_that_never_ends_is_refused_before_it_fills_the_memory(tmp_path: Path):
    async with served(tmp_path, tls=False) as there:
        reader, writer = await there.connect()
        writer.write(b"GET /hello HTTP/1.1\r\nX-Long: ")
        answer = asyncio.create_task(reader.readline())
        for _ in range(100):
            if not answer.done():
                writer.write(b"x" * 4096)
                await asyncio.wait({answer}, timeout=0.02)
        assert (await answer).startswith(b"HTTP/1.1 431")
        writer.close()


async def test_a_large_body_is_no_head_and_the_next_request_on_its_connection_is_served(tmp_path: Path):
    async with served(tmp_path, tls=False) as there:
        reader, writer = await there.connect()
        first = f"GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: {MOST_BYTES * 4}\r\n\r\n".encode()
        writer.write(first + b"x" * MOST_BYTES * 4 + b"GET /hello HTTP/1.1\r\nHost: y\r\nX: ")
        await writer.drain()
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.write(b"1\r\nConnection: close\r\n\r\n")
        assert b"HTTP/1.1 200" in await reader.read()
        writer.close()


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"", b"HTTP/1.1 408"),
        (b"GET /hello HTTP/1.1\r\nX: ", b"HTTP/1.1 408"),
        (b"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx", b""),
    ],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_request_that_does_not_arrive_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes, answered: bytes
):
    monkeypatch.setattr(request_limit, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(request_limit, "BODY_SECONDS", 0.3)
    async with served(tmp_path, tls=False) as there:
        reader, writer = await there.connect()
        writer.write(sent)
        async with asyncio.timeout(5):
            answer = await reader.read()
        assert answer[:12] == answered
        writer.close()


async def test_a_slow_answer_and_a_pause_between_requests_are_no_slow_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(request_limit, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(request_limit, "BODY_SECONDS", 0.3)
    async with served(tmp_path, tls=False) as there:
        reader, writer = await there.connect()
        for _ in range(2):
            writer.write(b"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 201")
            await reader.readexactly(4)
            await asyncio.sleep(0.6)
        writer.close()
