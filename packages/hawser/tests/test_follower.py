"""A resource that is followed in several namespaces is read like one that is followed everywhere."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from drydock import ADMIN, ApiServer, VirtualLoop
from drydock.faults import Answer, FaultyTransport, Plan, Rule
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Entropy
from hawser.follower import Follower, MergedReflector
from hawser.reflector import Reflector, Scope
from hawser.resources import CONFIGMAPS, NAMESPACES
from hawser.views import ConfigMap
from packages.hawser.tests.test_reflector_drydock import client_of

FOLLOWED = ("a", "b")
ELSEWHERE = "^/api/v1/configmaps|/namespaces/c/"


def owner_of(found: ConfigMap) -> list[str]:
    return [found.metadata.labels.get("owner", "")]


@dataclass(slots=True)
class Followed:
    """Namespaces a, b and c, of which an account may read a and b."""

    admin: KubeClient
    client: KubeClient
    merged: MergedReflector[ConfigMap]
    changes: list[tuple[str, str, str]] = field(default_factory=list)

    async def put(self, namespace: str, name: str, owner: str) -> None:
        body = {"metadata": {"name": name, "namespace": namespace, "labels": {"owner": owner}}}
        await self.admin.create(CONFIGMAPS, body)
        await VirtualLoop.running().clock.sleep(1)

    def hear(self, change: Change[ConfigMap]) -> None:
        meta = change.latest.metadata
        self.changes.append((change.kind, meta.namespace, meta.name))


@contextlib.asynccontextmanager
async def following(*rules: Rule) -> AsyncIterator[Followed]:
    loop, entropy = VirtualLoop.running(), Entropy(1)
    api = ApiServer(loop.clock, entropy, tokens={"admin": ADMIN})
    admin = client_of(api)
    for name in (*FOLLOWED, "c"):
        await admin.create(NAMESPACES, {"metadata": {"name": name}})
    refused = Rule(Answer(403, "Forbidden"), path=ELSEWHERE)
    transport = FaultyTransport(api, Plan([refused, *rules]), loop.clock, entropy)
    client = client_of(transport, FOLLOWED)
    parts = {
        name: Reflector(
            client, CONFIGMAPS, clock=loop.clock, entropy=entropy, scope=Scope(name), indexes={"owner": owner_of}
        )
        for name in FOLLOWED
    }
    followed = Followed(admin, client, MergedReflector(parts))
    followed.merged.subscribe(followed.hear)
    running = asyncio.create_task(followed.merged.run())
    try:
        yield followed
    finally:
        running.cancel()
        await asyncio.wait([running])
        await api.close()


async def test_objects_of_all_its_namespaces_and_of_no_other_are_found_by_name_and_by_index() -> None:
    async with following() as world:
        await world.merged.wait_synced()
        for namespace, name, owner in (("a", "x", "acme"), ("b", "x", "acme"), ("b", "y", "other"), ("c", "x", "acme")):
            await world.put(namespace, name, owner)
        cache = world.merged.cache
        assert len(cache) == 3 and ("b", "y") in cache and ("a", "y") not in cache and ("c", "x") not in cache
        assert [one.metadata.namespace for one in cache.by_index("owner", "acme")] == ["a", "b"]
        assert cache.index_keys("owner") == ("acme", "other")
        assert {(one.metadata.namespace, one.metadata.name) for one in cache.values()} == {
            ("a", "x"),
            ("b", "x"),
            ("b", "y"),
        }
        assert cache.get("c", "x") is None and cache.get("b", "x") is not None
        assert world.changes == [("added", "a", "x"), ("added", "b", "x"), ("added", "b", "y")]
        await world.admin.delete(CONFIGMAPS, "x", "a")
        await VirtualLoop.running().clock.sleep(1)
        assert world.changes[-1] == ("deleted", "a", "x") and len(cache) == 2


async def test_a_list_of_all_namespaces_is_a_list_of_those_that_the_client_may_read() -> None:
    async with following() as world:
        for namespace in (*FOLLOWED, "c"):
            await world.put(namespace, "x", "acme")
        found = await world.client.list(CONFIGMAPS, label_selector="owner=acme")
        assert [one.metadata.namespace for one in found.items] == ["a", "b"]


async def test_it_is_as_far_and_as_healthy_as_its_worst_namespace() -> None:
    away = Rule(Answer(503), path="/namespaces/b/", until_seconds=60)
    async with following(away) as world:
        await VirtualLoop.running().clock.sleep(30)
        assert not world.merged.synced and world.merged.version == 0
        assert world.merged.health.last_error and not world.merged.health.fresh
        assert world.merged.health.last_event_age_seconds is None
        await VirtualLoop.running().clock.sleep(120)
        assert world.merged.synced and world.merged.health.fresh and world.merged.version > 0


async def test_one_reflector_and_several_are_followers() -> None:
    async with following() as world:
        followers: list[Follower[ConfigMap]] = [world.merged, *world.merged._parts]
        await asyncio.gather(*(one.wait_synced() for one in followers))
        assert [len(one.cache) for one in followers] == [0, 0, 0]
