"""One fault after another on real parts, and who leads meanwhile."""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from hawser.resources import PODS
from packages.mooring.tests.fire.parts import NAMESPACE, Parts, Replica
from packages.testing.judge import History

STOPPED_SECONDS, CUT_SECONDS = 30.0, 25.0
_LOOK_SECONDS = 0.2


class Fire:
    """The faults, in an order that a seed decides. Each hits the leader every second time."""

    def __init__(self, parts: Parts, seed: int, history: History, began: float) -> None:
        self._parts = parts
        self._history = history
        self._began = began
        self._chance = random.Random(seed)
        self._hurt: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self.made: list[str] = []
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "kill -9": self._kill,
            "SIGTERM": self._stop,
            "SIGSTOP": self._pause,
            "API server cut": lambda: self._cut("api_link"),
            "PostgreSQL cut": lambda: self._cut("ledger_link"),
            "PostgreSQL killed": self._kill_database,
            "API server killed": lambda: self._parts.plane.restart("kube-apiserver"),
            "etcd killed": lambda: self._parts.plane.restart("etcd"),
            "node cut off": self._cut_a_node,
        }

    async def run(self, every: float, seconds: float) -> None:
        """Until the time is over; then everything heals."""
        order: list[str] = []
        until = time.monotonic() + seconds
        while time.monotonic() + every < until:
            await asyncio.sleep(every)
            if not order:
                order = self._chance.sample(sorted(self.kinds), len(self.kinds))
            kind = order.pop()
            self.made.append(kind)
            self._tasks.append(asyncio.create_task(self._make(kind)))
        await asyncio.gather(*self._tasks)

    async def _make(self, kind: str) -> None:
        began = time.monotonic()
        await self.kinds[kind]()
        self._history.note(began - self._began, "trouble", kind=kind, until=time.monotonic() - self._began)

    async def _victim(self) -> Replica | None:
        """The leader, or any other one that nothing else hurts now; two are always left."""
        free = [replica for replica in self._parts.replicas if replica.name not in self._hurt]
        if self._hurt:
            return None
        if self._chance.random() < 0.5:
            for replica in free:
                if (await replica.describe(self._parts.session)).get("leading"):
                    return replica
        return self._chance.choice(free)

    @contextlib.asynccontextmanager
    async def _hurting(self) -> AsyncIterator[Replica]:
        while (replica := await self._victim()) is None:
            await asyncio.sleep(0.5)
        self._hurt.add(replica.name)
        try:
            yield replica
        finally:
            self._hurt.discard(replica.name)

    async def _kill(self) -> None:
        async with self._hurting() as replica:
            await replica.end(signal.SIGKILL)
            await asyncio.sleep(self._chance.uniform(1, 12))
            await replica.start()
            await replica.until_ready(self._parts.session)

    async def _stop(self) -> None:
        async with self._hurting() as replica:
            await replica.end(signal.SIGTERM)
            await asyncio.sleep(self._chance.uniform(1, 5))
            await replica.start()
            await replica.until_ready(self._parts.session)

    async def _pause(self) -> None:
        async with self._hurting() as replica:
            replica.send(signal.SIGSTOP)
            await asyncio.sleep(STOPPED_SECONDS)
            replica.send(signal.SIGCONT)

    async def _cut(self, which: str) -> None:
        async with self._hurting() as replica:
            link = getattr(replica, which)
            link.cut()
            await asyncio.sleep(CUT_SECONDS)
            link.mend()

    async def _kill_database(self) -> None:
        pid = self._parts.database.pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):  # the one that an earlier fault has ended
                os.kill(pid, signal.SIGQUIT)  # its own keeper starts it again

    async def _cut_a_node(self) -> None:
        fleet = self._parts.cluster.fleet
        node = self._chance.choice(fleet.node_names)
        for pod in (await self._parts.cluster.client.list(PODS, NAMESPACE)).items:
            if pod.spec.node_name == node:
                self._history.note(time.monotonic() - self._began, "taken", uid=pod.metadata.uid)
        await fleet.pause(node)
        await asyncio.sleep(CUT_SECONDS)
        await fleet.resume(node)


class Leaders:
    """How long nobody led, as far as the replicas say."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.gaps: list[float] = []

    async def watch(self) -> None:
        """Until cancelled. The first gap is the start."""
        leaderless_since: float | None = None
        while True:
            asked = [asyncio.create_task(one.describe(self._parts.session)) for one in self._parts.replicas]
            leading = False
            for answer in asyncio.as_completed(asked):
                if (await answer).get("leading"):
                    leading = True
                    break
            now = time.monotonic()
            if leading and leaderless_since is not None:
                self.gaps.append(now - leaderless_since)
            leaderless_since = None if leading else leaderless_since or now
            for task in asked:
                task.cancel()
            await asyncio.sleep(_LOOK_SECONDS)
