"""Asking for a document over real sockets: what stands at the other end cannot make Mooring wait, follow or swell."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.controllers.services import document as module
from mooring.controllers.services.document import MOST_BYTES, HttpDocuments, Question, read_answer
from mooring.demo.tides import DOCUMENT
from mooring.model.openapi import ApiDocument
from mooring.model.service_observations import Answer, Outcome
from mooring.planning.destinations import THIS_MACHINE

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["openapi", "paths", "get"]), inner),
    max_leaves=10,
)
ADDRESS = "127.64.211.7"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def ask(handler: Handler, address: str = ADDRESS, own: str = ADDRESS) -> Answer:
    """Ask a server that answers like that, at a pod's address."""

    server = await asyncio.start_server(handler, ADDRESS, 0)
    port = server.sockets[0].getsockname()[1]
    documents = HttpDocuments(THIS_MACHINE)
    try:
        async with server:
            return await documents.ask(Question(address, port, "/openapi.json", frozenset({own})))
    finally:
        await documents.close()


def answering(head: str, body: bytes = b"", seen: list[bytes] | None = None) -> Handler:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if seen is not None:
            seen.append(request)
        try:
            writer.write(f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    return answer


@pytest.mark.realtime
async def test_a_document_is_read_and_nothing_of_ours_is_given_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    seen: list[bytes] = []
    answer = await ask(answering("200 OK\r\nSet-Cookie: a=b", json.dumps(DOCUMENT).encode(), seen))
    assert answer.outcome is Outcome.DOCUMENT and answer.document is not None
    assert (answer.document.title, answer.document.endpoint_count) == ("Tides", 2)
    assert b"uthorization" not in seen[0] and b"ookie" not in seen[0] and seen[0].startswith(b"GET /openapi.json ")


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("head", "body", "outcome"),
    [
        ("302 Found\r\nLocation: http://169.254.169.254/latest", b"", Outcome.REDIRECT),
        ("404 Not Found", b"", Outcome.BAD_STATUS),
        ("500 Oops", b"{}", Outcome.BAD_STATUS),
        ("200 OK", b"<html>", Outcome.NOT_A_DOCUMENT),
        ("200 OK\r\nContent-Encoding: gzip", b"\x1f\x8b0000", Outcome.NOT_A_DOCUMENT),
        ("200 OK", b"x" * (MOST_BYTES + 1), Outcome.TOO_LARGE),
        ("200 OK\r\nContent-Length: 10", b"short", Outcome.NO_ANSWER),
        ("nonsense", b"", Outcome.NO_ANSWER),
    ],
)
async def test_everything_else_is_told_apart(head: str, body: bytes, outcome: Outcome):
    answer = await ask(answering(head, body))
    assert answer.outcome is outcome and answer.message and answer.document is None


UNNAMED = b'{"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [{"name": ["x"], "in": "query"}]}}}}'


@pytest.mark.realtime
async def test_a_document_with_a_malformed_part_is_read_without_it():
    answer = await ask(answering("200 OK", UNNAMED))
    assert answer.outcome is Outcome.DOCUMENT and answer.document is not None
    assert answer.document.endpoint_count == 1 and answer.document.endpoints[0].parameters == ()


@pytest.mark.realtime
async def test_a_document_that_the_reader_stumbles_over_is_an_answer_and_no_error(monkeypatch: pytest.MonkeyPatch):
    def stumble(body: bytes) -> ApiDocument:
        raise TypeError("unhashable type: 'list'")

    monkeypatch.setattr(module, "parse_document", stumble)
    answer = await ask(answering("200 OK", UNNAMED))
    assert answer.outcome is Outcome.NOT_A_DOCUMENT and answer.message == "it cannot be read: TypeError"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=50) | JSON.map(msgspec.json.encode))
def test_whatever_comes_with_a_200_is_an_answer(body: bytes):
    assert read_answer(body).outcome in (Outcome.DOCUMENT, Outcome.NOT_A_DOCUMENT)


@pytest.mark.realtime
async def test_a_body_without_end_is_cut_off():
    sent = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while sent < 50 * MOST_BYTES:
                writer.write(b" " * 65536)
                sent += 65536
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    assert (await ask(pour)).outcome is Outcome.TOO_LARGE
    assert sent < 10 * MOST_BYTES


@pytest.mark.realtime
async def test_a_server_that_trickles_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_SECONDS", 0.3)

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(100):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        except ConnectionError:
            pass
        finally:
            writer.close()

    answer = await ask(trickle)
    assert answer.outcome is Outcome.NO_ANSWER and "within" in answer.message


@pytest.mark.realtime
async def test_nobody_at_the_port_is_told_from_no_answer():
    async def main() -> Answer:
        server = await asyncio.start_server(answering("200 OK"), ADDRESS, 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        documents = HttpDocuments(THIS_MACHINE)
        try:
            return await documents.ask(Question(ADDRESS, port, "/openapi.json", {ADDRESS}))
        finally:
            await documents.close()

    assert (await main()).outcome is Outcome.NOBODY_LISTENS


@pytest.mark.realtime
@pytest.mark.parametrize(("address", "own"), [("127.0.0.1", "127.0.0.1"), (ADDRESS, "10.0.0.1")])
async def test_a_foreign_address_is_not_even_connected_to(address: str, own: str):
    seen: list[bytes] = []
    answer = await ask(answering("200 OK", b"", seen), address, own)
    assert answer.outcome is Outcome.FOREIGN_ADDRESS and seen == []
