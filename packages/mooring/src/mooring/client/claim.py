"""A claim that is held: renewed in the background, checked by its holder, released within bounded time."""

import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from hawser.backoff import Backoff
from mooring.client.claims_api import CLOSE_SECONDS, RELEASE_SECONDS, find_claim, find_result, release, renew, watch
from mooring.client.errors import LeaseLost, LossCause, RemoteError, Unavailable
from mooring.client.kubectl import WorkerPod
from mooring.client.loss import classify_loss, is_final
from mooring.client.pod_commands import ClusterFlags, CommandResult, PodCommands
from mooring.client.records import ClaimedWorker, ClaimView, SessionResult
from mooring.client.renewal import RenewalSchedule
from mooring.client.retry import Deadline, Retry
from mooring.client.runtime import BackgroundWork, Event, Runtime
from mooring.model.errors import MooringError

log = logging.getLogger("mooring.client")

WATCH_AFTER_SECONDS = 0.5  # a shorter claim costs no stream

Opening = Callable[[], Coroutine[Any, Any, tuple[ClaimView, RenewalSchedule]]]


@dataclass(slots=True)
class Hold:
    """An acquired claim. `over` is set when nothing is renewed any more: closed, detached, lost or finished."""

    claim: ClaimView
    schedule: RenewalSchedule
    over: Event


class HeldClaim:
    """The one implementation behind `Claim` and `AsyncClaim`, which add how a block is entered and left."""

    def __init__(self, runtime: Runtime, opening: Opening, pods: PodCommands) -> None:
        self._runtime = runtime
        self._pods = pods
        self._opening = opening
        self._hold: Hold | None = None
        self._lost: LeaseLost | None = None
        self._result: SessionResult | None = None
        self._renewals: BackgroundWork[None] | None = None
        self._watching: BackgroundWork[None] | None = None
        self._committed = False

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self._hold is None:
            return f"<{kind}, not open>"
        state = "lost" if self._lost is not None else "over" if self._hold.over.is_set() else "held"
        return f"<{kind} {self.id} on {self.worker.name} at {self.worker.address}, {state}>"

    @property
    def id(self) -> str:
        """Id of the claim in the ledger."""
        return self._held.claim.id

    @property
    def epoch(self) -> int:
        """The fencing token: higher than that of every earlier holder."""
        return self._held.claim.epoch

    @property
    def owner(self) -> str:
        """The name that the claim counts against."""
        return self._held.claim.owner

    @property
    def worker(self) -> ClaimedWorker:
        """The worker that runs the session."""
        assert self._held.claim.worker is not None
        return self._held.claim.worker

    @property
    def payload(self) -> dict[str, Any] | None:
        """Credentials that the pool's mint created for this session, or the payload that was sent with the claim."""
        return self._held.claim.payload

    @property
    def result(self) -> SessionResult | None:
        """What the worker reported, if it polls for its sessions and this one has ended."""
        return self._result

    @property
    def lost(self) -> LeaseLost | None:
        """Why the claim is lost; None while it is ours."""
        held, clock = self._held, self._runtime.clock
        if self._lost is None and not held.over.is_set() and clock.monotonic() >= held.schedule.ends_at:
            self._lose(LeaseLost(self.id, LossCause.EXPIRED, clock.now(), "it could not be renewed in time"))
        return self._lost

    def check(self) -> None:
        """Raise `LeaseLost` unless the worker is still ours."""
        if (lost := self.lost) is not None:
            raise lost

    def detach(self) -> str:
        """Stop renewing it, and do not release it. `attach` can take it over within its ttl. Returns its id."""
        self._held.over.set()
        self._stop_watching()
        return self.id

    def commit(self) -> None:
        """From here on `run_safe` does not repeat the work. Raises `LeaseLost` unless the worker is still ours."""
        self.check()
        self._committed = True

    @property
    def committed(self) -> bool:
        """Whether `commit` was called."""
        return self._committed

    async def wait_lost(self, seconds: float) -> LeaseLost | None:
        """Why the claim is lost, if that becomes known within this time."""
        await self._held.over.wait(seconds)
        return self.lost

    async def _exec(self, command: Sequence[str], text: str, flags: ClusterFlags) -> CommandResult:
        self.check()
        return await self._pods.execute(self._pod, command, text, flags, self.check)

    async def _logs(self, lines: int, previous: bool, flags: ClusterFlags) -> str:
        self.check()
        words = [f"--tail={lines}", *(["--previous"] if previous else [])]
        return await self._pods.read_log(self._pod, words, flags, self.check)

    @property
    def _pod(self) -> WorkerPod:
        return WorkerPod(self._held.claim.pool.partition("/")[0], self.worker.name, self.worker.uid)

    @property
    def _held(self) -> Hold:
        if self._hold is None:
            raise MooringError("the claim is not open", fix="use it as 'with mooring.claim(...) as claim:'")
        return self._hold

    async def _open(self) -> None:
        if self._hold is not None:
            raise MooringError("a claim is opened only once", fix="call claim() again")
        claim, schedule = await self._opening()
        self._hold = Hold(claim, schedule, self._runtime.make_event())
        try:
            self._renewals = self._runtime.start(self._renew_until_over(self._hold), f"mooring-renew-{claim.id}")
        except BaseException:
            await self._close()
            raise
        with contextlib.suppress(RuntimeError):  # no thread is left for it: renewals report a loss too, only later
            self._watching = self._runtime.start(self._watch_until_over(self._hold), f"mooring-watch-{claim.id}")

    async def _close(self) -> None:
        self._stop_watching()
        if self._hold is None or self.lost is not None or self._hold.over.is_set():
            return
        self._hold.over.set()
        await self._give_back(self._hold.claim)

    def _on_loss(self, lost: LeaseLost) -> None:
        """Called in the background, once, when the claim is lost."""

    def _report_loss(self, error: BaseException | None, *, caused_by_loss: bool = False) -> None:
        """At the end of the block: raise the loss, or add it as a note to the error that ended the block."""
        if self._lost is None or error is self._lost:
            return
        if error is None or caused_by_loss:
            raise self._lost from error
        error.add_note(str(self._lost))

    async def _renew_until_over(self, held: Hold) -> None:
        while not await held.over.wait(held.schedule.pause_seconds(self._runtime.clock.monotonic())):
            if self.lost is None:
                await self._renew(held)
        if self._lost is not None:
            self._on_loss(self._lost)

    async def _watch_until_over(self, held: Hold) -> None:
        """Learn of a loss at once, by the claim's stream. A server or proxy without streams leaves it to renewals."""
        backoff = Backoff(self._runtime.entropy, first_seconds=0.2, last_seconds=10.0)
        await held.over.wait(WATCH_AFTER_SECONDS)
        while not held.over.is_set():
            try:
                async with aclosing(watch(self._runtime, held.claim.id)) as changes:
                    async for found in changes:
                        if held.over.is_set():
                            return
                        if found is not None and (not found.open or found.epoch != held.claim.epoch):
                            await self._conclude(held)
                            break
                        if found is None:
                            backoff.reset()
            except Unavailable as error:
                log.debug("the stream of claim %s is interrupted: %s", held.claim.id, error.message)
            except RemoteError:
                return
            await held.over.wait(backoff.next_seconds())

    def _stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def _renew(self, held: Hold) -> None:
        sent_at = self._runtime.clock.monotonic()
        try:
            await renew(self._runtime, held.claim, held.schedule.request_seconds)
        except RemoteError as error:
            held.schedule.failing = True
            if is_final(error):
                await self._conclude(held)
        except Exception:
            # Without renewals the claim ends by our own clock, which the loop has to notice: it must go on.
            held.schedule.failing = True
            log.exception("claim %s could not be renewed", held.claim.id)
        else:
            held.schedule.renewed(sent_at)

    async def _conclude(self, held: Hold) -> None:
        """The server says that the claim is over: either its worker finished the session, or it is lost."""
        try:
            found = await find_claim(self._runtime, held.claim.id)
            self._result = await find_result(self._runtime, found) if found is not None else None
        except RemoteError:
            return  # read again with the next renewal
        if self._result is not None:
            held.over.set()
        else:
            self._lose(classify_loss(held.claim.id, held.claim.epoch, found, self._runtime.clock.now()))

    def _lose(self, lost: LeaseLost) -> None:
        if not self._held.over.is_set():
            self._lost = lost
            self._held.over.set()

    async def _give_back(self, claim: ClaimView) -> None:
        retry, deadline = Retry(self._runtime), Deadline(self._runtime, CLOSE_SECONDS)
        retry.deadline = deadline.at
        while True:
            try:
                found = await release(self._runtime, claim.id, claim.epoch, min(RELEASE_SECONDS, deadline.left_seconds))
            except RemoteError as error:
                if is_final(error):
                    self._lost = await self._find_loss(claim, deadline)
                    return
                try:
                    await retry.pause(error)
                except RemoteError:
                    log.warning("claim %s is not released, it ends with its ttl: %s", claim.id, error.message)
                    return
            else:
                if found.state != "released":
                    self._lost = classify_loss(claim.id, claim.epoch, found, self._runtime.clock.now())
                return

    async def _find_loss(self, claim: ClaimView, deadline: Deadline) -> LeaseLost:
        found = None
        try:
            found = await find_claim(self._runtime, claim.id, deadline.left_seconds)
        except RemoteError:
            log.info("cannot read how claim %s ended", claim.id)
        return classify_loss(claim.id, claim.epoch, found, self._runtime.clock.now())
