"""What is said about objects: counted, shortened, and cut off when it is too much."""

import asyncio
from typing import Any

from drydock.actors.machinery.events import EventRecorder, Note
from hawser.resources import EVENTS, PODS
from packages.drydock.tests.actors.cluster import Cluster, in_cluster, pod

Object = dict[str, Any]


def recorder(cluster: Cluster, **options: Any) -> tuple[EventRecorder, asyncio.Task[None]]:
    made = EventRecorder(cluster.client, "tester", cluster.clock, cluster.entropy, **options)
    return made, asyncio.create_task(made.run())


async def gated_pod(cluster: Cluster) -> Object:
    """A pod nobody else talks about."""
    return await cluster.create(PODS, pod("p", schedulingGates=[{"name": "example.com/wait"}]))


@in_cluster
async def test_what_is_said_again_is_counted_not_repeated(cluster: Cluster) -> None:
    about = await gated_pod(cluster)
    talk, task = recorder(cluster)
    for _ in range(3):
        talk.record(Note(about, "Pod", "v1", "Warning", "Broken", "it broke"))
        await cluster.sleep(10)
    talk.record(Note(about, "Pod", "v1", "Warning", "Broken", "it broke differently"))
    await cluster.sleep(1)
    first, second = sorted(await cluster.events_about("p", "Broken"), key=lambda event: -event["count"])
    assert (first["count"], first["message"], first["type"]) == (3, "it broke", "Warning")
    assert first["firstTimestamp"] < first["lastTimestamp"]
    assert first["source"] == {"component": "tester"}
    assert first["involvedObject"]["uid"] == about["metadata"]["uid"]
    assert (second["count"], second["message"]) == (1, "it broke differently")
    task.cancel()


@in_cluster
async def test_an_event_that_has_expired_is_said_anew(cluster: Cluster) -> None:
    about = await gated_pod(cluster)
    talk, task = recorder(cluster)
    note = Note(about, "Pod", "v1", "Normal", "Fine", "all is well")
    talk.record(note)
    await cluster.sleep(1)
    [event] = await cluster.events_about("p", "Fine")
    await cluster.delete(EVENTS, event["metadata"]["name"])
    talk.record(note)
    await cluster.sleep(1)
    [again] = await cluster.events_about("p", "Fine")
    assert again["count"] == 1
    task.cancel()


@in_cluster
async def test_who_talks_too_much_about_one_object_is_cut_off_for_a_while(cluster: Cluster) -> None:
    about = await gated_pod(cluster)
    talk, task = recorder(cluster)
    for number in range(60):
        talk.record(Note(about, "Pod", "v1", "Normal", "Chatter", f"word {number}"))
    await cluster.sleep(1)
    assert len(await cluster.events_about("p", "Chatter")) == 25
    await cluster.sleep(301)
    talk.record(Note(about, "Pod", "v1", "Normal", "Chatter", "one more"))
    talk.record(Note(about, "Pod", "v1", "Normal", "Chatter", "and another"))
    await cluster.sleep(1)
    assert len(await cluster.events_about("p", "Chatter")) == 26
    task.cancel()


@in_cluster
async def test_events_about_nodes_live_in_the_default_namespace(cluster: Cluster) -> None:
    await cluster.add_nodes("a")
    talk, task = recorder(cluster)
    talk.record(Note(await cluster.node("a"), "Node", "v1", "Normal", "Noted", "x" * 2000))
    await cluster.sleep(1)
    [event] = await cluster.events_about("a", "Noted")
    assert event["metadata"]["namespace"] == "default"
    assert len(event["message"]) == 1024 and event["message"].endswith(" ...")
    task.cancel()


@in_cluster
async def test_without_normal_events_only_warnings_are_told(cluster: Cluster) -> None:
    about = await gated_pod(cluster)
    talk, task = recorder(cluster, normal_events=False)
    talk.record(Note(about, "Pod", "v1", "Normal", "Fine", "all is well"))
    talk.record(Note(about, "Pod", "v1", "Warning", "Broken", "it broke"))
    await cluster.sleep(1)
    assert [event["reason"] for event in await cluster.events_about("p")] == ["Broken"]
    task.cancel()


@in_cluster
async def test_an_event_nobody_can_write_does_not_stop_the_others(cluster: Cluster) -> None:
    about = await gated_pod(cluster)
    talk, task = recorder(cluster)
    nowhere = {"metadata": {"name": "x", "namespace": "no-such-namespace", "uid": "u"}}
    talk.record(Note(nowhere, "Pod", "v1", "Normal", "Lost", "nobody hears"))
    talk.record(Note(about, "Pod", "v1", "Normal", "Heard", "somebody hears"))
    await cluster.sleep(1)
    assert len(await cluster.events_about("p", "Heard")) == 1
    task.cancel()
