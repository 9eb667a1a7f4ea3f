"""Events are written in the background, once each, and an object that changes all the time gets a few."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from drydock import VirtualLoop
from hawser.client import KubeClient
from hawser.errors import ObjectInvalid, Status
from mooring.engine.events import BURST, REFILL_SECONDS, EventNote, EventWriter, summarize_acts
from mooring.model.audit import Subject

POOL = Subject("WorkerPool", "runners", "linux", "pool-uid")


@dataclass
class Api:
    """Keeps what is created; refuses the first so many creates."""

    refuses: int = 0
    created: list[dict[str, Any]] = field(default_factory=list)

    async def create(self, _: object, body: dict[str, Any], __: str) -> None:
        if self.refuses:
            self.refuses -= 1
            raise ObjectInvalid(Status(code=422))
        self.created.append(body)


def note(occasion: str = "one", reason: str = "WorkersCreated", message: str = "created linux-0") -> EventNote:
    return EventNote(POOL, "mooring.dev/v1alpha1", reason, message, occasion)


async def written(api: Api, *notes: EventNote) -> list[dict[str, Any]]:
    writer = EventWriter(cast(KubeClient, api), VirtualLoop.running().clock)
    for each in notes:
        writer.record(each)
    running = asyncio.create_task(writer.run())
    await VirtualLoop.running().clock.sleep(1)
    running.cancel()
    return api.created


async def test_an_event_names_its_object_and_its_occasion_names_the_event() -> None:
    first, again, other = await written(Api(), note("one"), note("one"), note("two"))
    assert first["involvedObject"]["uid"] == "pool-uid"
    assert first["involvedObject"]["apiVersion"] == "mooring.dev/v1alpha1"
    assert first["metadata"]["name"] == again["metadata"]["name"] != other["metadata"]["name"]


async def test_a_refused_event_does_not_hold_up_the_next() -> None:
    found = await written(Api(refuses=1), note("one"), note("two", message="created linux-1"))
    assert [event["message"] for event in found] == ["created linux-1"]


async def test_text_from_the_cluster_is_cleaned_and_cut() -> None:
    (event,) = await written(Api(), note(message="\x1b[31mred\x1b[0m\n" + "x" * 5000))
    assert event["message"].startswith("red x")
    assert len(event["message"]) <= 1024


async def test_an_object_that_changes_all_the_time_gets_a_burst_and_then_one_event_a_minute() -> None:
    api, clock = Api(), VirtualLoop.running().clock
    writer = EventWriter(cast(KubeClient, api), clock)
    running = asyncio.create_task(writer.run())
    for second in range(int(3 * REFILL_SECONDS)):
        writer.record(note(f"change-{second}"))
        await clock.sleep(1)
    writer.record(note("other", reason="InvalidSpec"))
    await clock.sleep(1)
    running.cancel()
    reasons = [event["reason"] for event in api.created]
    assert BURST < reasons.count("WorkersCreated") <= BURST + 3
    assert reasons[-1] == "InvalidSpec", "a frequent reason must not crowd out another"


def test_equal_acts_are_one_message_that_names_a_few_and_counts_the_rest() -> None:
    found = summarize_acts([*((f"linux-{i}", "idle for too long") for i in range(7)), ("linux-9", "the pool rolls")])
    assert found["the pool rolls"] == "linux-9: the pool rolls"
    assert found["idle for too long"] == "linux-0, linux-1, linux-2, linux-3, linux-4 and 2 more: idle for too long"
