"""The SDK for event loops, with the signatures of `mooring.client.sdk`. A lost claim cancels its block."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from mooring.client.asyncio_runtime import AsyncioRuntime
from mooring.client.claim import HeldClaim
from mooring.client.claims_api import CLOSE_SECONDS
from mooring.client.connection import CaFile, Endpoint, StateFolder, find_endpoint
from mooring.client.durations import Duration, parse_seconds
from mooring.client.errors import LeaseLost
from mooring.client.operations import Operations
from mooring.client.pod_commands import ClusterFlags, CommandResult, PodCommands
from mooring.client.records import ClaimView, PoolView, SessionResult, WorkerView
from mooring.client.request import ClaimOptions, EnqueueOptions, OnWait, RunOptions, make_request, require_key
from mooring.client.safe_run import SafeOptions, SafePolicy, SafeRun

T = TypeVar("T")


class AsyncClaim(HeldClaim):
    """A worker for the time of a block. Its properties are set once the block is entered."""

    _holder: "asyncio.Task[Any] | None" = None
    _cancels_before = 0
    _cancelled_block = False

    async def close(self) -> None:
        """Release the worker. Takes about five seconds at most; if it fails, the server ends the claim with its ttl."""
        await self._close()

    async def exec(self, command: Sequence[str], *, input: str = "", **cluster: Unpack[ClusterFlags]) -> CommandResult:
        """As `Claim.exec`."""
        return await self._exec(command, input, cluster)

    async def logs(self, *, lines: int = 100, previous: bool = False, **cluster: Unpack[ClusterFlags]) -> str:
        """As `Claim.logs`."""
        return await self._logs(lines, previous, cluster)

    async def __aenter__(self) -> Self:
        await self._open()
        self._holder = asyncio.current_task()
        assert self._holder is not None
        self._cancels_before = self._holder.cancelling()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._renewals is not None
        self._renewals.cancel()
        caused_by_loss = self._take_back_cancellation() and isinstance(error, asyncio.CancelledError)
        await self._renewals.wait(CLOSE_SECONDS)
        await self._close()
        self._report_loss(error, caused_by_loss=caused_by_loss)

    def _on_loss(self, lost: LeaseLost) -> None:
        assert self._holder is not None
        self._cancelled_block = True
        self._holder.cancel(str(lost))

    def _take_back_cancellation(self) -> bool:
        """Whether the block was cancelled because of the loss only."""
        if not self._cancelled_block:
            return False
        assert self._holder is not None
        return self._holder.uncancel() <= self._cancels_before


class AsyncMooring:
    """Creates claims. The address and the token are arguments, else `MOORING_URL` and `MOORING_TOKEN`, else those of
    the state folder, of `mooring login`, or of the pod. `ca` is a file with CA certificates for HTTPS, else
    `MOORING_CA`, else those of the system."""

    def __init__(self, url: str = "", token: str = "", *, state: StateFolder = None, ca: CaFile = None) -> None:
        self._reach(find_endpoint(url, token, state, ca), state)

    @classmethod
    def at(cls, endpoint: Endpoint) -> Self:
        """For an endpoint that was found before."""
        made = cls.__new__(cls)
        made._reach(endpoint)
        return made

    def _reach(self, endpoint: Endpoint, state: StateFolder = None) -> None:
        self._url = endpoint.url
        self._runtime = AsyncioRuntime(endpoint)
        self._operations = Operations(self._runtime)
        self._pods = PodCommands(self._runtime, endpoint, state)

    def claim(
        self,
        pool: str,
        *,
        owner: str = "",
        ttl: Duration = "5m",
        wait: Duration = 0,
        key: str = "",
        on_wait: OnWait | None = None,
        **options: Unpack[ClaimOptions],
    ) -> AsyncClaim:
        """As `Mooring.claim`, for `async with`."""
        request = make_request(pool, owner, ttl, wait, key=key, **options)
        return AsyncClaim(self._runtime, lambda: self._operations.acquire(request, on_wait), self._pods)

    def attach(self, claim_id: str) -> AsyncClaim:
        """As `Mooring.attach`, for `async with`."""
        return AsyncClaim(self._runtime, lambda: self._operations.attach(claim_id), self._pods)

    async def enqueue(
        self,
        pool: str,
        *,
        key: str,
        owner: str = "",
        ttl: Duration = "5m",
        wait: Duration = "1h",
        **options: Unpack[EnqueueOptions],
    ) -> ClaimView:
        """As `Mooring.enqueue`."""
        request = make_request(pool, owner, ttl, wait, key=require_key(key), **options)
        return await self._operations.enqueue(request)

    async def get_claim(self, claim_id: str) -> ClaimView:
        """As `Mooring.get_claim`."""
        return await self._operations.get_claim(claim_id)

    async def run(
        self,
        pool: str,
        *,
        payload: Mapping[str, Any],
        owner: str = "",
        ttl: Duration = "5m",
        wait: Duration = "5m",
        timeout: Duration = "1h",
        **options: Unpack[RunOptions],
    ) -> SessionResult:
        """As `Mooring.run`."""
        on_wait = options.pop("on_wait", None)
        request = make_request(pool, owner, ttl, wait, payload=payload, **options)
        return await self._operations.run(request, on_wait, parse_seconds("timeout", timeout))

    async def run_safe(
        self,
        pool: str,
        work: Callable[[AsyncClaim], Awaitable[T]],
        *,
        owner: str = "",
        attempts: int = 3,
        **options: Unpack[SafeOptions],
    ) -> T:
        """As `Mooring.run_safe`, with a coroutine function."""
        given: dict[str, Any] = {"ttl": "5m", "wait": "5m", **options}
        run = SafeRun(SafePolicy.take_from(given, attempts), given.pop("key", ""))

        async def attempt(claim: AsyncClaim) -> T:
            outcome = []
            try:
                async with claim:
                    outcome.append(await run.judge(claim, work))
            except LeaseLost:
                if not (outcome and claim.committed):
                    raise
            return outcome[0]

        return await run.repeat(lambda key: self.claim(pool, owner=owner, key=key, **given), attempt)

    async def release(self, claim_id: str, epoch: int | None = None, *, reason: str = "") -> None:
        """As `Mooring.release`."""
        await self._operations.release(claim_id, epoch, reason)

    async def pools(self, namespace: str = "") -> list[PoolView]:
        """Pools with their workers by state, and why they are ready or not."""
        return await self._operations.pools(namespace)

    async def workers(self, pool: str = "", *, node: str = "", state: str = "") -> list[WorkerView]:
        """Workers; only those of a pool (`namespace/name`), on a node, or in a state."""
        return await self._operations.workers(pool, node, state)

    async def claims(self, pool: str = "", *, owner: str = "", limit: int = 100) -> list[ClaimView]:
        """Open claims, newest first; only those of a pool or an owner."""
        return await self._operations.claims(pool, owner, limit)

    async def find(self, claim_id: str) -> ClaimView | None:
        """As `Mooring.find`."""
        return await self._operations.find(claim_id)

    async def result(self, claim: ClaimView) -> SessionResult | None:
        """As `Mooring.result`."""
        return await self._operations.result(claim)

    def __repr__(self) -> str:
        return f"<AsyncMooring at {self._url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is held open between requests."""
