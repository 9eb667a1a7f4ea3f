"""Getting a claim from an event loop: one request that may be repeated safely, and its queue shown while it waits."""

import asyncio
import contextlib
import logging
from typing import Any

from mooring.client.asking import ANSWER_SECONDS, LATE_SECONDS, OnWait
from mooring.client.async_connection import AsyncConnection
from mooring.client.async_leases import withdraw
from mooring.client.errors import ClaimTimeout, RemoteError, Unavailable, read_why
from mooring.client.leasing import (
    CLOSE_SECONDS,
    LOOK_SECONDS,
    MOST_KEYS,
    Grant,
    Waiting,
    Wish,
    claim_path,
    ended_at_once,
    explain_wait,
    out_of_time,
    read_grant,
)
from mooring.client.patience import Patience
from mooring.clock import Clock, Entropy
from mooring.model.why import Why

log = logging.getLogger("mooring.client")


class AsyncAsking:
    """One claim, from the wish to a worker. `prompt` says afterwards whether the first answer held it at once."""

    def __init__(
        self, connection: AsyncConnection, wish: Wish, on_wait: OnWait | None, clock: Clock, entropy: Entropy
    ) -> None:
        self._connection = connection
        self._own_key = not wish.key
        self._wish = wish.under(wish.key or entropy.uuid())
        self._on_wait = on_wait
        self._clock = clock
        self._entropy = entropy
        self._started, self._since = clock.monotonic(), clock.now()
        self._deadline = self._started + wish.wait_seconds
        self.prompt = wish.wait_seconds == 0

    async def run(self) -> Grant:
        """A claim that runs. Whatever else happens, no claim is left behind."""
        try:
            return await self._until_running()
        except ClaimTimeout as error:
            error.why = read_why(error.detail.get("why")) or await self._explain()
            raise
        except Unavailable:
            await self._abandon()
            raise
        except RemoteError:
            raise  # a definite no: there is nothing to give back
        except BaseException:
            await self._abandon()
            raise

    async def _until_running(self) -> Grant:
        for _ in range(MOST_KEYS):
            grant = await self._settle(await self._post())
            if grant.state == "running":
                return grant
            if not self._own_key:
                break
            # The claim under our key failed on the server's side. Nobody else knows the key: take a new one.
            self._wish = self._wish.under(self._entropy.uuid())
        raise ended_at_once(self._wish, grant)

    async def _post(self) -> Grant:
        patience = Patience(self._entropy)
        while True:
            try:
                return read_grant(await self._request())
            except Unavailable as error:
                self.prompt = False
                await self._clock.sleep(patience.pause_seconds(error, self._clock.monotonic()))
            with contextlib.suppress(Unavailable):  # the request is then repeated, and tells
                if (found := await self._find()) is not None:
                    return found

    async def _request(self) -> dict[str, Any]:
        left = max(0.0, self._deadline - self._clock.monotonic())
        body = self._wish.body(left)
        call = self._connection.request("POST", self._wish.path, body=body, timeout_seconds=left + ANSWER_SECONDS)
        asking = asyncio.create_task(call)
        try:
            pause = LOOK_SECONDS / 4
            while not (await asyncio.wait({asking}, timeout=pause))[0]:
                pause = LOOK_SECONDS
                await self._tell()
            return dict(asking.result())
        finally:
            asking.cancel()

    async def _settle(self, grant: Grant) -> Grant:
        """A repeated request may find its claim still on its way: then look until it runs or is over."""
        patience = Patience(self._entropy)
        while grant.state in LATE_SECONDS:
            self.prompt = False
            if self._clock.monotonic() > self._deadline + LATE_SECONDS[grant.state]:
                await withdraw(self._connection, grant)
                raise out_of_time(self._wish, grant.id)
            await self._tell()
            await self._clock.sleep(LOOK_SECONDS / 4)
            try:
                grant = await self._look_again(grant)
                patience.reset()
            except Unavailable as error:
                await self._clock.sleep(patience.pause_seconds(error, self._clock.monotonic()))
        if grant.state == "expired" and grant.worker is None:
            raise out_of_time(self._wish, grant.id)
        return grant

    async def _look_again(self, grant: Grant) -> Grant:
        """One that has a worker and does not run may have lost its control plane half way: the request, repeated, makes
        another one take it up. One that waits is only looked at."""
        if grant.state == "claimed":
            try:
                return read_grant(await self._request())
            except RemoteError as error:
                if error.status != 409:
                    raise
        return read_grant(await self._connection.get(claim_path(grant.id)))

    async def _tell(self) -> None:
        if self._on_wait is None:
            return
        found = None
        with contextlib.suppress(Unavailable):
            found = await self._find()
        position, why = (found.position, found.why) if found is not None else (None, None)
        waited = self._clock.monotonic() - self._started
        self._on_wait(Waiting(position, waited, why or await self._explain(position)))

    async def _explain(self, position: int | None = None) -> Why:
        pool = None
        with contextlib.suppress(RemoteError):
            pool = await self._connection.request("GET", self._wish.pool_path, timeout_seconds=CLOSE_SECONDS)
        return explain_wait(self._wish, pool, position, self._since)

    async def _find(self) -> Grant | None:
        """The open claim under our key."""
        items = (await self._connection.get("/v1/claims", self._wish.query))["items"]
        return next((grant for grant in map(read_grant, items) if grant.key == self._wish.key), None)

    async def _abandon(self) -> None:
        """Give back what the request may have made; where that fails too, the server's ttl ends it."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if (found := await self._find()) is not None:
                    await withdraw(self._connection, found)
        except (RemoteError, TimeoutError) as error:
            log.warning("a claim under key %s may be left until its ttl ends: %s", self._wish.key, error)
