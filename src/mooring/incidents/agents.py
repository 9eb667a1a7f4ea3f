"""The agents of workers that poll: each asks for sessions, works on them, beats, and reports the end."""

import asyncio
from collections.abc import Awaitable, Callable

from mooring.control.claiming.dispatching import Dispatching, Result
from mooring.incidents.stage import Stage
from mooring.kube.cache import Change
from mooring.kube.views import Pod
from mooring.model.claim import Claim
from mooring.model.errors import MooringError, Unavailable
from mooring.model.worker import Worker
from mooring.sandbox.faults import Crashed

POLL_SECONDS = 30.0
BEAT_SECONDS = 20.0
RETRY_SECONDS = 2.0


class Agents:
    """One agent in every worker of a pool that is ready. They speak to whichever control plane was started last."""

    def __init__(self, stage: Stage, pool_key: str, seconds_of: Callable[[Claim], float]) -> None:
        self._stage = stage
        self._pool_key = pool_key
        self._seconds_of = seconds_of
        self._alive: dict[str, asyncio.Task[None]] = {}  # by pod uid
        stage.watch.subscribe(self._see)

    def _see(self, change: Change[Pod]) -> None:
        pod = change.latest
        uid = pod.metadata.uid
        if change.new is None or change.new.terminating:
            if (agent := self._alive.pop(uid, None)) is not None:
                agent.cancel()
        elif pod.ready and uid not in self._alive:
            self._alive[uid] = self._stage.enter(self._live(uid))

    async def _live(self, uid: str) -> None:
        while True:
            mooring = self._stage.replicas[-1].mooring
            worker = mooring.fleet.worker(self._pool_key, uid)
            try:
                if worker is not None:
                    session = await mooring.dispatching.next_session(
                        worker, self._stage.hurried(POLL_SECONDS), executing=False
                    )
                    if session is not None:
                        await self._work(worker, session)
                    continue
            except (Crashed, MooringError):
                pass  # nobody answers, or there is nothing more for this worker
            await self._stage.clock.sleep(self._stage.hurried(RETRY_SECONDS))

    async def _work(self, worker: Worker, session: Claim) -> None:
        left = self._stage.hurried(self._seconds_of(session))
        while left > 0:
            step = min(left, self._stage.hurried(BEAT_SECONDS))
            await self._stage.clock.sleep(step)
            left -= step
            await self._tell(lambda desk: desk.heartbeat(worker, session.id, session.epoch))
        await self._tell(lambda desk: desk.finish(worker, session.id, session.epoch, Result(0, "")))

    async def _tell(self, word: Callable[[Dispatching], Awaitable[object]]) -> None:
        """Again and again until a control plane has heard it; one that refuses ends the session."""
        while True:
            try:
                await word(self._stage.replicas[-1].mooring.dispatching)
            except (Crashed, Unavailable):
                await self._stage.clock.sleep(self._stage.hurried(RETRY_SECONDS))
            else:
                return
