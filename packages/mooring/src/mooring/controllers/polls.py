"""Which workers of pools with poll dispatch still poll. A session goes only to a worker that polled recently.

Every replica reads the signs of life that all replicas wrote to the ledger. If none of several workers polls, the cause
is probably what they have in common, the connection to Mooring: silence is then not counted, and starts anew
afterwards. The same holds, also for a single worker, while Mooring does not reach its own API.
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
    """Records the polls of this replica, and reads from the ledger those of the others."""

    def __init__(self, context: Context, fleet: Fleet) -> None:
        self._clock = context.clock
        self._timeouts = context.timeouts
        self._ledger = context.ledger
        self._signs = context.liveness
        self._meter = context.liveness.meter()
        self._fleet = fleet
        self._polled_at: dict[str, float] = {}  # by pod uid: when its last poll came, or was read from the ledger
        self._first_seen: dict[str, float] = {}  # by pod uid: since when a poll could arrive
        self._unreached_until: dict[str, float] = {}  # by pool key, and of the whole fleet: no worker polled before
        self._measured = False  # whether the polls at all replicas were known at the last look
        self._listeners: list[OnPoller] = []
        self._ledger.listen(Channel.POLL, self._on_poll)

    def on_change(self, listener: OnPoller) -> None:
        """Call `listener` for each worker that polls again, and for each that is found silent."""
        self._listeners.append(listener)

    async def record(self, worker: Worker) -> None:
        """A worker polls or reports here. The first time after silence is announced to the other replicas at once."""
        was_silent = self.is_silent(worker)
        self._signs.record(worker.uid)
        self._learn(worker)
        if was_silent:
            try:
                await self._ledger.notify(Channel.POLL, f"{worker.namespace}/{worker.pool}/{worker.uid}")
            except Unavailable as error:
                log.warning("other replicas learn later of a worker that polls", error=error.message)

    def is_silent(self, worker: Worker) -> bool:
        """Whether a worker must get no session, because it has not polled recently."""
        pool = self._fleet.pool(f"{worker.namespace}/{worker.pool}")
        return pool is not None and pool.spec.dispatch == "Poll" and not self._has_polled(worker.uid)

    def silent_seconds(self, uid: str) -> float | None:
        """How long ago a worker polled; None if no poll of it is known."""
        polled_at = self._polled_at.get(uid)
        return None if polled_at is None else self._clock.monotonic() - polled_at

    def silence(self, pool: Pool) -> PoolSilence:
        """The silence of a pool's workers, for its plan."""
        reached = self._signs.reach.since
        if pool.spec.dispatch != "Poll" or not self._measured or reached is None:
            return NO_SILENCE
        now = self._clock.monotonic()
        since = {worker.uid: self._since(worker.uid, now) for worker in self._fleet.workers(pool.key)}
        quiet = {uid: at for uid, at in since.items() if now - at > self._timeouts.worker_report}
        start = max(reached, self._unreached_until.get(pool.key, 0.0), self._unreached_until.get(_FLEET, 0.0))
        counted = {uid: now - max(at, start) for uid, at in quiet.items()}
        doubt = self._doubt(pool.key, len(since)) if quiet else ""
        seconds = {} if doubt else {uid: s for uid, s in counted.items() if s > self._timeouts.worker_report}
        return PoolSilence(seconds, {uid: now - at for uid, at in quiet.items()}, doubt)

    async def run(self) -> None:
        """Until cancelled. The first look comes as soon as workers are known: before it, none gets a session."""
        while not self._fleet.synced:
            await self._clock.sleep(self._timeouts.liveness_flush / 20)
        while True:
            try:
                await self.look()
            except Unavailable as error:
                self._lose_count()
                log.warning("polls at other replicas are not known", error=error.message)
            await self._clock.sleep(self._timeouts.liveness_flush)

    async def look(self) -> None:
        """Learn which workers polled at other replicas."""
        pollers = {worker.uid: worker for worker in self._pollers()}
        measured = await self._meter.measure({uid: (uid,) for uid in pollers})
        now = self._clock.monotonic()
        self._polled_at = {uid: at for uid, at in self._polled_at.items() if uid in pollers}
        self._first_seen = {uid: self._first_seen.get(uid, now) for uid in pollers}
        for uid, worker in pollers.items():
            sign = self._meter.last_sign(uid)
            # A poll at this replica comes back from the ledger later: that is not a second one.
            echo = 2.5 * self._timeouts.liveness_flush
            if sign is not None and sign - self._polled_at.get(uid, float("-inf")) > echo:
                self._learn(worker, sign)
        if pollers and not measured:
            self._lose_count()
            return
        self._measured = True
        self._find_unreached(pollers.values(), now)
        for worker in pollers.values():
            if not self._has_polled(worker.uid):
                self._notify(worker)

    def _find_unreached(self, pollers: Iterable[Worker], now: float) -> None:
        polling: dict[str, list[bool]] = {_FLEET: []}
        for worker in pollers:
            for key in (_FLEET, f"{worker.namespace}/{worker.pool}"):
                polling.setdefault(key, []).append(self._has_polled(worker.uid))
        self._unreached_until = {
            key: now if len(each) > 1 and not any(each) else self._unreached_until.get(key, 0.0)
            for key, each in polling.items()
        }

    def _doubt(self, key: str, workers: int) -> str:
        now = self._clock.monotonic()
        for scope, who in ((key, f"none of its {workers} workers"), (_FLEET, "no worker of any pool")):
            if now - self._unreached_until.get(scope, float("-inf")) <= self._timeouts.liveness_flush * 2:
                return f"{who} has polled for {self._timeouts.worker_report:.0f} s: it may be the connection to Mooring"
        return ""

    def _lose_count(self) -> None:
        """Polls may be missing: silence starts anew for all."""
        self._measured = False
        self._first_seen.clear()
        self._unreached_until = {_FLEET: self._clock.monotonic()}

    def _since(self, uid: str, now: float) -> float:
        return max(self._polled_at.get(uid, float("-inf")), self._first_seen.get(uid, now))

    def _has_polled(self, uid: str) -> bool:
        return self._clock.monotonic() - self._polled_at.get(uid, float("-inf")) <= self._timeouts.worker_report

    def _learn(self, worker: Worker, at: float | None = None) -> None:
        had_polled = self._has_polled(worker.uid)
        self._polled_at[worker.uid] = self._clock.monotonic() if at is None else at
        if not had_polled:
            self._notify(worker)

    def _notify(self, worker: Worker) -> None:
        for listener in self._listeners:
            listener(f"{worker.namespace}/{worker.pool}", worker.uid)

    def _on_poll(self, wake: Wake) -> None:
        key, _, uid = wake.payload.rpartition("/")
        if (worker := self._fleet.worker(key, uid)) is not None:
            self._learn(worker)

    def _pollers(self) -> Iterable[Worker]:
        for pool in self._fleet.pools.values():
            if pool.spec.dispatch == "Poll":
                yield from self._fleet.workers(pool.key)
