"""A controller: watches a kind, takes one key after another, and brings the cluster to what was decided for it.

Every pass has the same steps, in this order:

    latest     the object as it is known now, own writes included; None: it is gone
    snapshot   everything that the decision may look at, frozen
    plan       the decision, a pure function
    intend     what has to be written down before anything is done
    delete     guarded deletes
    create     creates
    conclude   the status

The control plane may die after each of them: the next pass finds what is there, and decides anew.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from hawser.follower import Follower
from mooring.engine.context import Context
from mooring.engine.informer import Informer, OnChange
from mooring.engine.loop import NEVER, ReconcileLoop
from mooring.planning.actions import earliest

I = TypeVar("I", bound=Informer)  # noqa: E741 - the informer
O = TypeVar("O")  # noqa: E741 - the object
S = TypeVar("S")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Pass(Generic[O, S, P]):
    """One pass over one object, and when to look at it again."""

    found: O
    snapshot: S
    plan: P
    wake_at: datetime | None = None

    def wake(self, *times: datetime | None) -> "Pass[O, S, P]":
        """The same, with a look at the earliest of these times."""
        return replace(self, wake_at=earliest(self.wake_at, *times))


class NotNow(Exception):
    """Raised by `snapshot`: the pass is put off, without anything done or written."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"put off until {until.isoformat()}")
        self.until = until


class Reconciler(Generic[O, S, P]):
    """The steps of one kind. What a kind has no use for stays as it is here."""

    def latest(self, key: str) -> O | None:
        """The object; None when there is nothing to do for that key any more."""
        raise NotImplementedError

    def forget(self, key: str) -> None:
        """The object is gone: drop all that is remembered of it."""

    async def snapshot(self, found: O) -> S:
        """What the decision may look at. Raises `NotNow` when it cannot be read for the moment."""
        raise NotImplementedError

    def plan(self, snapshot: S) -> P:
        """Decide. No await, no clock, no chance."""
        raise NotImplementedError

    async def intend(self, current: Pass[O, S, P]) -> Pass[O, S, P]:
        """Write down what a crash must not lose."""
        return current

    async def delete(self, current: Pass[O, S, P]) -> Pass[O, S, P]:
        """Delete what the rails allow."""
        return current

    async def create(self, current: Pass[O, S, P]) -> Pass[O, S, P]:
        """Make what is missing."""
        return current

    async def conclude(self, current: Pass[O, S, P]) -> Pass[O, S, P]:
        """Write the status."""
        return current

    async def fail(self, found: O, error: Exception) -> None:
        """A step failed with `error`, which is raised after this: say so where people look."""

    async def reconcile(self, key: str) -> datetime | None:
        """One pass; answers when to look again. None: at the next resync. `NEVER`: the object is gone."""
        found = self.latest(key)
        if found is None:
            self.forget(key)
            return NEVER
        try:
            snapshot = await self.snapshot(found)
            current = Pass(found, snapshot, self.plan(snapshot))
            for step in (self.intend, self.delete, self.create, self.conclude):
                current = await step(current)
        except NotNow as put_off:
            return put_off.until
        except Exception as error:
            await self.fail(found, error)
            raise
        return current.wake_at


@dataclass(frozen=True, slots=True)
class Pacing:
    """How soon a changed key is looked at, and how many keys are handled side by side."""

    coalesce_seconds: float = 0.0
    concurrency: int = 4


class Controller(Generic[I, O, S, P]):
    """Runs on every replica: it watches everywhere, and acts on the replica that leads."""

    def __init__(
        self,
        name: str,
        context: Context,
        informer: I,
        reconciler: Reconciler[O, S, P],
        pacing: Pacing = Pacing(),
        may_act: Callable[[], bool] | None = None,
    ) -> None:
        self.informer = informer
        self._gate = context.gate
        self._reconciler = reconciler
        self._may_act = may_act or context.gate.may_act
        self._pacing = pacing
        self._loop = ReconcileLoop(
            name, self._reconcile, self.ready, context.clock, context.entropy, pacing.concurrency
        )
        informer.subscribe(self._on_change)

    @property
    def reflectors(self) -> Mapping[str, Follower[Any]]:
        return self.informer.reflectors

    def subscribe(self, listener: OnChange) -> None:
        """Call `listener` for every change; it must not wait."""
        self.informer.subscribe(listener)

    async def run(self) -> None:
        """Watch and reconcile until cancelled."""
        async with asyncio.TaskGroup() as group:
            for task in (self.informer.run, self._loop.run, *self._tasks()):
                group.create_task(_awaited(task()))

    async def drain(self, timeout_seconds: float) -> None:
        """Take no new key; wait for passes under way."""
        await self._loop.drain(timeout_seconds)

    async def stop(self, timeout_seconds: float) -> None:
        """Take no new key; let passes under way finish."""
        await self._loop.stop(timeout_seconds)

    async def _reconcile(self, key: str) -> datetime | None:
        with self._gate.acting():
            return await self._reconciler.reconcile(key)

    def ready(self) -> bool:
        """Whether this controller may act now."""
        return self.informer.synced and self._may_act()

    def look_at(self, key: str, after_seconds: float = 0.0) -> None:
        """Take the key up, at once or a little later."""
        if after_seconds > 0:
            self._loop.queue.add_after(key, after_seconds)
        else:
            self._loop.queue.add(key)

    def _tasks(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What runs beside the loop, for instance a periodic check."""
        return ()

    def _on_change(self, _: str, key: str) -> None:
        self._loop.queue.add_after(key, self._pacing.coalesce_seconds)


async def _awaited(task: Awaitable[None]) -> None:
    await task
