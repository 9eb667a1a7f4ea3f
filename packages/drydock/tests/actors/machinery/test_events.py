"""What is said about objects: counted, shortened, and cut off when it is too much."""

import asyncio
from typing import Any

from drydock.actors.machinery.events import EventRecorder, Note
from hawser.resources import EVENTS, PODS
from packages.drydock.tests.actors.cluster import Cluster, pod

Object = dict[str, Any]


def recorder(cluster: Cluster) -> tuple[EventRecorder, asyncio.Task[None]]:
    made = EventRecorder(cluster.client, "tester", cluster.clock, cluster.entropy)
    return made, asyncio.create_task(made.run())


async def gated_pod(cluster: Cluster) -> Object:
    """A pod nobody else talks about."""
    return await cluster.create(PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))


async def test_what_is_said_again_is_counted_not_repeated(world: Cluster) -> None:
    about = await gated_pod(world)
    talk, task = recorder(world)
    for _ in range(3):
        talk.record(Note(about, "Pod", "v1", "Warning", "Broken", "it broke"))
        await world.sleep(10)
    talk.record(Note(about, "Pod", "v1", "Warning", "Broken", "it broke differently"))
    await world.sleep(1)
    first, second = sorted(await world.events_about("p", "Broken"), key=lambda event: -event["count"])
    assert (first["count"], first["message"], first["type"]) == (3, "it broke", "Warning")
    assert first["firstTimestamp"] < first["lastTimestamp"]
    assert first["source"] == {"component": "tester"}
    assert first["involvedObject"]["uid"] == about["metadata"]["uid"]
    assert (second["count"], second["message"]) == (1, "it broke differently")
    task.cancel()


async def test_an_event_that_has_expired_is_said_anew(world: Cluster) -> None:
    about = await gated_pod(world)
    talk, task = recorder(world)
    note = Note(about, "Pod", "v1", "Normal", "Fine", "all is well")
    talk.record(note)
    await world.sleep(1)
    [event] = await world.events_about("p", "Fine")
    await world.delete(EVENTS, event["metadata"]["name"])
    talk.record(note)
    await world.sleep(1)
    [again] = await world.events_about("p", "Fine")
    assert again["count"] == 1
    task.cancel()


async def test_who_talks_too_much_about_one_object_is_cut_off_for_a_while(world: Cluster) -> None:
    about = await gated_pod(world)
    talk, task = recorder(world)
    for number in range(60):
        talk.record(Note(about, "Pod", "v1", "Normal", "Chatter", f"word {number}"))
    await world.sleep(1)
    assert len(await world.events_about("p", "Chatter")) == 25
    await world.sleep(301)
    talk.record(Note(about, "Pod", "v1", "Normal", "Chatter", "one more"))
    talk.record(Note(about, "Pod", "v1", "Normal", "Chatter", "and another"))
    await world.sleep(1)
    assert len(await world.events_about("p", "Chatter")) == 26
    task.cancel()


async def test_events_about_nodes_live_in_the_default_namespace(world: Cluster) -> None:
    await world.add_nodes("a")
    talk, task = recorder(world)
    talk.record(Note(await world.node("a"), "Node", "v1", "Normal", "Noted", "x" * 2000))
    await world.sleep(1)
    [event] = await world.events_about("a", "Noted")
    assert event["metadata"]["namespace"] == "default"
    assert len(event["message"]) == 1024 and event["message"].endswith(" ...")
    task.cancel()


async def test_an_event_nobody_can_write_does_not_stop_the_others(world: Cluster) -> None:
    about = await gated_pod(world)
    talk, task = recorder(world)
    nowhere = {"metadata": {"name": "x", "namespace": "no-such-namespace", "uid": "u"}}
    talk.record(Note(nowhere, "Pod", "v1", "Normal", "Lost", "nobody hears"))
    talk.record(Note(about, "Pod", "v1", "Normal", "Heard", "somebody hears"))
    await world.sleep(1)
    assert len(await world.events_about("p", "Heard")) == 1
    task.cancel()
