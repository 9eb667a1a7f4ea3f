"""Words of workers: who gave a sign of life, at whichever replica, and for how long nobody has heard of a worker.

Every replica writes the words it heard to the ledger, all in one statement. Silence is measured by the monotonic clock
of the replica that asks, from what it sees change there: clocks are never compared, and a new leader measures anew.
Time in which a replica could not be reached is not counted.
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

MISSED_FLUSHES = 4  # a replica that lives and has missed so many writes may have heard words that nobody knows of


def speaker_of_claim(claim_id: str, epoch: int) -> str:
    """The former holder of a claim, who still sends heartbeats under an epoch that is over."""
    return f"claim/{claim_id}/{epoch}"


def speakers_for(worker: Worker) -> tuple[str, ...]:
    """Those whose word counts as one of this worker."""
    stamp = worker.stamp
    return (worker.uid,) if stamp is None else (worker.uid, speaker_of_claim(stamp.claim, stamp.epoch))


def hear_former_holder(words: "WordBook", row: Claim, epoch: int) -> None:
    """A heartbeat was refused. Its session may go on all the same: a word of the worker that has or had it."""
    if row.epoch == epoch and row.pod_uid is not None:
        words.hear(row.pod_uid)
    elif epoch < row.epoch:
        words.hear(speaker_of_claim(row.id, epoch))


def _speaker_of_replica(replica_id: str) -> str:
    return f"replica/{replica_id}"


class WordBook:
    """The words that this replica heard, until they are in the ledger."""

    def __init__(self, ledger: Ledger, clock: Clock, timeouts: Timeouts, replica_id: str, api: OwnApi) -> None:
        self._ledger = ledger
        self._clock = clock
        self._timeouts = timeouts
        self._mark = _speaker_of_replica(replica_id)
        self._pending: set[str] = set()
        self._heard_any = False  # since the last write
        self.reach = Reachability(api, clock, timeouts.word_flush)
        self.written = False  # whether the last write succeeded

    def hear(self, speaker: str) -> None:
        """A sign of life."""
        self._pending.add(speaker)
        self._heard_any = True

    def meter(self) -> "SilenceMeter":
        """A new measure of silence."""
        return SilenceMeter(self._ledger, self._clock, self._timeouts, self)

    async def run(self) -> None:
        """Until cancelled. Words that could not be written are kept."""
        while True:
            with contained("words"):
                await self.flush()
            await self._clock.sleep(self._timeouts.word_flush)

    async def flush(self) -> None:
        """Write down what was heard since the last time, and that this replica can be reached and writes."""
        await self.reach.look(proven=self._heard_any)
        heard, self._pending, self._heard_any = self._pending, set(), False
        marks = [] if self.reach.doubted else [self._mark]
        try:
            await self._ledger.words.hear([*heard, *marks], now=self._clock.now())
        except Unavailable as error:
            self._pending |= heard
            self.written = False
            log.warning("words of workers were not written down", words=len(heard), error=error.message)
        except BaseException:  # these words would fail again, and keep all later ones from being written
            self.written = False
            raise
        else:
            self.written = True


@dataclass(frozen=True, slots=True)
class _Heard:
    count: int | None
    at: float  # monotonic: when this count was first seen


class SilenceMeter:
    """For how long nothing was heard. It starts anew for what it was not asked about the last time."""

    def __init__(self, ledger: Ledger, clock: Clock, timeouts: Timeouts, book: WordBook) -> None:
        self._ledger = ledger
        self._clock = clock
        self._timeouts = timeouts
        self._book = book
        self._heard: dict[str, _Heard] = {}  # by speaker
        self._replicas: dict[str, _Heard] = {}  # by id: its heartbeats

    def forget(self) -> None:
        """Words could not be heard: silence says nothing."""
        self._heard.clear()
        self._replicas.clear()

    def last_word(self, speaker: str) -> float | None:
        """When a word of this speaker was last seen to be new, on the monotonic clock; None if it never spoke."""
        heard = self._heard.get(speaker)
        return None if heard is None or heard.count is None else heard.at

    async def measure(self, speakers: Mapping[str, Iterable[str]]) -> dict[str, float]:
        """Seconds of silence by key, for the speakers of each key; empty while words may be missing."""
        if not speakers:
            self.forget()
            return {}
        marks = await self._look_at_replicas()
        asked = {speaker for several in speakers.values() for speaker in several}
        counts = await self._ledger.words.counts([*asked, *marks])
        now = self._clock.monotonic()
        self._heard = {speaker: _newer(self._heard.get(speaker), counts.get(speaker), now) for speaker in asked | marks}
        reached = self._book.reach.since
        if reached is None or not self._book.written or self._is_anyone_mute(marks, now):
            self._heard = {speaker: one for speaker, one in self._heard.items() if speaker in marks}
            return {}
        return {
            key: now - max(reached, *(self._heard[speaker].at for speaker in several))
            for key, several in speakers.items()
        }

    async def _look_at_replicas(self) -> set[str]:
        """The marks of all replicas that are alive."""
        now, before = self._clock.monotonic(), self._replicas
        present = [replica for replica in await self._ledger.replicas.all() if replica.left_at is None]
        self._replicas = {one.id: _newer(before.get(one.id), one.beats, now) for one in present}
        dead = self._timeouts.replica_dead
        return {_speaker_of_replica(id_) for id_, beat in self._replicas.items() if now - beat.at <= dead}

    def _is_anyone_mute(self, marks: set[str], now: float) -> bool:
        limit = MISSED_FLUSHES * self._timeouts.word_flush
        return any(self._heard[mark].count is None or now - self._heard[mark].at > limit for mark in marks)


def _newer(before: _Heard | None, count: int | None, now: float) -> _Heard:
    """A row that housekeeping removed is no word."""
    if before is not None and (count is None or count == before.count):
        return before
    return _Heard(count, now)
