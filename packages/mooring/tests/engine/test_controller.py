"""A controller over a tiny API: pods in, keys out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from drydock import VirtualLoop
from drydock.faults import FaultyTransport, Plan, Refuse, Rule
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Entropy
from hawser.resources import PODS
from hawser.views import Pod
from mooring.engine.context import Context
from mooring.engine.controller import Controller, NotNow, Pacing, Pass, Reconciler
from mooring.engine.informer import Informer
from mooring.engine.loop import NEVER, RESYNC_SECONDS
from packages.hawser.tests.tiny_api import TinyApi


class PodInformer(Informer):
    """Notifies with the key of every pod that changed."""

    def __init__(self, client: KubeClient) -> None:
        super().__init__(client, VirtualLoop.running().clock, Entropy(2))
        self.reflect("pods", PODS).subscribe(self._on_pod)

    def _on_pod(self, change: Change[Pod]) -> None:
        self._notify("pod", change.latest.metadata.key)


class Notes(Reconciler[str, str, str]):
    """Notes the steps that it is asked for."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.steps: list[str] = []
        self.gone: set[str] = set()
        self.failing = ""

    def latest(self, key: str) -> str | None:
        return None if key in self.gone else key

    def forget(self, key: str) -> None:
        self.steps.append("forget")

    async def snapshot(self, found: str) -> str:
        self.keys.append(found)
        return self._note("snapshot")

    def plan(self, snapshot: str) -> str:
        return self._note("plan")

    async def intend(self, current: Pass[str, str, str]) -> Pass[str, str, str]:
        self._note("intend")
        return current

    async def delete(self, current: Pass[str, str, str]) -> Pass[str, str, str]:
        self._note("delete")
        return current

    async def create(self, current: Pass[str, str, str]) -> Pass[str, str, str]:
        self._note("create")
        return current

    async def conclude(self, current: Pass[str, str, str]) -> Pass[str, str, str]:
        self._note("conclude")
        return current

    async def fail(self, found: str, error: Exception) -> None:
        self.steps.append(f"fail: {error}")

    def _note(self, step: str) -> str:
        self.steps.append(step)
        if step == self.failing:
            raise RuntimeError(f"{step} broke")
        return step


class Pods(Controller[PodInformer, str, str, str]):
    """A controller of pods."""

    def __init__(self, *rules: Rule) -> None:
        self.api, self.clock = TinyApi(), VirtualLoop.running().clock
        self.leads = True
        self.notes = Notes()
        informer = PodInformer(KubeClient(FaultyTransport(self.api, Plan(rules), self.clock, Entropy(3))))
        gate = SimpleNamespace(may_act=lambda: self.leads, acting=nullcontext)
        context = cast(Context, SimpleNamespace(gate=gate, clock=self.clock, entropy=Entropy(4)))
        super().__init__("pods", context, informer, self.notes, Pacing(coalesce_seconds=0.5))

    @property
    def reconciled(self) -> list[str]:
        return self.notes.keys

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        running = asyncio.create_task(self.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait((running,))


async def test_what_changes_within_a_moment_is_looked_at_once() -> None:
    pods = Pods()
    pods.api.put("a")
    async with pods.running():
        await pods.clock.sleep(0.1)
        pods.api.put("a")
        pods.api.put("b")
        await pods.clock.sleep(2)
        assert pods.reconciled == ["default/a", "default/b"]


async def test_whoever_subscribed_hears_of_changes_also_on_a_replica_that_does_not_lead() -> None:
    pods, heard = Pods(), list[tuple[str, str]]()
    pods.leads = False
    pods.subscribe(lambda kind, key: heard.append((kind, key)))
    async with pods.running():
        pods.api.put("a")
        await pods.clock.sleep(2)
        pods.api.delete("a")
        await pods.clock.sleep(2)
        assert heard == [("pod", "default/a")] * 2
        assert pods.reconciled == []


async def test_a_replica_that_comes_to_lead_looks_at_what_changed_before() -> None:
    pods = Pods()
    pods.api.put("a")
    pods.leads = False
    async with pods.running():
        await pods.clock.sleep(5)
        pods.leads = True
        await pods.clock.sleep(2)
        assert pods.reconciled == ["default/a"]


async def test_a_key_comes_back_at_every_resync_until_its_object_is_gone() -> None:
    pods = Pods()
    pods.api.put("a")
    async with pods.running():
        await pods.clock.sleep(RESYNC_SECONDS + 5)
        assert pods.reconciled == ["default/a"] * 2
        pods.notes.gone.add("default/a")
        await pods.clock.sleep(10 * RESYNC_SECONDS)
        assert pods.notes.steps.count("forget") == 1


async def test_nothing_is_reconciled_before_the_caches_are_full() -> None:
    pods = Pods(Rule(Refuse(), nth=frozenset({1, 2, 3})))
    pods.api.put("a")
    async with pods.running():
        pods._on_change("pod", "default/a")
        await pods.clock.sleep(1)
        assert not pods.reflectors["pods"].synced
        assert pods.reconciled == []
        await asyncio.wait_for(pods.informer.wait_synced(), 300)
        await pods.clock.sleep(2)
        assert pods.reconciled == ["default/a"]


async def test_a_stopped_part_takes_no_new_key() -> None:
    pods = Pods()
    async with pods.running():
        await pods.clock.sleep(1)
        await pods.stop(1.0)
        pods.api.put("a")
        await pods.clock.sleep(5)
        assert pods.reconciled == []


STEPS = ["snapshot", "plan", "intend", "delete", "create", "conclude"]


async def test_a_pass_has_its_steps_in_order() -> None:
    notes = Notes()
    assert await notes.reconcile("default/a") is None
    assert notes.steps == STEPS


async def test_what_is_gone_is_forgotten_and_nothing_else_happens() -> None:
    notes = Notes()
    notes.gone.add("default/a")
    assert await notes.reconcile("default/a") == NEVER
    assert notes.steps == ["forget"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_step_that_fails_is_reported_and_raised_and_ends_the_pass(step: str) -> None:
    notes = Notes()
    notes.failing = step
    with pytest.raises(RuntimeError, match=step):
        await notes.reconcile("default/a")
    assert notes.steps == [*STEPS[: STEPS.index(step) + 1], f"fail: {step} broke"]


async def test_a_pass_that_is_put_off_writes_nothing_and_says_until_when() -> None:
    until = VirtualLoop.running().clock.now() + timedelta(seconds=3)

    class Unread(Notes):
        async def snapshot(self, found: str) -> Any:
            raise NotNow(until)

    notes = Unread()
    assert await notes.reconcile("default/a") == until
    assert notes.steps == []
