"""The transport against real sockets: what it does, and above all what it does not do."""

import asyncio
import gzip
import json

import pytest
from aiohttp import ClientTimeout, web

from hawser.errors import ConnectionFailed
from hawser.http import HttpTransport
from hawser.transport import Request
from packages.hawser.tests.servers import Handler, echo, over_http, read_head, serving, speaking

pytestmark = pytest.mark.realtime

EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


async def test_a_request_arrives_as_it_was_meant() -> None:
    async with over_http(echo) as transport:
        query = (("labelSelector", "a in (b,c),d=é&x"), ("limit", "5"))
        headers = {"content-type": "application/merge-patch+json", "user-agent": "mooring"}
        response = await transport.send(Request("PATCH", "/api/v1/pods/a%20b", query, headers, b'{"x":1}'))
        assert response.headers["content-type"].startswith("application/json")
        seen = json.loads(await response.read())
        assert seen["method"] == "PATCH"
        assert seen["path"] == "/api/v1/pods/a%20b?labelSelector=a%20in%20%28b%2Cc%29%2Cd%3D%C3%A9%26x&limit=5"
        assert seen["body"] == '{"x":1}'
        assert seen["headers"]["Content-Type"] == "application/merge-patch+json"
        assert seen["headers"]["User-Agent"] == "mooring"


async def test_a_server_may_live_below_a_path() -> None:
    async with serving(echo) as address:
        transport = HttpTransport(f"{address}/k8s/clusters/c-1/")
        response = await transport.send(Request("GET", "/api/v1/pods"))
        assert json.loads(await response.read())["path"] == "/k8s/clusters/c-1/api/v1/pods"
        await transport.close()


async def test_redirects_are_answers_like_others() -> None:
    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"location": "/elsewhere"})

    async with over_http(redirect) as transport:
        response = await transport.send(Request("GET", "/x"))
        assert response.status == 302
        await response.close()


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async with over_http(echo) as transport:
        assert await (await transport.send(Request("GET", "/x"))).read()


async def test_cookies_are_not_kept() -> None:
    async def bake(request: web.Request) -> web.Response:
        response = web.json_response({"cookie": request.headers.get("cookie", "")})
        response.set_cookie("session", "1")
        return response

    async with serving(bake) as address:
        transport = HttpTransport(address.replace("127.0.0.1", "localhost"))  # addresses get no cookies anyway
        for _ in range(2):
            assert json.loads(await (await transport.send(Request("GET", "/x"))).read()) == {"cookie": ""}
        await transport.close()


async def test_gzipped_answers_are_unpacked() -> None:
    body = json.dumps({"items": ["x" * 1000] * 1000}).encode()

    async def packed(request: web.Request) -> web.Response:
        assert request.headers["accept-encoding"] == "gzip"
        return web.Response(body=gzip.compress(body), headers={"content-encoding": "gzip"})

    async with over_http(packed) as transport:
        assert await (await transport.send(Request("GET", "/x"))).read() == body


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_a_request_on_a_connection_that_breaks_is_not_sent_again(method: str) -> None:
    heads: list[bytes] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await read_head(reader))
        writer.write(EMPTY)
        heads.append(await read_head(reader))  # and hangs up: the kept connection breaks under the second request

    async with speaking(converse) as address:
        transport = HttpTransport(address)
        await (await transport.send(Request("GET", "/first"))).read()
        with pytest.raises(ConnectionFailed):
            await transport.send(Request(method, "/second"))
        await transport.close()
    assert [head.split()[1] for head in heads] == [b"/first", b"/second"]


async def test_nobody_there_is_a_connection_that_failed() -> None:
    transport = HttpTransport("http://127.0.0.1:9")
    with pytest.raises(ConnectionFailed, match=r"GET http://127\.0\.0\.1:9/x") as caught:
        await transport.send(Request("GET", "/x"))
    assert caught.value.fix
    await transport.close()


async def test_an_answer_cut_short_is_a_connection_that_failed() -> None:
    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")

    async with speaking(converse) as address:
        transport = HttpTransport(address)
        response = await transport.send(Request("GET", "/x"))
        with pytest.raises(ConnectionFailed):
            await response.read()
        await transport.close()


async def test_no_head_in_time_is_a_connection_that_failed() -> None:
    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with speaking(converse) as address:
        transport = HttpTransport(address)
        with pytest.raises(ConnectionFailed, match=r"within 0\.1 s"):
            await transport.send(Request("GET", "/x", timeout_seconds=0.1))
        await transport.close()


def drip(seconds: float) -> Handler:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(5):
            await response.write(f"{number}\n".encode())
            await asyncio.sleep(seconds)
        return response

    return handler


async def test_an_answer_that_is_read_as_a_whole_has_to_be_whole_in_time() -> None:
    async with over_http(drip(0.1)) as transport:
        response = await transport.send(Request("GET", "/x", timeout_seconds=0.15))
        with pytest.raises(ConnectionFailed, match="in time"):
            await response.read()


async def test_a_stream_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aiohttp.client.DEFAULT_TIMEOUT", ClientTimeout(total=0.1))

    async with over_http(drip(0.05)) as transport:
        response = await transport.send(Request("GET", "/x", (("watch", "1"),), timeout_seconds=0.1))
        assert b"".join([chunk async for chunk in response]) == b"0\n1\n2\n3\n4\n"
        await response.close()


async def test_watches_do_not_take_the_turns_of_requests() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({})
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"\n")
        await asyncio.sleep(60)
        return response

    async with over_http(answer, requests_at_once=2) as transport:
        watches = [await transport.send(Request("GET", "/w", (("watch", "1"),))) for _ in range(5)]
        for _ in range(5):
            await (await transport.send(Request("GET", "/x", timeout_seconds=5))).read()
        for watch in watches:
            await watch.close()


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    under_way = most = 0

    async def slow(request: web.Request) -> web.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return web.json_response({})

    async with over_http(slow, requests_at_once=3) as transport:

        async def ask() -> None:
            await (await transport.send(Request("GET", "/x"))).read()

        await asyncio.gather(*[ask() for _ in range(20)])
        assert most == 3


async def test_requests_that_fail_or_are_given_up_leave_their_turn() -> None:
    async def stuck(request: web.Request) -> web.Response:
        if request.path == "/stuck":
            await asyncio.sleep(60)
        return web.json_response({})

    async with over_http(stuck, requests_at_once=1) as transport:
        with pytest.raises(ConnectionFailed):
            await transport.send(Request("GET", "/stuck", timeout_seconds=0.05))
        waiting = asyncio.create_task(transport.send(Request("GET", "/stuck")))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        unread = await transport.send(Request("GET", "/x"))
        await unread.close()
        await unread.close()
        assert (await transport.send(Request("GET", "/x", timeout_seconds=5))).status == 200
