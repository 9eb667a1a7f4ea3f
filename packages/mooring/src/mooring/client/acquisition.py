"""Acquiring a claim: one request that is safe to repeat, with reports to `on_wait` while it is in the queue."""

import contextlib
import logging
from collections.abc import Coroutine
from typing import Any

from mooring.client.claims_api import CLOSE_SECONDS, READY_SECONDS, diagnose, get_claim, withdraw
from mooring.client.errors import ClaimRevoked, ClaimTimeout, LeaseLost, RemoteError, Unavailable, WaitRevoked, read_why
from mooring.client.loss import classify_loss, read_revocation
from mooring.client.records import ClaimView, Waiting, read_claim, read_claims
from mooring.client.request import ClaimRequest, OnWait
from mooring.client.retry import SHORTEST_TIMEOUT_SECONDS, Deadline, Retry
from mooring.client.runtime import BackgroundWork, Event, Runtime
from mooring.client.wait_reason import claim_ended, explain_failure, explain_wait, wait_timed_out, wait_unanswered
from mooring.model.claim import EndCause
from mooring.model.why import Why

log = logging.getLogger("mooring.client")

LOOK_SECONDS = 2.0
QUIET_LOOK_SECONDS = 8.0  # without `on_wait`: often enough to be a sign of life, which lapses after 20 s
STRAY_LOOKS = 2  # in a row that do not find the claim in the queue, before the request is sent again
ANSWER_SECONDS = 30.0
LOOK_ANSWER_SECONDS = 5.0  # a look that takes longer counts as unanswered, and is reported
GRACE_SECONDS = 1.0  # for an answer after the wait
DIAGNOSIS_SECONDS = 0.5  # for its cause, after that
SETTLE_SECONDS = 0.05  # for an answer that has arrived already
MOST_KEYS = 3
LATE_SECONDS = {"queued": 2.0, "claimed": 30.0}  # how long after the wait a claim may still be on its way


class Acquisition:
    """One claim, from the request to a worker. `immediate`: the first answer was a running claim, without a wait."""

    def __init__(self, runtime: Runtime, request: ClaimRequest, on_wait: OnWait | None) -> None:
        self._runtime = runtime
        self._clock = runtime.clock
        self._own_key = not request.key
        self._request = request.with_key(request.key or runtime.entropy.uuid())
        self._on_wait = on_wait
        self._started, self._since = self._clock.monotonic(), self._clock.now()
        self._deadline = self._started + request.wait_seconds
        self._failure: Why | None = None  # why the last look was not answered
        self._heard = False  # Mooring has answered, so its address is right
        self._looked_at = self._started
        self._strays = 0  # looks in a row that did not find the claim in the queue
        self._posts = 0
        self.immediate = request.wait_seconds == 0

    async def run(self) -> ClaimView:
        """Returns a running claim. On any error or interruption, no claim is left behind."""
        try:
            return await self._acquire()
        except ClaimTimeout as error:
            error.why = read_why(error.detail.get("why")) or await self._explain()
            raise
        except LeaseLost:
            raise  # somebody released it: there is nothing left, and it is not asked for again
        except Unavailable:
            await self._abandon()
            raise
        except RemoteError:
            raise  # the server refused: there is nothing to release
        except BaseException:
            await self._abandon()
            raise

    async def _acquire(self) -> ClaimView:
        for _ in range(MOST_KEYS):
            claim = await self._settle(await self._post())
            if claim.state == "running":
                return claim
            if claim.cause == EndCause.REVOKED and claim.worker is None:
                raise WaitRevoked(claim.id, claim.ended_at or self._clock.now(), claim.reason)
            if claim.cause == EndCause.REVOKED:
                raise classify_loss(claim.id, claim.epoch, claim, self._clock.now())
            if not self._own_key and claim.cause != EndCause.ABANDONED:
                break
            if self._own_key:
                # The claim failed on the server's side. Nobody else has our key, so another one is safe.
                self._request = self._request.with_key(self._runtime.entropy.uuid())
        raise claim_ended(self._request, claim)

    async def _post(self) -> ClaimView:
        retry = Retry(self._runtime)
        while True:
            try:
                return await self._send()
            except ClaimRevoked as error:
                raise read_revocation(error, self._clock.now()) from error
            except Unavailable as error:
                self.immediate = False
                await self._endure(error, retry)
            with contextlib.suppress(Unavailable):  # then the request is repeated, with the same outcome
                if (found := await self._find()) is not None:
                    return found
            if self._failure is not None and self._is_over:
                raise wait_unanswered(self._request, self._failure)

    async def _endure(self, error: Unavailable, retry: Retry) -> None:
        """Report the failure and pause. A Mooring that has answered before is asked again until the wait is over."""
        error = await self._diagnose(error)
        self._heard = self._heard or error.answered
        if self._heard and self._request.wait_seconds > 0:
            retry.deadline = self._deadline
        why = self._note(error)
        await self._report(error)
        try:
            await retry.pause(error)
        except Unavailable:
            if retry.deadline is not None:
                raise wait_unanswered(self._request, why) from error
            raise

    async def _send(self) -> ClaimView:
        left = max(0.0, self._left_seconds)
        return await self._report_while() if left else read_claim(await self._post_once(left))

    def _post_once(self, left_seconds: float) -> Coroutine[Any, Any, Any]:
        body = self._request.body(left_seconds)
        return self._runtime.request(
            "POST", self._request.path, body=body, timeout_seconds=left_seconds + ANSWER_SECONDS
        )

    async def _report_while(self) -> ClaimView:
        """The answer to a request that waits in the queue on the server. Without one, the wait ends on our clock.

        A replica that hangs keeps the request for ever, while looks at the others show that the claim has ended or got
        a worker. Then the request is sent again, with the same outcome, and the first is dropped.
        """
        given_up = self._runtime.make_event()
        work, patience = self._start_post(given_up), STRAY_LOOKS
        self._strays = 0
        try:
            pause = LOOK_SECONDS / 4
            while not await work.wait(pause):
                await self._report()
                if self._is_over:
                    await self._require_answers()
                elif self._strays >= patience:
                    stuck, work = work, self._start_post(given_up)
                    stuck.cancel()
                    self._strays, patience = 0, 2 * patience
                pause = min(LOOK_SECONDS, max(GRACE_SECONDS / 2, self._left_seconds))
        except ClaimTimeout:
            given_up.set()
            if not await work.wait(SETTLE_SECONDS) or work.result() is None:
                raise
        except BaseException:
            given_up.set()
            work.cancel()
            raise
        claim = work.result()
        assert claim is not None, "it is only withdrawn after it was given up"
        return claim

    def _start_post(self, given_up: Event) -> BackgroundWork[ClaimView | None]:
        self._posts += 1
        receiving = self._receive(self._post_once(max(0.0, self._left_seconds)), self._posts, given_up)
        return self._runtime.start(receiving, "mooring-claim")

    async def _receive(self, posting: Coroutine[Any, Any, Any], number: int, given_up: Event) -> ClaimView | None:
        """The claim. If it comes after the wait was given up, it is released, because no caller holds it.

        A request that was sent again has no answer of its own: the claim is that of the last one.
        """
        try:
            claim = read_claim(await posting)
            if number == self._posts and not given_up.is_set():
                return claim
            if number == self._posts and claim.open:
                await withdraw(self._runtime, claim)
        except RemoteError as error:
            if number != self._posts:
                return None
            if not given_up.is_set():
                raise
            log.warning("a claim with key %s may remain until its ttl ends: %s", self._request.key, error.message)
        return None

    async def _require_answers(self) -> None:
        """Give up a request whose wait is over and that Mooring does not answer; a reachable Mooring ends it itself."""
        if self._failure is not None:
            raise wait_unanswered(self._request, self._failure)
        try:
            await self._find()
        except Unavailable as error:
            raise wait_unanswered(self._request, self._note(await self._diagnose(error))) from error

    async def _settle(self, claim: ClaimView) -> ClaimView:
        """A repeated request may find its claim still on its way: look until it runs or has ended."""
        retry = Retry(self._runtime)
        while claim.state in LATE_SECONDS:
            self.immediate = False
            if -self._left_seconds > LATE_SECONDS[claim.state]:
                await self._withdraw(claim)
                raise wait_timed_out(self._request, claim.id)
            await self._report()
            await self._runtime.sleep(LOOK_SECONDS / 4)
            try:
                claim = await self._look(claim)
                retry.reset()
            except Unavailable as error:
                await self._endure(error, retry)
        if claim.state == "expired" and claim.worker is None and claim.cause != EndCause.ABANDONED:
            raise wait_timed_out(self._request, claim.id)
        return claim

    async def _withdraw(self, claim: ClaimView) -> None:
        try:
            await withdraw(self._runtime, claim)
        except Unavailable as error:
            raise wait_unanswered(self._request, self._note(error)) from error

    async def _look(self, claim: ClaimView) -> ClaimView:
        """A claim that has a worker and does not run may have lost its control plane. The repeated request makes
        another replica carry it on. A queued claim is only read."""
        if claim.state == "claimed":
            try:
                return await self._send()
            except RemoteError as error:
                if error.status != 409:
                    raise
        return await get_claim(self._runtime, claim.id, self._look_seconds)

    async def _report(self, failure: Unavailable | None = None) -> None:
        """The place in the queue and why, or that there is no answer: then nothing is known of the pool."""
        looked_ago = self._clock.monotonic() - self._looked_at
        pause = LOOK_SECONDS if self._strays else QUIET_LOOK_SECONDS
        if self._on_wait is None and self._heard and (failure is not None or looked_ago < pause):
            return
        found = None
        if failure is None:
            self._looked_at = self._clock.monotonic()
            try:
                found = await self._find()
                self._strays = 0 if found is not None and found.state == "queued" else self._strays + 1
            except Unavailable as error:
                failure = await self._diagnose(error)
        position, why = (found.position, found.why) if found is not None else (None, None)
        if failure is not None:
            why = self._note(failure)
        else:
            self._failure = None
        if self._on_wait is None:
            return
        waited = self._clock.monotonic() - self._started
        expected = found.expected_wait_seconds if found is not None else None
        self._on_wait(Waiting(position, waited, why or await self._explain(position), expected))

    def _note(self, error: Unavailable) -> Why:
        """Why there is no answer, and since when."""
        since = self._failure.since if self._failure is not None else None
        self._failure = explain_failure(error, since or self._clock.now())
        return self._failure

    async def _diagnose(self, error: Unavailable) -> Unavailable:
        """The cause that Mooring itself reports, if it does in time."""
        return await diagnose(self._runtime, error, DIAGNOSIS_SECONDS if self._is_over else READY_SECONDS)

    @property
    def _is_over(self) -> bool:
        """Whether the caller has waited long enough. A claim without a wait is never over: it has one answer."""
        return self._request.wait_seconds > 0 and self._left_seconds <= 0

    @property
    def _left_seconds(self) -> float:
        """Of the wait; negative when it is over."""
        return self._deadline - self._clock.monotonic()

    @property
    def _look_seconds(self) -> float:
        """Timeout of a look at the claim: none outlasts the wait by more than the grace."""
        if not self._request.wait_seconds:
            return ANSWER_SECONDS
        return min(LOOK_ANSWER_SECONDS, max(SHORTEST_TIMEOUT_SECONDS, self._left_seconds + GRACE_SECONDS))

    async def _explain(self, position: int | None = None) -> Why:
        pool = None
        with contextlib.suppress(RemoteError):
            pool = await self._runtime.request("GET", self._request.pool_path, timeout_seconds=CLOSE_SECONDS)
        return explain_wait(self._request, pool, position, self._since)

    async def _find(self, timeout_seconds: float | None = None) -> ClaimView | None:
        """The open claim under our key."""
        query, timeout = self._request.query, timeout_seconds or self._look_seconds
        answer = await self._runtime.request("GET", "/v1/claims", query, timeout_seconds=timeout)
        self._heard = True
        return next((claim for claim in read_claims(answer) if claim.key == self._request.key), None)

    async def _abandon(self) -> None:
        """Release what the request may have created. If that fails too, the claim ends with its ttl."""
        deadline = Deadline(self._runtime, CLOSE_SECONDS)
        try:
            if (found := await self._find(deadline.left_seconds)) is not None:
                await withdraw(self._runtime, found, deadline.left_seconds)
        except RemoteError as error:
            log.warning("a claim with key %s may remain until its ttl ends: %s", self._request.key, error.message)
