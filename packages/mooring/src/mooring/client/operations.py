"""What `Mooring` and `AsyncMooring` do, once: each operation is a coroutine over a runtime."""

import contextlib
from dataclasses import replace

from mooring.client.acquisition import (
    ANSWER_SECONDS,
    GRACE_SECONDS,
    LOOK_ANSWER_SECONDS,
    LOOK_SECONDS,
    Acquisition,
)
from mooring.client.claims_api import CLOSE_SECONDS, find_claim, find_result, get_claim, release, renew, withdraw
from mooring.client.errors import RemoteError, Unavailable
from mooring.client.loss import classify_loss, is_final
from mooring.client.records import (
    OPEN_STATES,
    ClaimView,
    PoolView,
    SessionResult,
    WorkerView,
    read_claim,
    read_claims,
    read_dispatch,
    read_pools,
    read_workers,
)
from mooring.client.renewal import RenewalSchedule
from mooring.client.request import ClaimRequest, OnWait
from mooring.client.retry import RETRY_SECONDS, Retry
from mooring.client.runtime import Runtime
from mooring.client.wait_reason import explain_failure, wait_unanswered
from mooring.model.errors import InvalidInput

ENQUEUE_SECONDS = 2.0  # for an answer; a claim that waits has none until it runs


class Operations:
    """Operations on one Mooring."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._clock = runtime.clock

    async def acquire(self, request: ClaimRequest, on_wait: OnWait | None) -> tuple[ClaimView, RenewalSchedule]:
        """A new claim that runs, and since when it is ours."""
        sent_at = self._clock.monotonic()
        acquisition = Acquisition(self._runtime, request, on_wait)
        claim = await acquisition.run()
        if acquisition.immediate:
            return claim, RenewalSchedule(claim.ttl_seconds, sent_at)
        try:
            return await self._confirm(claim)
        except BaseException:
            with contextlib.suppress(RemoteError):
                await self.release(claim.id, claim.epoch)
            raise

    async def attach(self, claim_id: str) -> tuple[ClaimView, RenewalSchedule]:
        """A claim that was detached."""
        return await self._confirm(await get_claim(self._runtime, claim_id))

    async def run(self, request: ClaimRequest, on_wait: OnWait | None, timeout_seconds: float) -> SessionResult:
        """One session on a worker that polls, to its result."""
        deadline = self._clock.monotonic() + timeout_seconds
        request = await self._require_polling(request)
        claim = await Acquisition(self._runtime, request, on_wait).run()
        try:
            return await self._await_result(claim, deadline)
        except BaseException:
            with contextlib.suppress(RemoteError):
                await withdraw(self._runtime, claim)
            raise

    async def enqueue(self, request: ClaimRequest) -> ClaimView:
        """A claim that waits without us. The server answers when it runs, which we do not wait for."""
        retry = Retry(self._runtime)
        body = {**request.body(request.wait_seconds), "detached": True}
        while True:
            try:
                return read_claim(
                    await self._runtime.request("POST", request.path, body=body, timeout_seconds=ENQUEUE_SECONDS)
                )
            except Unavailable as error:
                if (found := await self._find_queued(request)) is not None:
                    return found
                await retry.pause(error)

    async def _find_queued(self, request: ClaimRequest) -> ClaimView | None:
        """None also when that cannot be read: then the request is repeated, with the same outcome."""
        with contextlib.suppress(Unavailable):
            answer = await self._runtime.request("GET", "/v1/claims", request.query)
            return next((claim for claim in read_claims(answer) if claim.key == request.key), None)
        return None

    async def get_claim(self, claim_id: str) -> ClaimView:
        """A claim as it is now."""
        return await get_claim(self._runtime, claim_id)

    async def release(self, claim_id: str, epoch: int | None, reason: str = "") -> None:
        """Release a claim, without a handle on it."""
        await release(self._runtime, claim_id, epoch, CLOSE_SECONDS, reason)

    async def pools(self, namespace: str) -> list[PoolView]:
        """Pools that the caller may see."""
        return read_pools(await self._runtime.request("GET", "/v1/pools", {"namespace": namespace}))

    async def workers(self, pool: str, node: str, state: str) -> list[WorkerView]:
        """Workers that the caller may see."""
        query = {"pool": pool, "node": node, "state": state}
        return read_workers(await self._runtime.request("GET", "/v1/workers", query))

    async def claims(self, pool: str, owner: str, limit: int) -> list[ClaimView]:
        """Open claims that the caller may see, newest first."""
        query = {"pool": pool, "owner": owner, "state": ",".join(OPEN_STATES), "limit": str(limit)}
        return read_claims(await self._runtime.request("GET", "/v1/claims", query))

    async def find(self, claim_id: str) -> ClaimView | None:
        """The claim, open or ended."""
        return await find_claim(self._runtime, claim_id)

    async def result(self, claim: ClaimView) -> SessionResult | None:
        """The result of an ended claim."""
        return await find_result(self._runtime, claim)

    async def _require_polling(self, request: ClaimRequest) -> ClaimRequest:
        """What is left of the wait. Workers of Push pools never fetch the payload: the session would hold one until its
        timeout."""
        retry, began, since = Retry(self._runtime), self._clock.monotonic(), self._clock.now()
        if 0 < request.wait_seconds < RETRY_SECONDS:
            retry.deadline = began + request.wait_seconds
        while True:
            left = request.wait_seconds - (self._clock.monotonic() - began)
            timeout = min(LOOK_ANSWER_SECONDS, max(left, GRACE_SECONDS)) if request.wait_seconds else ANSWER_SECONDS
            try:
                answer = await self._runtime.request("GET", request.pool_path, timeout_seconds=timeout)
                break
            except Unavailable as error:
                try:
                    await retry.pause(error)
                except Unavailable:
                    if retry.deadline is None:
                        raise
                    raise wait_unanswered(request, explain_failure(error, since)) from error
        if read_dispatch(answer) == "Push":
            rule = "a pool with 'dispatch: Poll'; in this one clients connect to the worker: use claim()"
            raise InvalidInput("pool", request.pool, rule)
        if not request.wait_seconds:
            return request
        return replace(request, wait_seconds=max(GRACE_SECONDS, began + request.wait_seconds - self._clock.monotonic()))

    async def _confirm(self, claim: ClaimView) -> tuple[ClaimView, RenewalSchedule]:
        """When the claim began to run is not known here. A renewal shows that it is ours, and starts its ttl."""
        retry = Retry(self._runtime, CLOSE_SECONDS)
        while True:
            sent_at = self._clock.monotonic()
            try:
                renewed = await renew(self._runtime, claim, CLOSE_SECONDS)
                return renewed, RenewalSchedule(claim.ttl_seconds, sent_at)
            except Unavailable as error:
                await retry.pause(error)
            except RemoteError as error:
                if not is_final(error):
                    raise
                found = await find_claim(self._runtime, claim.id)
                raise classify_loss(claim.id, claim.epoch, found, self._clock.now()) from error

    async def _await_result(self, claim: ClaimView, deadline: float) -> SessionResult:
        retry = Retry(self._runtime)
        while True:
            try:
                if not claim.open:
                    result = await find_result(self._runtime, claim)
                    break
                if self._clock.monotonic() > deadline:
                    raise TimeoutError(f"claim {claim.id} had no result in time and was released")
                await self._runtime.sleep(LOOK_SECONDS / 8)
                claim = await get_claim(self._runtime, claim.id)
                retry.reset()
            except Unavailable as error:
                await retry.pause(error)
        if result is None:
            raise classify_loss(claim.id, claim.epoch, claim, self._clock.now())
        return result
