"""Clients of claims that wait: each replica writes signs of life for those that are connected to it.

A claim whose client is silent gives up its place; one that was bound for a client that is gone gives up its worker.
The first answer that names a worker marks its claim as taken. The mark is void if the client does not get it.
Silence is measured on the own clock, from one change that this replica saw to the next. It never counts while the
ledger could not be written, because then no sign could arrive.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime

import structlog

from mooring.controllers.claims.release import ClaimRelease
from mooring.controllers.claims.wakeups import Wakeups
from mooring.engine.containment import contained
from mooring.engine.context import Context
from mooring.ledger.records import WaitingSign
from mooring.model.claim import Claim, ClaimState
from mooring.model.errors import MooringError, Unavailable

log = structlog.get_logger()

_PAUSE_SECONDS = 0.5  # signs that are asked for within this time share one statement
_MOST_UNDELIVERED = 1000  # while the ledger is away, more may fail: those are left for their ttl
_MOST_LOOKS = 50  # at claims that were not delivered, in one round


class Stopping(Unavailable):
    """This replica stops; another one serves the repeated request."""

    code = "stopping"


class ClientGone(Unavailable):
    """The client closed its connection while its claim waited. No client reads this answer."""

    code = "client_gone"


class Caller:
    """The client of one request: how long it waits, who it is, and whether it is still connected."""

    def __init__(self, wait_seconds: float = 0.0, holder: str = "") -> None:
        self.wait_seconds = wait_seconds
        self.holder = holder
        self.is_closed: Callable[[], bool] | None = None  # asked only when the answer is there
        self._disconnected = False
        self._woken: asyncio.Event | None = None

    @property
    def gone(self) -> bool:
        """Whether no client reads the answer."""
        return self._disconnected or (self.is_closed is not None and self.is_closed())

    def disconnect(self) -> None:
        """Its connection is closed."""
        self._disconnected = True
        if self._woken is not None:
            self._woken.set()

    def wakes(self, woken: asyncio.Event) -> None:
        """Set this event when the connection is closed."""
        self._woken = woken


class WaitingClients:
    """The clients that are connected here, and what this replica heard of all others."""

    def __init__(self, context: Context, wakeups: Wakeups, release: ClaimRelease) -> None:
        self._ledger = context.ledger
        self._clock = context.clock
        self._gate = context.gate
        self._period = context.timeouts.client_sign
        # The last sign may be a whole period older than the client's last contact.
        self._lapse = context.timeouts.client_gone + context.timeouts.client_sign
        self._slow_seconds = context.timeouts.client_gone / 4
        self._release = release
        self.wakeups = wakeups
        self._attached: Counter[str] = Counter()
        self._left: set[str] = set()  # contacts that are over: they count once more
        self._wake = asyncio.Event()
        self._heard: dict[str, tuple[datetime | None, float]] = {}  # by claim: last sign, and when it was first seen
        self._waiting: dict[str, WaitingSign] = {}
        self._untaken: dict[tuple[str, int], tuple[Claim, float]] = {}  # by id and epoch: since when it was seen
        # by claim: the last sign that does not count (None: as long as there was none since it ran), and when it is due
        self._undelivered: dict[str, tuple[datetime | None, float]] = {}
        self._closed = False
        self._queued: list[Callable[[str], None]] = []

    def on_queued(self, listener: Callable[[str], None]) -> None:
        """Call it with the key of a pool whose queue has a new claim of a client that is connected here."""
        self._queued.append(listener)

    def queued(self, pool_key: str) -> None:
        """A claim waits in the queue of this pool from now on."""
        for listener in self._queued:
            listener(pool_key)

    @asynccontextmanager
    async def attended(self, claim_id: str) -> AsyncIterator[asyncio.Event]:
        """While the client of this claim is connected here. The event is set when something happens to the claim."""
        self._attached[claim_id] += 1
        self._wake.set()
        try:
            async with self.wakeups.listening(claim_id) as woken:
                yield woken
        finally:
            self._attached[claim_id] -= 1
            if not self._attached[claim_id]:
                del self._attached[claim_id]
            self.touch(claim_id)

    def listening(self, claim: Claim) -> AbstractAsyncContextManager[asyncio.Event]:
        """The same event. Only a claim that waits needs signs of life; a holder gives heartbeats."""
        return self.attended(claim.id) if claim.state is ClaimState.QUEUED else self.wakeups.listening(claim.id)

    def touch(self, claim_id: str) -> None:
        """The client of this claim has just been here."""
        self._left.add(claim_id)
        self._wake.set()

    async def take(self, claim: Claim, caller: Caller) -> Claim:
        """The caller's answer names its worker: mark it as taken. Raises `ClientGone` if nobody reads that answer."""
        if claim.state is not ClaimState.RUNNING:
            return claim
        beat, now = self._ledger.claims.heartbeat, self._clock.now()
        if claim.untaken:
            taken = await beat(claim.id, claim.epoch, now=now, last=claim.heartbeat_at)
            if taken.applied:
                return self.hand_out(taken.require(), caller)
        # Others were answered before: whatever becomes of this answer, they hold it.
        outcome = await beat(claim.id, claim.epoch, now=now)
        return outcome.claim or claim

    def hand_out(self, claim: Claim, caller: Caller) -> Claim:
        """The same claim, for the only caller that knows of it."""
        if not caller.gone:
            return claim
        # With a key it may come back; without one it never can.
        seconds = self._lapse if claim.idempotency_key is not None else 0.0
        self._undelivered[claim.id] = (claim.heartbeat_at, self._clock.monotonic() + seconds)
        self._wake.set()
        raise ClientGone(f"the client of claim {claim.id} is gone")

    def is_new(self, claim: Claim) -> bool:
        """Whether its first answer may have reached nobody: reading it is a sign of life then."""
        if claim.state is not ClaimState.RUNNING or claim.running_at is None or claim.heartbeat_at is None:
            return False
        return (claim.heartbeat_at - claim.running_at).total_seconds() < self._lapse

    def doubt(self, claim_id: str) -> None:
        """Its request failed, but it may run: unless its client comes back, nobody holds it."""
        if len(self._undelivered) < _MOST_UNDELIVERED:
            self._undelivered.setdefault(claim_id, (None, self._clock.monotonic() + self._lapse))

    def close(self) -> None:
        """This replica stops: clients that wait here go to another one."""
        self._closed = True
        self.wakeups.wake_all()

    def check_open(self) -> None:
        """Raise `Stopping` if this replica stops."""
        if self._closed:
            raise Stopping("this replica of Mooring stops", fix="repeat the request with the same idempotencyKey")

    def absent(self) -> list[str]:
        """Waiting claims whose clients have been silent for more than two signs: they are served after the others."""
        doubtful = self._clock.monotonic() - 2.5 * self._period
        return [id_ for id_, (_, at) in self._heard.items() if at < doubtful and id_ not in self._attached]

    def note_live(self, claims: Iterable[Claim]) -> None:
        """All live claims, as just read: remember since when those that nobody took are seen."""
        now, before = self._clock.monotonic(), self._untaken
        self._untaken = {}
        for claim in claims:
            if claim.untaken:
                key = (claim.id, claim.epoch)
                self._untaken[key] = (claim, before[key][1] if key in before else now)

    async def run(self) -> None:
        """Write and read signs until cancelled."""
        while True:
            started = self._clock.monotonic()
            heard = False
            with contained("attendance"):
                try:
                    await self._round()
                    heard = True
                except MooringError as error:
                    log.warning("signs of life of waiting clients were not written", error=error.message)
            if not heard:
                self.forget()
            if self._clock.monotonic() - started > self._slow_seconds:
                self.forget()  # a ledger that was this slow may have been as slow for signs from elsewhere
            await self._clock.sleep(min(_PAUSE_SECONDS, self._period))
            await self._pause(started)

    async def _pause(self, started: float) -> None:
        left = self._period - (self._clock.monotonic() - started)
        if left > 0 and not self._wake.is_set():
            try:
                async with asyncio.timeout(left):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _round(self) -> None:
        self._wake.clear()
        left, self._left = self._left, set()
        if present := left | self._attached.keys():
            try:
                await self._ledger.claims.attend(sorted(present), now=self._clock.now())
            except BaseException:
                self._left |= left
                raise
        self._listen(await self._ledger.claims.waiting())
        if self._gate.may_act():
            await self._end_abandoned()
        await self._end_undelivered()

    def _listen(self, signs: Iterable[WaitingSign]) -> None:
        """A sign carries the clock of the replica that wrote it: only its change counts, and when this one saw it."""
        now, before = self._clock.monotonic(), self._heard
        self._heard, self._waiting = {}, {sign.claim: sign for sign in signs}
        for sign in self._waiting.values():
            known = before.get(sign.claim)
            self._heard[sign.claim] = known if known and known[0] == sign.seen_at else (sign.seen_at, now)

    async def _end_abandoned(self) -> None:
        now = self._clock.monotonic()
        for id_, (_, at) in list(self._heard.items()):
            if now - at >= self._lapse and id_ not in self._attached:
                await self._ledger.claims.abandon(
                    self._waiting[id_],
                    now=self._clock.now(),
                    reason=f"its client is gone: no sign of life for {now - at:.0f} s while it waited",
                )
        for key, (claim, at) in list(self._untaken.items()):
            if now - at >= self._lapse and claim.id not in self._attached:
                del self._untaken[key]
                await self._release.abandon(
                    claim, f"no client took its worker: its client has been gone for {now - at:.0f} s"
                )

    async def _end_undelivered(self) -> None:
        now = self._clock.monotonic()
        due = [(id_, last) for id_, (last, due_at) in self._undelivered.items() if due_at <= now]
        for id_, last in due[:_MOST_LOOKS]:
            claim = await self._ledger.claims.get(id_)
            if claim is not None and id_ not in self._attached and _is_unheard(claim, last):
                await self._release.abandon(
                    claim, "no client took its worker: its client was gone when the worker came"
                )
            del self._undelivered[id_]

    def forget(self) -> None:
        """What was heard so far proves no silence: signs may have been lost since."""
        self._heard.clear()
        self._untaken.clear()


def _is_unheard(claim: Claim, last: datetime | None) -> bool:
    """Whether it runs for a client of which no sign came after that one."""
    runs = claim.state is ClaimState.RUNNING and claim.rebinds == 0 and not claim.detached
    return runs and claim.heartbeat_at == (last or claim.running_at)
