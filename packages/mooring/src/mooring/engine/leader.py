"""Which replica acts: the live one with the oldest epoch. Workers belong to the leader, not to a named replica.

Leadership alone does not fence the writes of a paused predecessor. Before its first act a new leader therefore ends the
epoch of every silent replica, and the ledger refuses what such a replica still tries. A replica that beats again is
not deposed.

A replica that does not see the cluster is no candidate: it leaves, and registers again under a new epoch when it sees.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from hawser.clock import Clock
from mooring.engine.containment import contained
from mooring.ledger.port import Ledger
from mooring.ledger.records import Channel, InvariantCheck, Replica, Wake
from mooring.model.audit import AuditEntry, AuditOutcome, Subject
from mooring.model.errors import Unavailable
from mooring.model.timeouts import Timeouts

log = structlog.get_logger()

ADOPTED = "adopted"
RECORD_SECONDS = 30.0
NO_LEADER = ""
_SHORTEST_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Candidate:
    """This replica: its name, where it is reached, its version, and why it must not lead now (empty if it may)."""

    id: str
    address: str
    version: str
    obstacle: Callable[[], str]


def plan_leader(replicas: Iterable[Replica], silent_seconds: Mapping[str, float], dead_seconds: float) -> str:
    """The id of the replica that should act; empty when none is alive."""
    alive = find_alive(replicas, silent_seconds, dead_seconds)
    return min(alive, key=lambda replica: replica.epoch).id if alive else ""


def find_alive(replicas: Iterable[Replica], silent_seconds: Mapping[str, float], dead_seconds: float) -> list[Replica]:
    """Replicas that beat and did not leave."""
    return [r for r in replicas if r.left_at is None and silent_seconds.get(r.id, 0.0) < dead_seconds]


def find_dead(
    replicas: Iterable[Replica], silent_seconds: Mapping[str, float], dead_seconds: float, epoch: int
) -> list[Replica]:
    """Replicas that came before `epoch`, fell silent, and were not deposed yet: what they led has no leader."""
    return [
        replica
        for replica in replicas
        if replica.left_at is None and replica.epoch < epoch and silent_seconds.get(replica.id, 0.0) >= dead_seconds
    ]


def plan_pause(silent_seconds: Mapping[str, float], heartbeat_seconds: float, dead_seconds: float) -> float:
    """How long until the next look: a heartbeat, or less if another replica would count as dead before."""
    left = [dead_seconds - silent for silent in silent_seconds.values() if silent < dead_seconds]
    return max(min([heartbeat_seconds, *left]), _SHORTEST_PAUSE_SECONDS)


class Leadership:
    """This replica's place among the others, judged by beats and the monotonic clock, never by wall clocks."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        timeouts: Timeouts,
        candidate: Candidate,
        is_paused: Callable[[str], str],
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._timeouts = timeouts
        self._candidate = candidate
        self._is_paused = is_paused
        self.replica_id = candidate.id
        self.epoch = 0
        self._registered = False
        self._leaving = False
        self._woken = asyncio.Event()
        self.leader_id = ""
        self._beaten_at = float("-inf")
        self._failure = "no heartbeat was written yet"
        self._asked_at: float | None = None  # when the heartbeat began that has no answer yet
        self._recorded_at = float("-inf")
        self._last_beats: dict[str, tuple[int, float]] = {}
        self._incarnation = ledger.incarnation.id  # of the ledger that the last beats are of
        self._pause_seconds = timeouts.replica_heartbeat
        self._listeners: list[Callable[[Iterable[str]], None]] = []

    def on_look(self, listener: Callable[[Iterable[str]], None]) -> None:
        """Call `listener` with the ids of the replicas that live, at every look at them."""
        self._listeners.append(listener)

    @property
    def leading(self) -> bool:
        """Whether this replica may act now. A process that was paused beyond its heartbeat may not."""
        alive = self._registered and self._clock.monotonic() - self._beaten_at < self._timeouts.replica_dead
        return alive and self.leader_id == self.replica_id and not self.obstacle

    @property
    def obstacle(self) -> str:
        """The reason why this replica must not lead now; empty if it may lead."""
        return "it stops" if self._leaving else self._candidate.obstacle()

    @property
    def ledger_failure(self) -> str:
        """Why the ledger cannot be used: the error of the last heartbeat, or its age. Empty if it answers."""
        now, patience = self._clock.monotonic(), self._timeouts.replica_heartbeat
        if not self._failure and self._asked_at is not None and now - self._asked_at >= patience:
            return f"a heartbeat was not answered within {patience:g} s"
        age = now - self._beaten_at
        if not self._failure and age >= self._timeouts.replica_dead:
            return f"the last heartbeat is {age:.0f} s old"
        return self._failure

    @property
    def term(self) -> int:
        """The epoch under which this replica leads; 0, which no replica ever has, while it does not."""
        return self.epoch if self.leading else 0

    async def run(self) -> None:
        """Beat until cancelled; at once when another replica stops leading."""
        unlisten = self._ledger.listen(Channel.REPLICA, self._wake)
        try:
            while True:
                self._woken.clear()
                with contained("leadership"):
                    try:
                        await self.beat()
                    except Unavailable as error:
                        self._failure = error.message
                        log.warning("heartbeat failed", error=error.message)
                await self._pause()
        finally:
            unlisten()

    async def beat(self) -> None:
        """One heartbeat, unless something stands in the way of leading, and one look at the others."""
        self._asked_at = self._clock.monotonic()
        try:
            await self._beat(self._asked_at)
        finally:
            self._asked_at = None

    async def _beat(self, started: float) -> None:
        if obstacle := self.obstacle:
            await self._stand_back(obstacle)
        else:
            await self._stand(started)
        self._beaten_at = started
        await self._look(started)
        self._failure = ""

    async def _stand(self, started: float) -> None:
        overdue = started - self._beaten_at >= self._timeouts.replica_dead
        beaten = self._registered and not overdue
        if beaten and await self._ledger.replicas.heartbeat(self.replica_id, self.epoch, now=self._clock.now()):
            return
        me = self._candidate
        replica = await self._ledger.replicas.register(
            me.id, address=me.address, version=me.version, now=self._clock.now()
        )
        self.epoch, self._registered = replica.epoch, True

    async def _stand_back(self, obstacle: str) -> None:
        """Let another replica lead, and log the reason."""
        if not self._registered:
            return
        self._registered = False
        if self.leader_id == self.replica_id:
            log.warning("gave up leading", replica=self.replica_id, epoch=self.epoch, reason=obstacle)
        self.leader_id = NO_LEADER
        await self._ledger.replicas.leave(self.replica_id, self.epoch, now=self._clock.now())

    async def _pause(self) -> None:
        """Until the next heartbeat; a replica that stops leading or falls silent ends it."""
        try:
            async with asyncio.timeout(self._pause_seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    def _wake(self, wake: Wake) -> None:
        if wake.payload != self.replica_id:
            self._woken.set()

    async def _look(self, now: float) -> None:
        replicas = await self._ledger.replicas.all()
        if self._ledger.incarnation.id != self._incarnation:  # rows that were restored count the same beats again
            self._incarnation = self._ledger.incarnation.id
            self._last_beats.clear()
        for replica in replicas:
            beats, _ = self._last_beats.get(replica.id, (-1, now))
            if replica.beats != beats:
                self._last_beats[replica.id] = (replica.beats, now)
        silent = {replica_id: now - seen for replica_id, (_, seen) in self._last_beats.items()}
        alive = [replica.id for replica in find_alive(replicas, silent, self._timeouts.replica_dead)]
        self._pause_seconds = plan_pause(
            {name: silent[name] for name in alive}, self._timeouts.replica_heartbeat, self._timeouts.replica_dead
        )
        for listener in self._listeners:
            listener(alive)
        leader = plan_leader(replicas, silent, self._timeouts.replica_dead)
        if leader == self.replica_id and not self._registered:
            leader = NO_LEADER
        if leader == self.replica_id:
            dead = find_dead(replicas, silent, self._timeouts.replica_dead, self.epoch)
            if not await self._adopt(dead, silent, now):
                leader = ""
        if leader != self.leader_id:
            log.info("leader changed", leader=leader, me=self.replica_id, epoch=self.epoch)
        self.leader_id = leader

    async def _adopt(self, dead: Sequence[Replica], silent: Mapping[str, float], now: float) -> bool:
        """Take over from the dead; True when none of them can act any more."""
        adopted = [] if self._is_paused(ADOPTED) else [replica for replica in dead if await self._depose(replica)]
        if dead or now - self._recorded_at >= RECORD_SECONDS:
            self._recorded_at = now
            check = InvariantCheck(
                id=ADOPTED,
                at=self._clock.now(),
                broken=len(dead) - len(adopted),
                found=len(adopted),
                healed=tuple(silent[replica.id] for replica in adopted),
                evidence={"replica": dead[0].id, "epoch": dead[0].epoch} if dead else None,
            )
            await self._ledger.invariants.record([check])
        return len(adopted) == len(dead)

    async def _depose(self, replica: Replica) -> bool:
        entry = AuditEntry(
            id=f"adopt/{replica.id}/{replica.epoch}/{self.epoch}",
            at=self._clock.now(),
            actor=f"replica/{self.replica_id}",
            replica=self.replica_id,
            action="adopt",
            subject=Subject("Replica", "", replica.id, str(replica.epoch)),
            reason=f"it has been silent for longer than {self._timeouts.replica_dead:g} s",
            evidence={"epoch": self.epoch, "beats": replica.beats},
        )
        await self._ledger.audit.begin(entry)
        gone = await self._ledger.replicas.depose(replica.id, replica.epoch, beats=replica.beats, now=self._clock.now())
        outcome = AuditOutcome.DONE if gone else AuditOutcome.SKIPPED
        await self._ledger.audit.complete(entry.id, outcome, now=self._clock.now())
        if gone:
            log.warning("took over from a silent replica", replica=replica.id, epoch=replica.epoch)
        return gone

    async def leave(self) -> None:
        """Let the others take over at once; this replica does not lead again."""
        self._leaving = True
        try:
            await self._stand_back(self.obstacle)
        except Unavailable as error:
            log.warning("could not leave", error=error.message)
