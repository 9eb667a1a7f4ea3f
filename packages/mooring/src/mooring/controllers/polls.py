"""Which workers of pools with poll dispatch still poll. A session goes only to a worker that was heard a moment ago.

Every replica follows the words that all replicas wrote to the ledger. If none of several workers is heard, the cause is
probably what they have in common, the way to Mooring: silence is then not counted, and starts anew afterwards. The same
holds, also for a single worker, while Mooring does not reach its own API.
"""

from collections.abc import Callable, Iterable

import structlog

from mooring.controllers.fleet import Fleet
from mooring.engine.context import Context
from mooring.ledger.records import Channel, Wake
from mooring.model.errors import Unavailable
from mooring.model.pool import Pool
from mooring.model.silence import NO_SILENCE, PoolSilence
from mooring.model.worker import Worker

log = structlog.get_logger()

OnPoller = Callable[[str, str], None]  # pool key and uid
_FLEET = ""


class Polls:
    """Hears workers at this replica, and learns from the ledger whom the others heard."""

    def __init__(self, context: Context, fleet: Fleet) -> None:
        self._clock = context.clock
        self._timeouts = context.timeouts
        self._ledger = context.ledger
        self._book = context.words
        self._meter = context.words.meter()
        self._fleet = fleet
        self._heard: dict[str, float] = {}  # by pod uid: when its last word was heard or learned of
        self._first_seen: dict[str, float] = {}  # by pod uid: since when a word could be heard
        self._deaf_until: dict[str, float] = {}  # by pool key, and of the whole fleet: nobody was heard before
        self._measured = False  # whether the words of all replicas were known at the last look
        self._listeners: list[OnPoller] = []
        self._ledger.listen(Channel.WORD, self._on_word)

    def on_change(self, listener: OnPoller) -> None:
        """Call `listener` for each worker that is heard again, and for each that has been silent at a look."""
        self._listeners.append(listener)

    async def hear(self, worker: Worker) -> None:
        """A word of a worker at this replica. The first one after silence is announced to the others at once."""
        was_silent = self.is_silent(worker)
        self._book.hear(worker.uid)
        self._learn(worker)
        if was_silent:
            try:
                await self._ledger.notify(Channel.WORD, f"{worker.namespace}/{worker.pool}/{worker.uid}")
            except Unavailable as error:
                log.warning("other replicas learn later of a worker that polls", error=error.message)

    def is_silent(self, worker: Worker) -> bool:
        """Whether a worker must get no session, because nobody heard it lately."""
        pool = self._fleet.pool(f"{worker.namespace}/{worker.pool}")
        return pool is not None and pool.spec.dispatch == "Poll" and not self._is_heard(worker.uid)

    def silent_seconds(self, uid: str) -> float | None:
        """For how long a worker has not been heard; None if it was never heard here."""
        heard = self._heard.get(uid)
        return None if heard is None else self._clock.monotonic() - heard

    def silence(self, pool: Pool) -> PoolSilence:
        """The silence of a pool's workers, for its plan."""
        reached = self._book.reach.since
        if pool.spec.dispatch != "Poll" or not self._measured or reached is None:
            return NO_SILENCE
        now = self._clock.monotonic()
        since = {worker.uid: self._since(worker.uid, now) for worker in self._fleet.workers(pool.key)}
        quiet = {uid: at for uid, at in since.items() if now - at > self._timeouts.worker_word}
        deaf = max(reached, self._deaf_until.get(pool.key, 0.0), self._deaf_until.get(_FLEET, 0.0))
        counted = {uid: now - max(at, deaf) for uid, at in quiet.items()}
        doubt = self._doubt(pool.key, len(since)) if quiet else ""
        seconds = {} if doubt else {uid: s for uid, s in counted.items() if s > self._timeouts.worker_word}
        return PoolSilence(seconds, {uid: now - at for uid, at in quiet.items()}, doubt)

    async def run(self) -> None:
        """Until cancelled. The first look comes as soon as workers are known: before it, none gets a session."""
        while not self._fleet.synced:
            await self._clock.sleep(self._timeouts.word_flush / 20)
        while True:
            try:
                await self.look()
            except Unavailable as error:
                self._lose_count()
                log.warning("polls at other replicas are not known", error=error.message)
            await self._clock.sleep(self._timeouts.word_flush)

    async def look(self) -> None:
        """Learn whom other replicas heard."""
        pollers = {worker.uid: worker for worker in self._pollers()}
        measured = await self._meter.measure({uid: (uid,) for uid in pollers})
        now = self._clock.monotonic()
        self._heard = {uid: at for uid, at in self._heard.items() if uid in pollers}
        self._first_seen = {uid: self._first_seen.get(uid, now) for uid in pollers}
        for uid, worker in pollers.items():
            word = self._meter.last_word(uid)
            # A word that was heard directly comes back from the ledger later: that is no second one.
            echo = 2.5 * self._timeouts.word_flush
            if word is not None and word - self._heard.get(uid, float("-inf")) > echo:
                self._learn(worker, word)
        if pollers and not measured:
            self._lose_count()
            return
        self._measured = True
        self._find_deafness(pollers.values(), now)
        for worker in pollers.values():
            if not self._is_heard(worker.uid):
                self._tell(worker)

    def _find_deafness(self, pollers: Iterable[Worker], now: float) -> None:
        heard: dict[str, list[bool]] = {_FLEET: []}
        for worker in pollers:
            for key in (_FLEET, f"{worker.namespace}/{worker.pool}"):
                heard.setdefault(key, []).append(self._is_heard(worker.uid))
        self._deaf_until = {
            key: now if len(words) > 1 and not any(words) else self._deaf_until.get(key, 0.0)
            for key, words in heard.items()
        }

    def _doubt(self, key: str, workers: int) -> str:
        now = self._clock.monotonic()
        for scope, who in ((key, f"none of its {workers} workers"), (_FLEET, "no worker of any pool")):
            if now - self._deaf_until.get(scope, float("-inf")) <= self._timeouts.word_flush * 2:
                return f"{who} has polled for {self._timeouts.worker_word:.0f} s: it may be the way to Mooring"
        return ""

    def _lose_count(self) -> None:
        """Words may be missing: silence starts anew for all."""
        self._measured = False
        self._first_seen.clear()
        self._deaf_until = {_FLEET: self._clock.monotonic()}

    def _since(self, uid: str, now: float) -> float:
        return max(self._heard.get(uid, float("-inf")), self._first_seen.get(uid, now))

    def _is_heard(self, uid: str) -> bool:
        return self._clock.monotonic() - self._heard.get(uid, float("-inf")) <= self._timeouts.worker_word

    def _learn(self, worker: Worker, at: float | None = None) -> None:
        was_heard = self._is_heard(worker.uid)
        self._heard[worker.uid] = self._clock.monotonic() if at is None else at
        if not was_heard:
            self._tell(worker)

    def _tell(self, worker: Worker) -> None:
        for listener in self._listeners:
            listener(f"{worker.namespace}/{worker.pool}", worker.uid)

    def _on_word(self, wake: Wake) -> None:
        key, _, uid = wake.payload.rpartition("/")
        if (worker := self._fleet.worker(key, uid)) is not None:
            self._learn(worker)

    def _pollers(self) -> Iterable[Worker]:
        for pool in self._fleet.pools.values():
            if pool.spec.dispatch == "Poll":
                yield from self._fleet.workers(pool.key)
