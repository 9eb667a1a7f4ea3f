"""A lease in an event loop: renewed by a task of its own; when it is lost, its block is cancelled with `LeaseLost`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from mooring.client.async_connection import AsyncConnection
from mooring.client.errors import LeaseLost, LossCause, RemoteError
from mooring.client.leasing import (
    CLOSE_SECONDS,
    MOST_EPOCHS,
    Grant,
    LeasedClaim,
    SessionResult,
    Term,
    claim_path,
    is_final,
    judge_loss,
    read_grant,
    read_result,
    release_query,
)
from mooring.client.patience import Patience
from mooring.clock import Clock, Entropy

log = logging.getLogger("mooring.client")

T = TypeVar("T")
AsyncOpening = Callable[[AsyncConnection], Awaitable[tuple[Grant, Term]]]


class AsyncLease(LeasedClaim):
    """A worker for the time of a block. Everything about the claim is known once the block is entered."""

    def __init__(self, connection: AsyncConnection, opening: AsyncOpening, clock: Clock, entropy: Entropy) -> None:
        super().__init__()
        self._connection = connection
        self._opening = opening
        self._clock = clock
        self._entropy = entropy
        self._holder: asyncio.Task[Any] | None = None
        self._cancels_before = 0
        self._renewing: asyncio.Task[None] | None = None
        self._over = False

    @property
    def lost(self) -> LeaseLost | None:
        """Why the lease is lost; None while it is ours."""
        if self._lost is None and not self._over and self._clock.monotonic() >= self._term.ends_at:
            now = self._clock.now()
            self._lost = LeaseLost(self.id, LossCause.EXPIRED, now, "it could not be renewed in time")
            self._over = True
        return self._lost

    def check(self) -> None:
        """Raise `LeaseLost` unless the worker is still ours."""
        if (lost := self.lost) is not None:
            raise lost

    def detach(self) -> str:
        """Neither renew it from here on nor give it back: `attach` may take it up within its ttl."""
        self._over = True
        return self.id

    async def close(self) -> None:
        """Give the worker back. Never takes much longer than five seconds; the server's ttl is the safety net."""
        if self._opened is None or self.lost is not None or self._over:
            return
        self._over = True
        await self._give_back()

    async def __aenter__(self) -> Self:
        self._require_new()
        await self._connection.__aenter__()
        try:
            self._opened = await self._opening(self._connection)
        except BaseException:
            await self._connection.__aexit__()
            raise
        self._holder = asyncio.current_task()
        assert self._holder is not None
        self._cancels_before = self._holder.cancelling()
        self._renewing = asyncio.create_task(self._renew_until_over(self._holder), name=f"mooring-renew-{self.id}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._renewing is not None
        ours = self._stop_renewing() and isinstance(error, asyncio.CancelledError)
        try:
            await asyncio.wait({self._renewing})
            await self.close()
        finally:
            await self._connection.__aexit__()
        if self._lost is None or error is self._lost:
            return
        if error is None or ours:
            raise self._lost from error
        error.add_note(str(self._lost))

    def _stop_renewing(self) -> bool:
        """Whether the block was cancelled by us and by nobody else."""
        assert self._renewing is not None and self._holder is not None
        cancelled_block = self._renewing.done() and self._lost is not None
        self._renewing.cancel()
        return cancelled_block and self._holder.uncancel() <= self._cancels_before

    async def _renew_until_over(self, holder: asyncio.Task[Any]) -> None:
        """Ends by cancelling the block when the lease is lost, else when there is nothing more to renew."""
        while True:
            await self._clock.sleep(self._term.pause_seconds(self._clock.monotonic()))
            if not self._over and self.lost is None:
                await self._renew()
            if self._lost is not None:
                holder.cancel(str(self._lost))
            if self._over:
                return

    async def _renew(self) -> None:
        sent_at = self._clock.monotonic()
        try:
            await renew(self._connection, self._grant, self._term.request_seconds)
        except RemoteError as error:
            self._term.failing = True
            if is_final(error):
                await self._conclude()
        else:
            self._term.renewed(sent_at)

    async def _conclude(self) -> None:
        """The server says it is over: finished by its worker, or lost."""
        try:
            found = await look(self._connection, self.id)
            self._result = await find_result(self._connection, found) if found is not None else None
        except RemoteError:
            return  # asked again at the next renewal
        if not self._over:
            self._over = True
            if self._result is None:
                self._lost = judge_loss(self.id, self.epoch, found, self._clock.now())

    async def _give_back(self) -> None:
        patience = Patience(self._entropy, CLOSE_SECONDS)
        deadline = self._clock.monotonic() + CLOSE_SECONDS
        while True:
            left = max(0.1, deadline - self._clock.monotonic())
            try:
                found = await release(self._connection, self.id, self.epoch, left)
            except RemoteError as error:
                if is_final(error):
                    self._lost = judge_loss(self.id, self.epoch, await self._look(), self._clock.now())
                    return
                try:
                    await self._clock.sleep(patience.pause_seconds(error, self._clock.monotonic()))
                except RemoteError:
                    log.warning("claim %s could not be released, its ttl will end it: %s", self.id, error.message)
                    return
            else:
                if found.state != "released":
                    self._lost = judge_loss(self.id, self.epoch, found, self._clock.now())
                return

    async def _look(self) -> Grant | None:
        try:
            return await look(self._connection, self.id)
        except RemoteError:
            return None


async def renew(connection: AsyncConnection, grant: Grant, timeout_seconds: float) -> Grant:
    """One heartbeat."""
    body = {"epoch": grant.epoch}
    path = f"{claim_path(grant.id)}/heartbeat"
    return read_grant(await connection.request("POST", path, body=body, timeout_seconds=timeout_seconds))


async def release(
    connection: AsyncConnection, claim_id: str, epoch: int | None, timeout_seconds: float, reason: str = ""
) -> Grant:
    """The claim as it is after giving it back."""
    query = release_query(epoch, reason)
    return read_grant(await connection.request("DELETE", claim_path(claim_id), query, timeout_seconds=timeout_seconds))


async def withdraw(connection: AsyncConnection, grant: Grant) -> None:
    """Give up a claim of our own that may be under another epoch by now: it was served, or moved."""
    for _ in range(MOST_EPOCHS):
        try:
            await release(connection, grant.id, grant.epoch, CLOSE_SECONDS)
        except RemoteError as error:
            if error.status != 409 or (found := await look(connection, grant.id)) is None:
                raise
            grant = found
        else:
            return


async def look(connection: AsyncConnection, claim_id: str) -> Grant | None:
    """The claim as it is now; None when the server knows no such claim."""
    return await _unless_missing(connection, claim_path(claim_id), read_grant)


async def find_result(connection: AsyncConnection, grant: Grant) -> SessionResult | None:
    """What the worker of a claim that is over reported, if it did."""
    if grant.state != "released":
        return None
    return await _unless_missing(connection, f"{claim_path(grant.id)}/result", read_result)


async def _unless_missing(connection: AsyncConnection, path: str, read: Callable[[dict[str, Any]], T]) -> T | None:
    try:
        return read(await connection.request("GET", path, timeout_seconds=CLOSE_SECONDS))
    except RemoteError as error:
        if error.status == 404:
            return None
        raise
