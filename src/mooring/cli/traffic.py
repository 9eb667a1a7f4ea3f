"""The traffic of the demo: a few pretend owners who claim, work and give back, all through the public API."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from mooring.client import AsyncMooring
from mooring.client.errors import RemoteError
from mooring.clock import Clock, Entropy
from mooring.model.errors import MooringError

PREVIEWS, JOBS = "builds/previews", "builds/jobs"
OWNERS = ("acme", "globex", "initech")  # fewer than the pool has warm workers: somebody else always finds one
JOB_OWNER = "umbrella"
LEASE_SECONDS = (5.0, 40.0)
PAUSE_SECONDS = (4.0, 15.0)
JOB_PAUSE_SECONDS = (12.0, 30.0)
_AFTER_FAILURE_SECONDS = (5.0, 10.0)
_SCRIPT = """
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo "hello from $MOORING_OWNER" > page && sha256sum page && sleep "$1"
"""


class Traffic:
    """Gentle on purpose: at most one claim an owner, and pauses in between."""

    def __init__(self, mooring: AsyncMooring, clock: Clock, entropy: Entropy) -> None:
        self._mooring = mooring
        self._clock = clock
        self._entropy = entropy

    async def run(self) -> None:
        """Until cancelled; what is held then is given back."""
        async with asyncio.TaskGroup() as group:
            for owner in OWNERS:
                group.create_task(self._visit(owner))
            group.create_task(self._build())

    async def _visit(self, owner: str) -> None:
        while True:
            await self._pause(PAUSE_SECONDS)
            try:
                async with self._mooring.claim(PREVIEWS, owner=owner, ttl="1m", wait="20s"):
                    await self._pause(LEASE_SECONDS)
            except (RemoteError, MooringError):
                await self._pause(_AFTER_FAILURE_SECONDS)  # Mooring is away, or somebody took the pool: try later

    async def _build(self) -> None:
        """One real command after the other, each on a runner that exits with it."""
        while True:
            await self._pause(JOB_PAUSE_SECONDS)
            command = ["sh", "-c", _SCRIPT, "job", f"{self._entropy.between(2, 12):.0f}"]
            try:
                await self._mooring.run(
                    JOBS, owner=JOB_OWNER, payload={"command": command}, ttl="30s", wait="1m", retryable=True
                )
            except (RemoteError, MooringError, TimeoutError):
                await self._pause(_AFTER_FAILURE_SECONDS)

    async def _pause(self, seconds: tuple[float, float]) -> None:
        await self._clock.sleep(self._entropy.between(*seconds))


@contextlib.asynccontextmanager
async def running_traffic(traffic: Traffic, stop: asyncio.Event) -> AsyncIterator[asyncio.Event]:
    """Runs it beside the block until `stop`; the answer is set when all claims are given back, so that they can be."""
    stopped = asyncio.Event()

    async def until_stopped() -> None:
        running = asyncio.create_task(traffic.run())
        await stop.wait()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        stopped.set()

    watching = asyncio.create_task(until_stopped())
    try:
        yield stopped
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
