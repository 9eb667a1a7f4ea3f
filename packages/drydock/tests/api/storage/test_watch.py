import asyncio
from typing import Any

import pytest

from drydock.virtual.loop import VirtualLoop
from packages.drydock.tests.api.caller import (
    CONFIGMAPS,
    PODS,
    Caller,
    all_events,
    caller,
    events,
    told,
)


async def take(stream: Any, count: int) -> list[dict[str, Any]]:
    return [await anext(stream) for _ in range(count)]


async def watch(call: Caller, query: str = "", path: str = CONFIGMAPS) -> tuple[Any, Any]:
    response = await call.open("GET", f"{path}?watch=true&{query}")
    assert response.status == 200
    return response, events(response)


async def test_a_watch_from_a_version_sends_what_happened_since() -> None:
    call = caller()
    first = await call.configmap("a")
    response, stream = await watch(call, f"resourceVersion={first.meta['resourceVersion']}")
    await call.configmap("b")
    await call.patch(f"{CONFIGMAPS}/b", {"data": {"k": "v"}})
    await call.delete(f"{CONFIGMAPS}/a")
    found = await take(stream, 3)
    assert told(found) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]
    assert found[0]["object"]["kind"] == "ConfigMap"
    assert found[2]["object"]["metadata"]["resourceVersion"] == str(call.api.cluster.store.version)
    await response.close()


@pytest.mark.parametrize("query", ["", "resourceVersion=0"])
async def test_a_watch_without_a_version_begins_with_the_present(query: str) -> None:
    call = caller()
    await call.configmap("a")
    response, stream = await watch(call, query)
    assert told(await take(stream, 1)) == [("ADDED", "a")]
    await call.configmap("b")
    assert told(await take(stream, 1)) == [("ADDED", "b")]
    await response.close()


async def test_a_watch_of_a_namespace_hears_of_nothing_else() -> None:
    call = caller()
    await call.post("/api/v1/namespaces", {"metadata": {"name": "default-b"}})
    response, stream = await watch(call)
    await call.post("/api/v1/namespaces/default-b/configmaps", {"metadata": {"name": "other"}})
    await call.configmap("mine")
    names = [event["object"]["metadata"]["name"] for event in await take(stream, 1)]
    assert names == ["mine"]
    await response.close()


async def test_an_object_that_comes_to_match_is_added_and_one_that_ceases_to_is_deleted() -> None:
    call = caller()
    response, stream = await watch(call, "labelSelector=colour=red")
    await call.configmap("a")
    await call.patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"colour": "red"}}})
    await call.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})
    left = await call.patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"colour": "blue"}}})
    await call.delete(f"{CONFIGMAPS}/a")
    await call.configmap("b", labels={"colour": "red"})
    await call.delete(f"{CONFIGMAPS}/b")
    found = await take(stream, 5)
    assert told(found) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "b"), ("DELETED", "b")]
    gone = found[2]["object"]
    assert gone["metadata"]["labels"] == {"colour": "red"}, "the watcher gets the state it knew"
    assert gone["metadata"]["resourceVersion"] == left.meta["resourceVersion"]
    await response.close()


async def test_pods_of_a_node_are_watched_by_field() -> None:
    call = caller()
    response, stream = await watch(call, "fieldSelector=spec.nodeName=n1", PODS)
    await call.pod("a")
    await call.post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}})
    assert told(await take(stream, 1)) == [("ADDED", "a")]
    await response.close()


async def test_a_watch_from_a_forgotten_version_is_told_so_in_the_stream() -> None:
    call = caller()
    version = (await call.configmap("a")).meta["resourceVersion"]
    await call.configmap("b")
    call.api.compact()
    now = call.api.cluster.store.version
    (event,) = await all_events(await call.open("GET", f"{CONFIGMAPS}?watch=1&resourceVersion={version}"))
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"] == f"too old resource version: {version} ({now})"


async def test_a_watch_that_falls_behind_a_compaction_ends_with_an_error() -> None:
    call = caller()
    response, stream = await watch(call)
    await call.configmap("a")
    await call.configmap("b")
    call.api.compact()
    (event,) = [event async for event in stream]
    assert event["type"] == "ERROR" and event["object"]["code"] == 410
    await response.close()


async def test_a_watch_that_has_kept_up_survives_a_compaction() -> None:
    call = caller()
    response, stream = await watch(call)
    await call.configmap("a")
    assert told(await take(stream, 1)) == [("ADDED", "a")]
    call.api.compact()
    await call.configmap("b")
    assert told(await take(stream, 1)) == [("ADDED", "b")]
    await response.close()


async def test_history_is_bounded_by_count() -> None:
    call = caller(history_capacity=10)
    version = (await call.configmap("a")).meta["resourceVersion"]
    for number in range(20):
        await call.patch(f"{CONFIGMAPS}/a", {"data": {"n": str(number)}})
    (event,) = await all_events(await call.open("GET", f"{CONFIGMAPS}?watch=1&resourceVersion={version}"))
    assert event["object"]["code"] == 410


async def test_a_watch_from_the_future_waits_for_it() -> None:
    call = caller()
    ahead = call.api.cluster.store.version + 2
    response, stream = await watch(call, f"resourceVersion={ahead}")
    for name in ("a", "b", "c"):
        await call.configmap(name)
    assert told(await take(stream, 1)) == [("ADDED", "c")]
    await response.close()


async def test_a_watch_ends_when_its_time_is_up() -> None:
    call = caller()
    began = VirtualLoop.running().time()
    assert await all_events(await call.open("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=5")) == []
    assert VirtualLoop.running().time() - began == pytest.approx(5)


async def test_a_watch_without_a_timeout_ends_within_the_hour() -> None:
    call = caller()
    began = VirtualLoop.running().time()
    await all_events(await call.open("GET", f"{CONFIGMAPS}?watch=1"))
    assert 1800 <= VirtualLoop.running().time() - began <= 3600


async def test_bookmarks_come_every_minute_and_shortly_before_the_end() -> None:
    call = caller()
    loop = VirtualLoop.running()
    began = loop.time()
    response, stream = await watch(call, "allowWatchBookmarks=true&timeoutSeconds=150")
    heard = [(round(loop.time() - began), event) async for event in stream]
    assert [moment for moment, _ in heard] == [60, 120, 148]
    assert all(event["type"] == "BOOKMARK" for _, event in heard)
    bookmark = heard[0][1]["object"]
    assert bookmark["kind"] == "ConfigMap"
    assert bookmark["metadata"]["resourceVersion"] == str(call.api.cluster.store.version)
    await response.close()


async def test_a_bookmark_is_a_good_place_to_go_on_from() -> None:
    call = caller()
    response, stream = await watch(call, "allowWatchBookmarks=true")
    await call.pod("elsewhere")
    (bookmark,) = await take(stream, 1)
    await response.close()
    call.api.compact()
    again, stream = await watch(call, f"resourceVersion={bookmark['object']['metadata']['resourceVersion']}")
    await call.configmap("a")
    assert told(await take(stream, 1)) == [("ADDED", "a")]
    await again.close()


async def test_initial_events_end_with_an_annotated_bookmark() -> None:
    call = caller()
    await call.configmap("a")
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    response, stream = await watch(call, query)
    added, end = await take(stream, 2)
    assert told([added]) == [("ADDED", "a")]
    assert end["type"] == "BOOKMARK"
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert end["object"]["metadata"]["resourceVersion"] == str(call.api.cluster.store.version)
    await response.close()


async def test_initial_events_from_the_future_are_refused_in_the_stream() -> None:
    call = caller()
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999"
    (event,) = await all_events(await call.open("GET", f"{CONFIGMAPS}?watch=1&{query}"))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("resourceVersionMatch=NotOlderThan&resourceVersion=0", "forbidden for watch unless sendInitialEvents"),
        ("sendInitialEvents=true", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
    ],
)
async def test_options_that_make_no_sense_are_refused(query: str, message: str) -> None:
    answer = await caller().get(f"{CONFIGMAPS}?watch=1&{query}")
    assert answer.status == 422 and message in answer.message


async def test_a_closed_watch_ends_whoever_reads_it_and_is_forgotten() -> None:
    call = caller()
    response, stream = await watch(call)
    reader = asyncio.create_task(asyncio.wait_for(anext(stream, None), 10))
    await VirtualLoop.running().clock.sleep(1)
    table = next(table for table in call.api.cluster.store.tables() if table.key.plural == "configmaps")
    assert len(table.wakers) == 1
    await response.close()
    assert await reader is None
    assert not table.wakers


async def test_metadata_and_tables_can_be_watched() -> None:
    call = caller()
    metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    response = await call.open("GET", f"{CONFIGMAPS}?watch=1", accept=metadata)
    stream = events(response)
    await call.configmap("a")
    (event,) = await take(stream, 1)
    assert event["object"]["kind"] == "PartialObjectMetadata"
    await response.close()
    table = await call.open("GET", f"{CONFIGMAPS}?watch=1", accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    stream = events(table)
    await call.configmap("b")
    first, second = await take(stream, 2)
    assert first["object"]["columnDefinitions"] and second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "b"
    await table.close()


async def test_an_event_is_encoded_once_for_all_its_watchers() -> None:
    call = caller()
    opened = [await watch(call) for _ in range(3)]
    await call.configmap("a")
    for _, stream in opened:
        await take(stream, 1)
    table = next(table for table in call.api.cluster.store.tables() if table.key.plural == "configmaps")
    assert len(table.history[-1].lines) == 1
    for response, _ in opened:
        await response.close()
