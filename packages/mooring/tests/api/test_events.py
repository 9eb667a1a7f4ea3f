"""`/v1/events`: what changed, soon, once, and told again to whoever comes back."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import httpx

from packages.mooring.tests.acceptance.world import Up


@dataclass(frozen=True, slots=True)
class Told:
    id: int
    type: str
    changes: dict[str, list[str]]


def events(answer: httpx.Response) -> Iterator[Told]:
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            yield Told(int(fields["id"]), fields["event"], json.loads(fields["data"])["changes"])
            fields = {}


def first(stream: Iterator[Told], kind: str) -> Told:
    return next(told for told in stream if kind in told.changes)


def touch(up: Up, value: str) -> None:
    """Change something about a pool that changes nothing for its workers."""
    up.kubectl("-n", "runners", "annotate", "workerpool", "linux", f"example.com/touched={value}", "--overwrite")


def test_a_listener_hears_at_once_that_the_stream_lives(api: httpx.Client):
    with api.stream("GET", "/v1/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        assert next(events(answer)).type == "heartbeat"


def test_a_change_is_told_with_its_kind_and_key(api: httpx.Client, up: Up):
    with api.stream("GET", "/v1/events") as answer:
        stream = events(answer)
        next(stream)
        touch(up, "once")
        told = first(stream, "pool")
    assert told.type == "change"
    assert told.changes["pool"] == ["runners/linux"]


def test_a_flipped_switch_is_told_too(api: httpx.Client):
    with api.stream("GET", "/v1/events") as answer:
        stream = events(answer)
        next(stream)
        api.post("/v1/invariants/adopted/resume").raise_for_status()
        assert first(stream, "audit").type == "change"


def test_who_comes_back_is_told_what_was_missed(api: httpx.Client, up: Up):
    with api.stream("GET", "/v1/events") as answer:
        stream = events(answer)
        last = next(stream).id
        touch(up, "while away")
        heard = first(stream, "pool")
    with api.stream("GET", "/v1/events", headers={"Last-Event-ID": str(last)}) as answer:
        assert first(events(answer), "pool") == heard
