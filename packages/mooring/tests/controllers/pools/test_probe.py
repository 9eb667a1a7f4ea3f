"""Health checks over real sockets: every way in which a worker can fail to be well is told in words."""

import asyncio
import contextlib
import socket

import pytest
import uvloop

from mooring.client.health import answering_health
from mooring.controllers.pools.probe import Answer, HttpProbe, Target, read_answer
from mooring.planning.destinations import THIS_MACHINE, OutgoingPolicy

HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request):
    """On the loop of the tests, and on that of the server."""
    return request.param


def free_port() -> int:
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def check(respond, timeout_seconds: float = 2.0, path: str = "/healthz") -> Answer:
    """Ask a server that does as told with its connection, and has seen it end."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await respond(reader, writer)
            await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        ended.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, asyncio.timeout(10):
        answer = await HttpProbe(THIS_MACHINE).check(Target("127.0.0.1", port, path, timeout_seconds))
        await ended.wait()
        return answer


def saying(*pieces: bytes, hang: bool = False):
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if hang:
            await reader.read()

    return respond


def test_a_worker_says_what_it_does(run):
    async def scenario():
        port = free_port()
        async with answering_health("127.0.0.1", port, lambda: '{"executing": true, "sessions": 2}'):
            return await HttpProbe(THIS_MACHINE).check(Target("127.0.0.1", port, "/healthz", 2.0))

    assert run(scenario()) == Answer(True, "200 OK", executing=True, sessions=2)


def test_the_path_and_the_host_are_asked_for(run):
    asked = []

    async def respond(reader, writer):
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")

    assert run(check(respond, path="/live?deep=1")) == Answer(True, "204 No Content")
    assert asked[0].startswith(b"GET /live?deep=1 HTTP/1.1\r\nHost: 127.0.0.1:")


def test_where_nobody_listens_it_is_refused(run):
    answer = run(HttpProbe(THIS_MACHINE).check(Target("127.0.0.1", free_port(), "/healthz", 2.0)))
    assert answer == Answer(False, "connection refused", refused=True)


@pytest.mark.parametrize(
    ("respond", "answer"),
    [
        (saying(hang=True), Answer(False, "no answer within 0.2 s")),
        (saying(), Answer(False, "the connection was closed without an answer")),
        (saying(b"SSH-2.0-OpenSSH\r\n"), Answer(False, "no HTTP answer")),
        (saying(b"HTTP/1.1 503 Not Now\r\nContent-Length: 0\r\n\r\n"), Answer(False, "answered 503 Not Now")),
        (saying(b"HTTP/1.1 500 \x1b[31mred\r\n\r\n"), Answer(False, "answered 500 red")),
        (saying(HEAD + b"\r\n", b'{"executing": fal', hang=True), Answer(True, "200 OK")),
        (saying(HEAD + b"Content-Length: 2\r\n\r\nok", hang=True), Answer(True, "200 OK")),
        (saying(HEAD + b"\r\n" + b"x" * 100_000, hang=True), Answer(True, "200 OK")),
        (saying(b"HTTP/1.1 2" + b"0" * 9_000 + b" OK\r\n\r\n"), Answer(False, "no HTTP answer")),
        (saying(b"HTTP/1.1 \xb2 OK\r\n\r\n"), Answer(False, "no HTTP answer")),
        (saying(HEAD + b"Content-Length: " + b"9" * 9_000 + b"\r\n\r\nok"), Answer(True, "200 OK")),
        (saying(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n"), Answer(True, "302 Found")),
    ],
)  # fmt: skip
def test_every_other_answer_is_told_in_words(run, respond, answer):
    assert run(check(respond, timeout_seconds=0.2)) == answer


@pytest.mark.parametrize(
    ("body", "executing", "sessions"),
    [
        (b"ok", None, None),
        (b'{"executing": false}', False, None),
        (b'{"executing": "no", "sessions": true}', None, None),
        (b'{"executing": 0, "sessions": 3}', None, 3),
        (b"[true]", None, None),
        (b"{", None, None),
        (b'{"a":' + b"[" * 15_000, None, None),
        (b'{"sessions": ' + b"9" * 5_000 + b"}", None, None),
        (b'{"sessions": ' + b"9" * 1_000 + b"}", None, None),
        (b'{"sessions": -1}', None, None),
    ],
)
def test_only_a_plain_word_counts(body, executing, sessions):
    answer = read_answer(HEAD + b"\r\n" + body)
    assert (answer.ok, answer.executing, answer.sessions) == (True, executing, sessions)


def test_a_word_in_chunks_is_understood():
    chunked = HEAD + b'Transfer-Encoding: chunked\r\n\r\n8\r\n{"execut\r\nb\r\ning": true}\r\n0\r\n\r\n'
    assert read_answer(chunked).executing is True
    assert read_answer(chunked[:60]).executing is None


def test_a_check_hangs_up_as_soon_as_the_answer_is_whole(run):
    async def respond(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"Content-Length: 2\r\n\r\nok")
        await reader.read()  # ends when the other side does

    assert run(check(respond)).ok


def test_an_address_that_is_no_pod_is_not_asked(run):
    for address in ("169.254.169.254", "127.0.0.1", "localhost"):
        answer = run(HttpProbe(OutgoingPolicy()).check(Target(address, 80, "/healthz", 2.0)))
        assert not answer.ok and answer.detail.startswith("not asked") and not answer.refused
