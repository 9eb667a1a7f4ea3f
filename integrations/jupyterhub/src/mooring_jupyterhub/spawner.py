"""The spawner: a user's server is a claim on a warm worker, kept alive by the worker, known to the hub by id and epoch.

The hub may stop at any line and start again: what it needs is in its state, and a claim that it did not come to
remember is found by the prefix of its key. Without an answer of Mooring, a server counts as running.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from jupyterhub.spawner import Spawner
from traitlets import Integer, Unicode, default

from hawser.clock import Entropy, SystemClock
from mooring.client import AsyncClaim, AsyncMooring, ClaimTimeout, LeaseLost, LimitReached, RemoteError, Waiting
from mooring.client.durations import parse_seconds
from mooring.client.loss import is_final
from mooring.model.errors import MooringError
from mooring_jupyterhub.hub_watch import SILENCE_FIELD
from mooring_jupyterhub.notebook import PROGRAM
from mooring_jupyterhub.servers import EndedServer, RunningServer, explain_end, is_running, key_prefix

PORT = 8888
LOOK_SECONDS = 0.05  # between two looks whether a new server listens
CONNECT_SECONDS = 1.0  # the address of a pod that is gone often does not answer at all
STOP_SECONDS = 20.0
RELEASE_SECONDS = 30.0


class StartFailed(Exception):
    """The server could not be started. The hub shows `jupyterhub_message` to the user."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.jupyterhub_message = message


class MooringSpawner(Spawner):  # type: ignore[misc]  # JupyterHub has no types
    """Starts each user's server on a warm worker of a pool with poll dispatch."""

    pool = Unicode("notebooks/users", config=True, help="The WorkerPool of notebook workers: NAMESPACE/NAME.")
    hub_id = Unicode(
        "jupyterhub",
        config=True,
        help="Name of this hub in the keys of its claims. Two hubs that share a pool need different names.",
    )
    mooring_url = Unicode("", config=True, help="Address of Mooring. Default: as for the SDK, such as $MOORING_URL.")
    ttl = Unicode(
        "10m",
        config=True,
        help="The claim of a server expires this long after the last heartbeat of its worker. It is the longest outage "
        "of Mooring that servers survive. A restart of the hub does not count: the worker keeps the claim alive.",
    )
    hub_silence = Unicode(
        "24h", config=True, help="A worker stops its server when the hub has not answered it for this long."
    )
    priority = Integer(0, config=True, help="Priority of the claims: higher values are served first.")

    def __init__(self, **given: Any) -> None:
        self._running: RunningServer | None = None
        self._ended: EndedServer | None = None
        self._note, self._noted = "Claiming a warm worker", asyncio.Event()
        self._clock = SystemClock()
        super().__init__(**given)

    @default("port")
    def _default_port(self) -> int:
        return PORT

    @default("cmd")
    def _default_cmd(self) -> list[str]:
        return [PROGRAM]

    @property
    def ended(self) -> str:
        """For pages: how the last server of this name ended; empty if its user or the hub stopped it."""
        return self._ended.message if self._ended is not None else ""

    def get_state(self) -> dict[str, Any]:
        """What a restarted hub needs to know. It holds no token."""
        state = super().get_state()
        if self._running is not None:
            state["mooring"] = self._running.dump()
        if self._ended is not None:
            state["mooring_ended"] = {"status": self._ended.status, "message": self._ended.message}
        return dict(state)

    def load_state(self, state: dict[str, Any]) -> None:
        """Resume: the worker has kept the claim alive meanwhile."""
        super().load_state(state)
        self._running = RunningServer.load(state.get("mooring") or {})
        ended = state.get("mooring_ended")
        self._ended = EndedServer(int(ended["status"]), str(ended["message"])) if ended else None

    def clear_state(self) -> None:
        """Forget the claim. The message about its end is kept for the user until the next start."""
        super().clear_state()
        self._running = None

    async def start(self) -> tuple[str, int]:
        """Claim a worker and hand the server's environment over with the claim; returns where the server listens."""
        if self.internal_ssl:
            raise StartFailed(
                "MooringSpawner does not support internal_ssl: its workers exist before the certificates."
            )
        self._ended = None
        try:
            await self._release_leftovers()
            async with self._claim() as claim:
                worker = claim.worker
                self._say(f"Starting your server on worker {worker.name}")
                started = RunningServer(claim.id, claim.epoch, worker.name, worker.address, self.port)
                await self._wait_listening(claim, started)
                self._running = started
                claim.detach()  # from here on the worker keeps it alive
        except (ClaimTimeout, LimitReached) as error:
            raise StartFailed(f"No worker is free for your server: {error.why.message}. Try again later.") from error
        except MooringError as error:
            raise StartFailed(f"Your server could not be started: {error.message}.") from error
        return started.address, started.port

    async def poll(self) -> int | None:
        """None while the server runs, also when Mooring does not answer; else its exit status."""
        if self._running is None:
            with contextlib.suppress(RemoteError):  # they are looked for again with the next start
                await self._release_leftovers()
            return self._ended.status if self._ended is not None else 0
        server = self._running
        try:
            found = await self._mooring.find(server.claim)
            if is_running(server, found):
                return None
            result = await self._mooring.result(found) if found is not None else None
        except RemoteError as error:
            self.log.warning("cannot find out whether %s runs: %s", self._log_name, error.message)
            return None
        self._ended = explain_end(server, found, result, self._clock.now())
        self._running = None
        self.log.warning("%s on worker %s: %s", self._log_name, server.worker, self._ended.message)
        return self._ended.status

    async def stop(self, now: bool = False) -> None:
        """Release the worker, and wait until the server does not listen any more.

        If Mooring does not answer, the worker stops the server itself, because the hub revokes its token.
        """
        server = self._running
        if server is None:
            return
        if not await self._release(server):
            self.log.error("claim %s is not released: its worker ends it within minutes", server.claim)
            return
        self._running = None
        deadline = self._clock.monotonic() + STOP_SECONDS
        while await _listens(server) and self._clock.monotonic() < deadline:
            await self._clock.sleep(LOOK_SECONDS)

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Why the server is not there yet. The hub ends the iteration with the start."""
        while True:
            yield {"progress": 50, "message": self._note}
            await self._noted.wait()

    @property
    def _mooring(self) -> AsyncMooring:
        """Nothing is held open between requests, and a projected token changes while the hub runs."""
        return AsyncMooring(self.mooring_url)

    @property
    def _key_prefix(self) -> str:
        return key_prefix(self.hub_id, self.user.name, self.name)

    def _claim(self) -> AsyncClaim:
        payload = {
            "command": [*self.cmd, *self.get_args()],
            "env": {name: str(value) for name, value in self.get_env().items() if value is not None},
            SILENCE_FIELD: parse_seconds("hub_silence", self.hub_silence),
        }
        return self._mooring.claim(
            self.pool,
            owner=self.user.name,
            ttl=self.ttl,
            wait=max(0, self.start_timeout - 5),  # what is left is for the server itself
            key=f"{self._key_prefix}{Entropy().uuid()}",  # a new token, so never the claim of an earlier start
            priority=self.priority,
            payload=payload,
            on_wait=self._report_wait,
        )

    async def _wait_listening(self, claim: AsyncClaim, server: RunningServer) -> None:
        while not await _listens(server):
            if claim.result is not None:
                tail = "\n".join(claim.result.output.splitlines()[-20:])
                self.log.error("%s ended while it started:\n%s", self._log_name, tail)
                raise StartFailed(f"Your server ended while it started, with exit code {claim.result.exit_code}.")
            claim.check()
            await self._clock.sleep(LOOK_SECONDS)

    async def _release_leftovers(self) -> None:
        """Claims of this server that a hub made and did not come to remember, because it ended in between."""
        for claim in await self._mooring.claims(self.pool, owner=self.user.name, limit=1000):
            if (claim.key or "").startswith(self._key_prefix):
                self.log.warning("releasing claim %s, which %s does not know", claim.id, self._log_name)
                with contextlib.suppress(LeaseLost):
                    await self._mooring.release(claim.id, claim.epoch)

    async def _release(self, server: RunningServer) -> bool:
        """Whether the claim is over; asks again for a while if Mooring does not answer."""
        deadline = self._clock.monotonic() + RELEASE_SECONDS
        while True:
            try:
                await self._mooring.release(server.claim, server.epoch)
            except RemoteError as error:
                if is_final(error):
                    return True
                if self._clock.monotonic() >= deadline:
                    return False
                await self._clock.sleep(1.0)
            else:
                return True

    def _report_wait(self, waiting: Waiting) -> None:
        place = f"Number {waiting.position} in the queue: " if waiting.position is not None else ""
        self._say(f"{place}{waiting.why.message}")

    def _say(self, note: str) -> None:
        self._note = note
        self._noted.set()
        self._noted = asyncio.Event()


async def _listens(server: RunningServer) -> bool:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(server.address, server.port)
    except OSError:  # a TimeoutError is one
        return False
    writer.close()
    return True
