"""exec and port-forward through the API server: handed on to the kubelet, and the connection taken out of HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from drydock.api.http import serve
from drydock.api.server import ApiServer
from drydock.streaming.carrier import Carrier
from drydock.streaming.spdy_frames import FrameReader, FrameWriter, Ping
from drydock.streaming.upgrade import SPDY, WEBSOCKET, Upgrade, UpgradeRefused, negotiate, read_offer
from hawser.clock import Entropy, SystemClock
from hawser.transport import Request, Response
from packages.drydock.tests.api.caller import PODS, TOKENS, Caller, caller

Run = Callable[[Coroutine[Any, Any, None]], None]
SPOKEN = {WEBSOCKET: ("v5.channel.k8s.io",), SPDY: ("v4.channel.k8s.io",)}
WEBSOCKET_HEADERS = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-protocol": "v5.channel.k8s.io"}


class EchoingKubelet:
    """Agrees to every conversation, and says back what it hears."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.talking = 0

    async def send(self, request: Request) -> Response:
        self.asked.append(request)
        offer = read_offer(request.headers)
        try:
            return Upgrade(offer.scheme, negotiate(offer, SPOKEN), self._talk)
        except UpgradeRefused as refusal:
            return _plain(400, refusal.message)

    async def _talk(self, carrier: Carrier) -> None:
        self.talking += 1
        try:
            while data := await carrier.read():
                await carrier.write(data)
        finally:
            self.talking -= 1


def _plain(status: int, text: str) -> Response:
    async def chunks() -> AsyncIterator[bytes]:
        yield text.encode()

    return Response(status, {}, chunks())


async def _furnish(call: Caller) -> EchoingKubelet:
    await call.post("/api/v1/nodes", {"metadata": {"name": "n"}})
    await call.pod("a", node="n")
    kubelet = EchoingKubelet()
    call.api.introduce_kubelet(kubelet, "n")
    return kubelet


@asynccontextmanager
async def served() -> AsyncIterator[tuple[EchoingKubelet, str, aiohttp.ClientSession]]:
    api = ApiServer(SystemClock(), Entropy(), tokens=TOKENS)
    kubelet = await _furnish(Caller(api))
    headers = {"Authorization": "Bearer admin-token"}
    async with serve(api) as address, aiohttp.ClientSession(address, headers=headers) as session:
        yield kubelet, address, session
    await api.close()


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.01)


# -- what is handed on


async def test_a_kubelet_is_asked_in_its_own_words() -> None:
    call = caller()
    kubelet = await _furnish(call)
    query = "command=sh&command=-c&command=ls&stdin=true&stdout=1&stderr=false&tty=0"
    answer = await call.open("GET", f"{PODS}/a/exec?{query}", **WEBSOCKET_HEADERS)
    assert isinstance(answer, Upgrade)
    assert (answer.status, answer.protocol) == (101, "v5.channel.k8s.io")
    (request,) = kubelet.asked
    assert request.path == "/exec/default/a/main"
    assert request.query == (
        ("input", "1"),
        ("output", "1"),
        ("command", "sh"),
        ("command", "-c"),
        ("command", "ls"),
    )
    assert "authorization" not in request.headers


async def test_ports_are_handed_on() -> None:
    call = caller()
    kubelet = await _furnish(call)
    await call.open("GET", f"{PODS}/a/portforward?ports=80,81", **WEBSOCKET_HEADERS)
    assert (kubelet.asked[0].path, kubelet.asked[0].query) == ("/portForward/default/a", (("ports", "80,81"),))


async def test_what_the_kubelet_refuses_is_a_status() -> None:
    call = caller()
    await _furnish(call)
    headers = {**WEBSOCKET_HEADERS, "sec-websocket-protocol": "base64.channel.k8s.io"}
    refused = await call("GET", f"{PODS}/a/exec?command=ls", **headers)
    assert (refused.status, refused.body["reason"]) == (400, "BadRequest")
    assert "server accepts ['v5.channel.k8s.io']" in refused.message


async def test_only_pods_have_streams() -> None:
    call = caller()
    for subresource in ("exec", "portforward", "attach"):
        path = f"/api/v1/namespaces/default/services/a/{subresource}"
        assert (await call.get(path, **WEBSOCKET_HEADERS)).status == 404
    await _furnish(call)
    assert (await call.get(f"{PODS}/a/attach", **WEBSOCKET_HEADERS)).status == 404


# -- the connection


def test_a_websocket_carries_messages_both_ways(run: Run) -> None:
    async def main() -> None:
        async with served() as (kubelet, _, session):
            protocols = ("v9.channel.k8s.io", "v5.channel.k8s.io")
            async with session.ws_connect(f"{PODS}/a/exec?command=ls", protocols=protocols) as socket:
                assert socket.protocol == "v5.channel.k8s.io"
                await socket.send_bytes(b"\x00hello")
                assert await socket.receive_bytes() == b"\x00hello"
                await socket.send_str("\x00text")
                assert await socket.receive_bytes() == b"\x00text"
            await _until(lambda: not kubelet.talking)

    run(main())


def test_a_client_that_vanishes_ends_the_conversation(run: Run) -> None:
    async def main() -> None:
        async with served() as (kubelet, _, session):
            socket = await session.ws_connect(f"{PODS}/a/exec?command=ls", protocols=("v5.channel.k8s.io",))
            await _until(lambda: kubelet.talking == 1)
            assert socket._conn is not None and socket._conn.transport is not None
            socket._conn.transport.abort()
            await _until(lambda: not kubelet.talking)

    run(main())


def test_a_server_that_stops_does_not_wait_for_conversations(run: Run) -> None:
    async def main() -> None:
        async with asyncio.timeout(5):
            async with served() as (kubelet, _, session):
                await session.ws_connect(f"{PODS}/a/exec?command=ls", protocols=("v5.channel.k8s.io",))
                await _until(lambda: kubelet.talking == 1)
        assert not kubelet.talking

    run(main())


async def _switch(address: str, head: str) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head.replace("\n", "\r\n").encode())
    return await reader.readuntil(b"\r\n\r\n"), reader, writer


_SPDY_HEAD = f"""POST {PODS}/a/exec?command=ls HTTP/1.1
Host: x
Authorization: Bearer admin-token
Connection: Upgrade
Upgrade: SPDY/3.1
X-Stream-Protocol-Version: v5.channel.k8s.io
X-Stream-Protocol-Version: v4.channel.k8s.io
Content-Length: 0

"""


def test_spdy_takes_the_connection_over_as_it_is(run: Run) -> None:
    async def main() -> None:
        async with served() as (kubelet, address, _):
            head, reader, writer = await _switch(address, _SPDY_HEAD)
            assert head.startswith(b"HTTP/1.1 101 ")
            assert b"\r\nupgrade: spdy/3.1\r\n" in head.lower()
            assert b"\r\nx-stream-protocol-version: v4.channel.k8s.io\r\n" in head.lower()
            assert b"transfer-encoding" not in head.lower()
            frame = FrameWriter().pack(Ping(1))
            writer.write(frame * 50_000)  # more than any buffer on the way
            received = b""
            while len(received) < len(frame) * 50_000:
                received += await reader.read(1 << 16)
            assert list(FrameReader().feed(received)) == [Ping(1)] * 50_000
            writer.close()
            await _until(lambda: not kubelet.talking)

    run(main())


def test_a_handshake_that_is_none_gets_an_answer(run: Run) -> None:
    async def main() -> None:
        async with served() as (kubelet, address, _):
            websocket = _SPDY_HEAD.replace("POST", "GET").replace("SPDY/3.1", "websocket")
            websocket = websocket.replace("X-Stream-Protocol-Version", "Sec-WebSocket-Protocol")
            websocket = websocket.replace("v4.channel", "v5.channel")
            head, _, writer = await _switch(address, websocket)  # neither key nor version
            assert head.startswith(b"HTTP/1.1 400 ")
            writer.close()
            assert not kubelet.talking

    run(main())
