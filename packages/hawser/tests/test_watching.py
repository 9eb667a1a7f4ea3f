"""A watch is lines of events, however the network cuts them."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hawser.client import KubeClient
from hawser.errors import AnswerUnreadable, ConnectionFailed, Gone, NotPermitted, ServerFailed
from hawser.resources import PODS
from hawser.transport import Request, Response
from hawser.views import Pod
from hawser.watching import LineSplitter, WatchEvent
from packages.hawser.tests.answers import FakeApi, chunked, refusal, status_body


def event(kind: str, name: str = "a", version: str = "5", **more: Any) -> bytes:
    item = {"metadata": {"name": name, "resourceVersion": version}, **more}
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


async def collect(*chunks: bytes) -> list[WatchEvent[Pod]]:
    client = KubeClient(FakeApi(lambda request: chunked(*chunks)))
    async with client.watch(PODS, resource_version="1") as events:
        return [event async for event in events]


@given(st.lists(st.binary(max_size=20).map(lambda text: text.replace(b"\n", b"")), max_size=20), st.data())
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter()
    found: list[bytes] = []
    while text:
        size = data.draw(st.integers(1, len(text)))
        found += splitter.feed(text[:size])
        text = text[size:]
    assert found == [line for line in lines if line.strip()]
    assert splitter.unfinished == b""


def test_a_line_of_ten_megabytes_takes_time_in_proportion_to_its_length() -> None:
    def seconds(megabytes: int) -> float:
        splitter = LineSplitter()
        chunk = b"x" * 4096
        began = time.process_time()
        for _ in range(megabytes * 256):
            assert splitter.feed(chunk) == []
        (line,) = splitter.feed(b"\n")
        assert len(line) == megabytes << 20
        return time.process_time() - began

    small = min(seconds(2) for _ in range(3))
    assert seconds(20) < 10 * small * 5 + 0.05  # quadratic would be 100 times


async def test_events_come_in_order_with_their_versions() -> None:
    found = await collect(event("ADDED", "a", "2") + event("MODIFIED", "a", "3"), event("DELETED", "a", "4"))
    assert [(each.type, each.resource_version) for each in found] == [
        ("ADDED", "2"),
        ("MODIFIED", "3"),
        ("DELETED", "4"),
    ]
    assert found[0].object.metadata.name == "a"


async def test_an_event_may_come_byte_by_byte() -> None:
    line = event("ADDED", "a", "2")
    assert len(await collect(*[line[at : at + 1] for at in range(len(line))])) == 1


async def test_blank_lines_and_carriage_returns_mean_nothing() -> None:
    found = await collect(b"\n\r\n", event("ADDED").replace(b"\n", b"\r\n"), b"  \n\n")
    assert [each.type for each in found] == ["ADDED"]


async def test_a_bookmark_is_told_with_its_version() -> None:
    (found,) = await collect(
        b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"},"spec":{"containers":null}}}\n'
    )
    assert (found.type, found.resource_version) == ("BOOKMARK", "9")


async def test_raw_events_are_whole_objects() -> None:
    client = KubeClient(FakeApi(lambda request: chunked(event("ADDED", "a", "2", unknown={"x": 1}))))
    async with client.watch(PODS.raw(), resource_version="1") as events:
        found = await anext(events)
    assert found.object["unknown"] == {"x": 1}
    assert found.resource_version == "2"


async def test_an_event_cut_short_is_an_error_and_not_an_event() -> None:
    with pytest.raises(AnswerUnreadable, match="ended inside an event") as caught:
        await collect(event("ADDED"), event("MODIFIED").rstrip(b"\n"))
    assert isinstance(caught.value, ConnectionFailed)


async def test_events_before_the_cut_are_told() -> None:
    client = KubeClient(FakeApi(lambda request: chunked(event("ADDED"), b'{"type":"ADD')))
    count = 0
    async with client.watch(PODS, resource_version="1") as events:
        with pytest.raises(AnswerUnreadable):
            async for _ in events:
                count += 1
    assert count == 1


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b"{}\n", b'{"type":"ADDED"}\n', b'{"type":"ADDED","object":{"metadata"\n']
)
async def test_what_is_no_event_is_an_error(line: bytes) -> None:
    with pytest.raises(AnswerUnreadable):
        await collect(line)


async def test_an_event_of_unknown_type_is_an_error() -> None:
    with pytest.raises(AnswerUnreadable, match="PUZZLING"):
        await collect(event("PUZZLING"))


@pytest.mark.parametrize(("code", "reason", "expected"), [(410, "Expired", Gone), (500, "InternalError", ServerFailed)])
async def test_an_error_inside_the_stream_is_raised(code: int, reason: str, expected: type[Exception]) -> None:
    line = json.dumps({"type": "ERROR", "object": status_body(code, reason, "too old resource version")}).encode()
    with pytest.raises(expected, match="too old"):
        await collect(event("ADDED"), line + b"\n")


async def test_a_malformed_object_does_not_end_the_watch() -> None:
    found = await collect(event("ADDED", "a", "2", spec={"nodeName": 7}), event("ADDED", "b", "3"))
    assert [each.object.metadata.name for each in found] == ["a", "b"]
    assert found[0].object.defects


async def test_a_refused_watch_is_the_exception_of_its_status() -> None:
    async def read(answer: Response) -> None:
        async with KubeClient(FakeApi(lambda request: answer)).watch(PODS, resource_version="1"):
            raise AssertionError("the watch was refused")

    with pytest.raises(Gone):
        await read(refusal(410, "Expired"))
    with pytest.raises(NotPermitted):
        await read(refusal(403, "Forbidden"))


async def test_the_watch_asks_for_bookmarks_and_its_own_end() -> None:
    api = FakeApi(lambda request: chunked())

    client = KubeClient(api)
    async with client.watch(PODS, "ns", resource_version="7", label_selector="a=b", timeout_seconds=300) as events:
        assert [event async for event in events] == []
    assert api.last.path == "/api/v1/namespaces/ns/pods"
    assert dict(api.last.query) == {
        "watch": "1",
        "resourceVersion": "7",
        "labelSelector": "a=b",
        "timeoutSeconds": "300",
        "allowWatchBookmarks": "true",
    }


async def test_leaving_the_watch_closes_it() -> None:
    closed: list[bool] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield event("ADDED")

    async def close() -> None:
        closed.append(True)

    client = KubeClient(FakeApi(lambda request: Response(200, {}, endless(), close)))
    async with client.watch(PODS, resource_version="1") as events:
        async for _ in events:
            break
    assert closed == [True]


async def test_a_watch_that_is_never_answered_ends_in_time() -> None:
    async def never(request: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(ConnectionFailed, match="30"):
        async with KubeClient(FakeApi(never)).watch(PODS, resource_version="1"):
            raise AssertionError("there was no answer")
    assert asyncio.get_running_loop().time() == pytest.approx(30)
