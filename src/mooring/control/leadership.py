"""Which replica acts: the live one with the oldest epoch.

Leadership only keeps replicas from doing the same work; it fences nothing (rule 19). Safety comes from slot names,
preconditions and the epochs in the ledger and on the objects.
"""

from collections.abc import Iterable, Mapping

import structlog

from mooring.clock import Clock
from mooring.ledger.port import Ledger
from mooring.ledger.records import Replica
from mooring.model.errors import Unavailable
from mooring.model.timeouts import Timeouts

log = structlog.get_logger()


def plan_leader(replicas: Iterable[Replica], silent_seconds: Mapping[str, float], dead_seconds: float) -> str:
    """The id of the replica that should act; empty when none is alive."""
    alive = [r for r in replicas if r.left_at is None and silent_seconds.get(r.id, 0.0) < dead_seconds]
    return min(alive, key=lambda replica: replica.epoch).id if alive else ""


class Leadership:
    """This replica's place among the others, judged by beats and the monotonic clock, never by wall clocks."""

    def __init__(
        self, ledger: Ledger, clock: Clock, timeouts: Timeouts, replica_id: str, address: str, version: str
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._timeouts = timeouts
        self._address = address
        self._version = version
        self.replica_id = replica_id
        self.epoch = 0
        self.leader_id = ""
        self._beaten_at = float("-inf")
        self._last_beats: dict[str, tuple[int, float]] = {}

    @property
    def leading(self) -> bool:
        """Whether this replica may act now. A process that was paused beyond its heartbeat may not."""
        alive = self._clock.monotonic() - self._beaten_at < self._timeouts.replica_dead
        return alive and self.leader_id == self.replica_id

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            try:
                await self.beat()
            except Unavailable as error:
                log.warning("heartbeat failed", error=error.message)
            await self._clock.sleep(self._timeouts.replica_heartbeat)

    async def beat(self) -> None:
        """One heartbeat and one look at the others."""
        started = self._clock.monotonic()
        overdue = started - self._beaten_at >= self._timeouts.replica_dead
        alive = not overdue and await self._ledger.replicas.heartbeat(
            self.replica_id, self.epoch, now=self._clock.now()
        )
        if not alive:
            replica = await self._ledger.replicas.register(
                self.replica_id, address=self._address, version=self._version, now=self._clock.now()
            )
            self.epoch = replica.epoch
        self._beaten_at = started
        await self._look(started)

    async def _look(self, now: float) -> None:
        replicas = await self._ledger.replicas.all()
        for replica in replicas:
            beats, _ = self._last_beats.get(replica.id, (-1, now))
            if replica.beats != beats:
                self._last_beats[replica.id] = (replica.beats, now)
        silent = {replica_id: now - seen for replica_id, (_, seen) in self._last_beats.items()}
        leader = plan_leader(replicas, silent, self._timeouts.replica_dead)
        if leader != self.leader_id:
            log.info("leader changed", leader=leader, me=self.replica_id, epoch=self.epoch)
        self.leader_id = leader

    async def leave(self) -> None:
        """Let the others take over at once."""
        try:
            await self._ledger.replicas.leave(self.replica_id, self.epoch, now=self._clock.now())
        except Unavailable as error:
            log.warning("could not leave", error=error.message)
