"""Agents of workers that poll: each asks for sessions, executes them, sends heartbeats, and reports the end."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from drydock.faults import Crashed
from hawser.cache import Change
from hawser.views import Pod
from mooring.controllers.claims.dispatch import Dispatch, Result
from mooring.incidents.stage import Stage
from mooring.model.claim import Claim
from mooring.model.errors import MooringError, Unavailable
from mooring.model.worker import Worker

POLL_SECONDS = 30.0
BEAT_SECONDS = 20.0
RETRY_SECONDS = 2.0


class Agents:
    """One agent in every ready worker of a pool. They connect to the control plane that was started last."""

    def __init__(self, stage: Stage, pool_key: str, seconds_of: Callable[[Claim], float]) -> None:
        self._stage = stage
        self._pool_key = pool_key
        self._seconds_of = seconds_of
        self._alive: dict[str, asyncio.Task[None]] = {}  # by pod uid
        self._hung: set[str] = set()  # pod uids
        stage.watch.subscribe(self._see)

    def hang(self, uids: Iterable[str]) -> None:
        """These agents stop without an end, as after SIGSTOP: their pods stay Ready, and nobody hears of them again."""
        for uid in uids:
            self._hung.add(uid)
            if (agent := self._alive.pop(uid, None)) is not None:
                agent.cancel()

    def _see(self, change: Change[Pod]) -> None:
        pod = change.latest
        uid = pod.metadata.uid
        if change.new is None or change.new.terminating:
            if (agent := self._alive.pop(uid, None)) is not None:
                agent.cancel()
        elif pod.ready and uid not in self._alive and uid not in self._hung:
            self._alive[uid] = self._stage.enter(self._live(uid))

    async def _live(self, uid: str) -> None:
        while True:
            mooring = self._stage.replicas[-1].mooring
            worker = mooring.fleet.worker(self._pool_key, uid)
            try:
                if worker is not None:
                    session = await mooring.claims.dispatch.next_session(
                        worker, self._stage.hurried(POLL_SECONDS), executing=False
                    )
                    if session is not None:
                        await self._work(worker, session)
                    continue
            except (Crashed, MooringError):
                pass  # no answer, or no more sessions for this worker
            await self._stage.clock.sleep(self._stage.hurried(RETRY_SECONDS))

    async def _work(self, worker: Worker, session: Claim) -> None:
        left = self._stage.hurried(self._seconds_of(session))
        while left > 0:
            step = min(left, self._stage.hurried(BEAT_SECONDS))
            await self._stage.clock.sleep(step)
            left -= step
            await self._tell(lambda desk: desk.heartbeat(worker, session.id, session.epoch))
        await self._tell(lambda desk: desk.finish(worker, session.id, session.epoch, Result(0, "")))

    async def _tell(self, word: Callable[[Dispatch], Awaitable[object]]) -> None:
        """Repeat until a control plane has answered; a refusal ends the session."""
        while True:
            try:
                await word(self._stage.replicas[-1].mooring.claims.dispatch)
            except (Crashed, Unavailable):
                await self._stage.clock.sleep(self._stage.hurried(RETRY_SECONDS))
            else:
                return
