"""The SDK for event loops: the twin of `mooring.client.sdk`, awaited. A lost lease cancels its block."""

import asyncio
import contextlib
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Self

from mooring.client.asking import OnWait
from mooring.client.async_asking import AsyncAsking
from mooring.client.async_connection import AsyncConnection
from mooring.client.async_leases import AsyncLease, AsyncOpening, find_result, look, release, renew, withdraw
from mooring.client.connection import find_endpoint
from mooring.client.durations import Duration, parse_seconds
from mooring.client.errors import RemoteError, Unavailable
from mooring.client.leasing import (
    CLOSE_SECONDS,
    LOOK_SECONDS,
    Grant,
    Options,
    SessionResult,
    Term,
    Wish,
    claim_path,
    is_final,
    judge_loss,
    make_wish,
    read_grant,
)
from mooring.client.patience import Patience
from mooring.clock import Entropy, SystemClock


class AsyncMooring:
    """Where claims come from: an address and a token, else `MOORING_URL` and `MOORING_TOKEN`, else the state folder."""

    def __init__(self, url: str = "", token: str = "", *, state: Path | None = None) -> None:
        self._endpoint = find_endpoint(url, token, state)
        self._clock = SystemClock()
        self._entropy = Entropy()

    def claim(
        self,
        pool: str,
        *,
        owner: str,
        ttl: Duration = "5m",
        wait: Duration = 0,
        key: str = "",
        priority: int = 0,
        retryable: bool = False,
        payload: Mapping[str, Any] | None = None,
        on_wait: OnWait | None = None,
    ) -> AsyncLease:
        """A lease on a worker of `pool` (`namespace/name`), asked for when its block is entered."""
        wish = make_wish(pool, owner, ttl, wait, key, Options(priority, retryable, payload))
        return self._lease(lambda connection: self._acquire(connection, wish, on_wait))

    def attach(self, claim_id: str) -> AsyncLease:
        """A lease on a claim that was detached, here or elsewhere: renewed and given back as if claimed here."""
        return self._lease(lambda connection: self._take_up(connection, claim_id))

    async def run(
        self,
        pool: str,
        *,
        owner: str,
        payload: Mapping[str, Any],
        ttl: Duration = "5m",
        wait: Duration = "5m",
        timeout: Duration = "1h",
        key: str = "",
        priority: int = 0,
        retryable: bool = False,
        on_wait: OnWait | None = None,
    ) -> SessionResult:
        """One session on a worker that polls: `payload` goes to it, its exit code and last output come back.

        The worker keeps the claim alive; when it is lost and the claim `retryable`, another one starts over.
        """
        deadline = self._clock.monotonic() + parse_seconds("timeout", timeout)
        wish = make_wish(pool, owner, ttl, wait, key, Options(priority, retryable, payload))
        async with AsyncConnection(self._endpoint) as connection:
            grant = await AsyncAsking(connection, wish, on_wait, self._clock, self._entropy).run()
            try:
                return await self._await_result(connection, grant, deadline)
            except BaseException:
                await _give_up(withdraw(connection, grant))
                raise

    async def release(self, claim_id: str, epoch: int | None = None, *, reason: str = "") -> None:
        """Give a claim's worker back, with `epoch` only while the claim is under that one; without, whoever holds it:
        that is audited, and the holder is told the reason."""
        async with AsyncConnection(self._endpoint) as connection:
            await release(connection, claim_id, epoch, CLOSE_SECONDS, reason)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is held open between leases."""

    def _lease(self, opening: AsyncOpening) -> AsyncLease:
        return AsyncLease(AsyncConnection(self._endpoint), opening, self._clock, self._entropy)

    async def _acquire(self, connection: AsyncConnection, wish: Wish, on_wait: OnWait | None) -> tuple[Grant, Term]:
        sent_at = self._clock.monotonic()
        asking = AsyncAsking(connection, wish, on_wait, self._clock, self._entropy)
        grant = await asking.run()
        if asking.prompt:
            return grant, Term(grant.ttl_seconds, sent_at)
        try:
            return await self._confirm(connection, grant)
        except BaseException:
            await _give_up(release(connection, grant.id, grant.epoch, CLOSE_SECONDS))
            raise

    async def _take_up(self, connection: AsyncConnection, claim_id: str) -> tuple[Grant, Term]:
        return await self._confirm(connection, read_grant(await connection.get(claim_path(claim_id))))

    async def _confirm(self, connection: AsyncConnection, grant: Grant) -> tuple[Grant, Term]:
        """When the claim began to run is not known here: a renewal tells that it is ours, and since when at least."""
        patience = Patience(self._entropy, CLOSE_SECONDS)
        while True:
            sent_at = self._clock.monotonic()
            try:
                return await renew(connection, grant, CLOSE_SECONDS), Term(grant.ttl_seconds, sent_at)
            except Unavailable as error:
                await self._clock.sleep(patience.pause_seconds(error, self._clock.monotonic()))
            except RemoteError as error:
                if not is_final(error):
                    raise
                found = await look(connection, grant.id)
                raise judge_loss(grant.id, grant.epoch, found, self._clock.now()) from error

    async def _await_result(self, connection: AsyncConnection, grant: Grant, deadline: float) -> SessionResult:
        patience = Patience(self._entropy)
        while True:
            try:
                if not grant.open:
                    result = await find_result(connection, grant)
                    break
                if self._clock.monotonic() > deadline:
                    raise TimeoutError(f"claim {grant.id} had no result in time and was released")
                await self._clock.sleep(LOOK_SECONDS / 8)
                grant = read_grant(await connection.get(claim_path(grant.id)))
                patience.reset()
            except Unavailable as error:
                await self._clock.sleep(patience.pause_seconds(error, self._clock.monotonic()))
        if result is None:
            raise judge_loss(grant.id, grant.epoch, grant, self._clock.now())
        return result


async def _give_up(act: Awaitable[object]) -> None:
    with contextlib.suppress(RemoteError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await act
