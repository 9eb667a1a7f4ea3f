"""A part beside the pools, over a tiny API: pods in, keys out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from mooring.clock import Entropy
from mooring.control.part import Part
from mooring.control.watch import Watch
from mooring.kube.cache import Change
from mooring.kube.client import KubeClient
from mooring.kube.resources import PODS
from mooring.kube.views import Pod
from mooring.sandbox.faults import FaultyTransport, Plan, Refuse, Rule
from mooring.sandbox.virtual import VirtualLoop
from tests.kube.tiny_api import TinyApi, in_virtual_time


class PodWatch(Watch):
    """Tells the key of every pod that changed."""

    def __init__(self, client: KubeClient) -> None:
        super().__init__(client, VirtualLoop.running().clock, Entropy(2))
        self.reflect("pods", PODS).subscribe(self._on_pod)

    def _on_pod(self, change: Change[Pod]) -> None:
        self._tell("pod", change.latest.metadata.key)


class Pods(Part[PodWatch]):
    """Notes what it was asked to reconcile."""

    def __init__(self, *rules: Rule) -> None:
        self.api, self.clock = TinyApi(), VirtualLoop.running().clock
        self.leads = True
        self.reconciled: list[str] = []
        watch = PodWatch(KubeClient(FaultyTransport(self.api, Plan(rules), self.clock, Entropy(3))))
        super().__init__("pods", watch, self._note, lambda: self.leads, self.clock, Entropy(4), coalesce_seconds=0.5)

    async def _note(self, key: str) -> datetime | None:
        self.reconciled.append(key)
        return None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait((running,))


@in_virtual_time
async def test_what_changes_within_a_moment_is_looked_at_once() -> None:
    part = Pods()
    part.api.put("a")
    async with part.running():
        await part.clock.sleep(0.1)
        part.api.put("a")
        part.api.put("b")
        await part.clock.sleep(2)
        assert part.reconciled == ["default/a", "default/b"]


@in_virtual_time
async def test_whoever_subscribed_hears_of_changes_also_on_a_replica_that_does_not_lead() -> None:
    part, heard = Pods(), list[tuple[str, str]]()
    part.leads = False
    part.subscribe(lambda kind, key: heard.append((kind, key)))
    async with part.running():
        part.api.put("a")
        await part.clock.sleep(2)
        part.api.delete("a")
        await part.clock.sleep(2)
        assert heard == [("pod", "default/a")] * 2
        assert part.reconciled == []


@in_virtual_time
async def test_a_replica_that_comes_to_lead_looks_at_what_changed_before() -> None:
    part = Pods()
    part.api.put("a")
    part.leads = False
    async with part.running():
        await part.clock.sleep(5)
        part.leads = True
        await part.clock.sleep(2)
        assert part.reconciled == ["default/a"]


@in_virtual_time
async def test_nothing_is_reconciled_before_the_caches_are_full() -> None:
    part = Pods(Rule(Refuse(), nth=frozenset({1, 2, 3})))
    part.api.put("a")
    async with part.running():
        part._on_change("pod", "default/a")
        await part.clock.sleep(1)
        assert not part.reflectors["pods"].synced
        assert part.reconciled == []
        await asyncio.wait_for(part._watch.wait_synced(), 300)
        await part.clock.sleep(2)
        assert part.reconciled == ["default/a"]


@in_virtual_time
async def test_a_stopped_part_takes_no_new_key() -> None:
    part = Pods()
    async with part.running():
        await part.clock.sleep(1)
        await part.stop(1.0)
        part.api.put("a")
        await part.clock.sleep(5)
        assert part.reconciled == []
