"""LISTEN on a connection of its own, made anew whenever it is lost; then everyone is told to look at everything."""

import asyncio
from collections import defaultdict
from contextlib import suppress

import structlog

from mooring.clock import Clock, Entropy
from mooring.ledger.errors import translated
from mooring.ledger.postgres.database import Connection, Database
from mooring.ledger.records import Channel, Listener, Unlisten, Wake
from mooring.model.errors import Unavailable

_ALIVE_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 2.0


class Notifications:
    """Listeners by channel, and the task that feeds them."""

    def __init__(self, database: Database, clock: Clock, entropy: Entropy) -> None:
        self._database = database
        self._clock = clock
        self._entropy = entropy
        self._listeners: defaultdict[Channel, list[Listener]] = defaultdict(list)
        self._task: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()

    def listen(self, channel: Channel, listener: Listener) -> Unlisten:
        listeners = self._listeners[channel]
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    async def start(self) -> None:
        """Returns when the first connection listens: what is notified from now on arrives."""
        self._task = asyncio.create_task(self._run(), name="ledger-notifications")
        await self._connected.wait()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def wake(self, wake: Wake) -> None:
        loop = asyncio.get_running_loop()
        for listener in self._listeners[wake.channel]:
            loop.call_soon(listener, wake)

    async def _run(self) -> None:
        pause_seconds = 0.05
        while True:
            try:
                connection = await self._database.connect()
                pause_seconds = 0.05
                await self._follow(connection)
            except Unavailable as error:
                structlog.get_logger().warning("the ledger's notifications are interrupted", error=error.message)
            await self._clock.sleep(self._entropy.between(pause_seconds / 2, pause_seconds))
            pause_seconds = min(pause_seconds * 2, _LONGEST_PAUSE_SECONDS)

    async def _follow(self, connection: Connection) -> None:
        ended = asyncio.Event()
        connection.add_termination_listener(lambda _: ended.set())
        try:
            with translated(self._database.where):
                for channel in Channel:
                    await connection.add_listener(channel.value, self._receive)
                for channel in Channel:
                    self.wake(Wake(channel, "", resync=True))
                self._connected.set()
                while not ended.is_set():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(ended.wait(), _ALIVE_SECONDS)
                        return
                    await connection.fetchval("SELECT 1")  # a server that vanished without a word is noticed here
        finally:
            connection.terminate()

    def _receive(self, _connection: object, _pid: int, channel: str, payload: object) -> None:
        self.wake(Wake(Channel(channel), str(payload)))
