"""Signs of life of workers: recorded by every replica, and from them how long each worker has been silent.

Every replica writes the signs that it received to the ledger, all in one statement. Silence is measured by the
monotonic clock of the replica that asks, from what it sees change there: clocks are never compared, and a new leader
measures anew. Time in which a replica could not be reached is not counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import structlog

from hawser.clock import Clock
from mooring.engine.containment import contained
from mooring.engine.own_api import OwnApi, Reachability
from mooring.ledger.port import Ledger
from mooring.model.claim import Claim
from mooring.model.errors import Unavailable
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker

log = structlog.get_logger()

MISSED_FLUSHES = 4  # a live replica that missed so many writes may have received signs that no other replica knows


def former_holder(claim_id: str, epoch: int) -> str:
    """The sender that is the former holder of a claim: it still sends heartbeats under an epoch that is over."""
    return f"claim/{claim_id}/{epoch}"


def senders_for(worker: Worker) -> tuple[str, ...]:
    """The senders whose signs of life count for this worker."""
    stamp = worker.stamp
    return (worker.uid,) if stamp is None else (worker.uid, former_holder(stamp.claim, stamp.epoch))


def record_former_holder(signs: "SignsOfLife", row: Claim, epoch: int) -> None:
    """A refused heartbeat: its session may still run, so it counts for the worker that has or had the session."""
    if row.epoch == epoch and row.pod_uid is not None:
        signs.record(row.pod_uid)
    elif epoch < row.epoch:
        signs.record(former_holder(row.id, epoch))


def _replica(replica_id: str) -> str:
    """The sender that is a replica: its sign shows that it writes what it receives."""
    return f"replica/{replica_id}"


class SignsOfLife:
    """The signs of life that this replica received, until they are in the ledger."""

    def __init__(self, ledger: Ledger, clock: Clock, timeouts: Timeouts, replica_id: str, api: OwnApi) -> None:
        self._ledger = ledger
        self._clock = clock
        self._timeouts = timeouts
        self._own_sender = _replica(replica_id)
        self._pending: set[str] = set()
        self._received_any = False  # since the last write
        self.reach = Reachability(api, clock, timeouts.liveness_flush)
        self.written = False  # whether the last write succeeded

    def record(self, sender: str) -> None:
        """A sign of life."""
        self._pending.add(sender)
        self._received_any = True

    def meter(self) -> "SilenceMeter":
        """A new measure of silence."""
        return SilenceMeter(self._ledger, self._clock, self._timeouts, self)

    async def run(self) -> None:
        """Until cancelled. Signs that could not be written are kept."""
        while True:
            with contained("liveness"):
                await self.flush()
            await self._clock.sleep(self._timeouts.liveness_flush)

    async def flush(self) -> None:
        """Write what was received since the last time, and that this replica can be reached and writes."""
        await self.reach.look(proven=self._received_any)
        received, self._pending, self._received_any = self._pending, set(), False
        own = [] if self.reach.doubted else [self._own_sender]
        try:
            await self._ledger.liveness.record([*received, *own], now=self._clock.now())
        except Unavailable as error:
            self._pending |= received
            self.written = False
            log.warning("signs of life were not written to the ledger", signs=len(received), error=error.message)
        except BaseException:  # these signs would fail again, and keep all later ones from being written
            self.written = False
            raise
        else:
            self.written = True


@dataclass(frozen=True, slots=True)
class _LastSign:
    count: int | None
    at: float  # monotonic: when this count was first seen


class SilenceMeter:
    """Measures how long senders have been silent. It starts anew for a sender it was not asked about the last time."""

    def __init__(self, ledger: Ledger, clock: Clock, timeouts: Timeouts, signs: SignsOfLife) -> None:
        self._ledger = ledger
        self._clock = clock
        self._timeouts = timeouts
        self._signs = signs
        self._last: dict[str, _LastSign] = {}  # by sender
        self._replicas: dict[str, _LastSign] = {}  # by id: its heartbeats

    def forget(self) -> None:
        """Signs of life could not arrive, so silence proves nothing."""
        self._last.clear()
        self._replicas.clear()

    def last_sign(self, sender: str) -> float | None:
        """When a new sign of this sender was last seen, on the monotonic clock; None if there was never one."""
        last = self._last.get(sender)
        return None if last is None or last.count is None else last.at

    async def measure(self, senders: Mapping[str, Iterable[str]]) -> dict[str, float]:
        """Seconds of silence by key, for the senders of each key; empty while signs may be missing."""
        if not senders:
            self.forget()
            return {}
        replicas = await self._find_replicas()
        asked = {sender for several in senders.values() for sender in several}
        counts = await self._ledger.liveness.counts([*asked, *replicas])
        now = self._clock.monotonic()
        self._last = {sender: _newer(self._last.get(sender), counts.get(sender), now) for sender in asked | replicas}
        reached = self._signs.reach.since
        if reached is None or not self._signs.written or self._misses_writes(replicas, now):
            self._last = {sender: last for sender, last in self._last.items() if sender in replicas}
            return {}
        return {
            key: now - max(reached, *(self._last[sender].at for sender in several)) for key, several in senders.items()
        }

    async def _find_replicas(self) -> set[str]:
        """The senders of all replicas that are alive."""
        now, before = self._clock.monotonic(), self._replicas
        present = [replica for replica in await self._ledger.replicas.all() if replica.left_at is None]
        self._replicas = {one.id: _newer(before.get(one.id), one.beats, now) for one in present}
        dead = self._timeouts.replica_dead
        return {_replica(id_) for id_, beat in self._replicas.items() if now - beat.at <= dead}

    def _misses_writes(self, replicas: set[str], now: float) -> bool:
        """Whether one of these replicas has not written its signs of life for too long."""
        limit = MISSED_FLUSHES * self._timeouts.liveness_flush
        return any(self._last[sender].count is None or now - self._last[sender].at > limit for sender in replicas)


def _newer(before: _LastSign | None, count: int | None, now: float) -> _LastSign:
    """A row that housekeeping removed is not a sign of life."""
    if before is not None and (count is None or count == before.count):
        return before
    return _LastSign(count, now)
