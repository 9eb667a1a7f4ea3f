"""The traffic of the demo: a few owners that claim workers and release them, through the public API."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from math import cos, pi

from hawser.clock import Clock, Entropy
from mooring.client import AsyncMooring
from mooring.client.errors import RemoteError
from mooring.model.errors import MooringError

PREVIEWS, JOBS, SESSIONS = "builds/previews", "builds/jobs", "builds/sessions"
OWNERS = ("acme", "globex", "initech")  # fewer than the warm workers of the pool, so that one is always free for users
JOB_OWNER = "umbrella"
HOLD_SECONDS = (5.0, 40.0)
PAUSE_SECONDS = (4.0, 15.0)
JOB_PAUSE_SECONDS = (12.0, 30.0)
SESSION_OWNER = "hooli"
SESSION_HOLD_SECONDS = (2.0, 6.0)
RHYTHM_SECONDS = 900.0  # from one ebb to the next
EBB_PAUSE_SECONDS, FLOOD_PAUSE_SECONDS = 60.0, 5.0  # between two sessions, on average
_AFTER_FAILURE_SECONDS = (5.0, 10.0)
_SCRIPT = """
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo "hello from $MOORING_OWNER" > page && sha256sum page && sleep "$1"
"""


class Traffic:
    """At most one claim for each owner, with pauses in between; and short sessions whose rate rises and falls."""

    def __init__(self, mooring: AsyncMooring, clock: Clock, entropy: Entropy) -> None:
        self._mooring = mooring
        self._clock = clock
        self._entropy = entropy

    async def run(self) -> None:
        """Run until cancelled; claims that are held then are released."""
        async with asyncio.TaskGroup() as group:
            for owner in OWNERS:
                group.create_task(self._visit(owner))
            group.create_task(self._build())
            group.create_task(self._surge(group))

    async def _visit(self, owner: str) -> None:
        while True:
            await self._pause(PAUSE_SECONDS)
            try:
                async with self._mooring.claim(PREVIEWS, owner=owner, ttl="1m", wait="20s"):
                    await self._pause(HOLD_SECONDS)
            except (RemoteError, MooringError):
                await self._pause(_AFTER_FAILURE_SECONDS)  # no answer, or users took all workers

    async def _build(self) -> None:
        """Real commands, one after the other, each on a runner that exits afterwards."""
        while True:
            await self._pause(JOB_PAUSE_SECONDS)
            command = ["sh", "-c", _SCRIPT, "job", f"{self._entropy.between(2, 12):.0f}"]
            try:
                await self._mooring.run(
                    JOBS, owner=JOB_OWNER, payload={"command": command}, ttl="30s", wait="1m", retryable=True
                )
            except (RemoteError, MooringError, TimeoutError):
                await self._pause(_AFTER_FAILURE_SECONDS)

    async def _surge(self, group: asyncio.TaskGroup) -> None:
        """Sessions that come more and more often, then less, in cycles."""
        began = self._clock.monotonic()
        while True:
            tide = compute_tide(self._clock.monotonic() - began)
            pause = EBB_PAUSE_SECONDS * (FLOOD_PAUSE_SECONDS / EBB_PAUSE_SECONDS) ** tide
            await self._pause((0.5 * pause, 1.5 * pause))
            group.create_task(self._hold_session())

    async def _hold_session(self) -> None:
        with contextlib.suppress(RemoteError, MooringError):  # no answer, or users took all workers
            async with self._mooring.claim(SESSIONS, owner=SESSION_OWNER, ttl="1m", wait="20s"):
                await self._pause(SESSION_HOLD_SECONDS)

    async def _pause(self, seconds: tuple[float, float]) -> None:
        await self._clock.sleep(self._entropy.between(*seconds))


def compute_tide(seconds: float) -> float:
    """0 at ebb, 1 at flood."""
    return 0.5 - 0.5 * cos(2 * pi * seconds / RHYTHM_SECONDS)


@contextlib.asynccontextmanager
async def running_traffic(traffic: Traffic, stop: asyncio.Event) -> AsyncIterator[asyncio.Event]:
    """Run it beside the block until `stop`. The event that it yields is set when all claims are released."""
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
