"""LISTEN on a separate connection. After a reconnect every listener gets a resync."""

import asyncio
from collections import defaultdict
from contextlib import suppress

import structlog

from hawser.clock import Clock, Entropy
from mooring.ledger.errors import translated
from mooring.ledger.postgres.database import Connection, Database
from mooring.ledger.records import Channel, Listener, Unlisten, Wake
from mooring.model.errors import Unavailable

_ALIVE_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0


class Notifications:
    """Listeners by channel, and the task that calls them."""

    def __init__(self, database: Database, clock: Clock, entropy: Entropy) -> None:
        self._database = database
        self._clock = clock
        self._entropy = entropy
        self._listeners: defaultdict[Channel, list[Listener]] = defaultdict(list)
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection | None = None

    def listen(self, channel: Channel, listener: Listener) -> Unlisten:
        listeners = self._listeners[channel]
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    async def start(self) -> None:
        """Returns when the first connection listens: later notifications arrive."""
        await self._subscribe()
        self._task = asyncio.create_task(self._run(), name="ledger-notifications")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._connection is not None:
            self._connection.terminate()

    async def _run(self) -> None:
        while True:
            try:
                await self._follow(self._connection)
            except Unavailable as error:
                structlog.get_logger().warning("the ledger's notifications are interrupted", error=error.message)
            await self._resubscribe()
            for channel in Channel:
                self._wake(Wake(channel, "", resync=True))
            structlog.get_logger().info("the ledger's notifications arrive again")

    async def _subscribe(self) -> None:
        self._connection = connection = await self._database.connect()
        with translated(self._database.where):
            for channel in Channel:
                await connection.add_listener(channel.value, self._receive)

    async def _resubscribe(self) -> None:
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            if self._connection is not None:
                self._connection.terminate()
            await self._clock.sleep(self._entropy.between(pause_seconds / 2, pause_seconds))
            pause_seconds = min(pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
            with suppress(Unavailable):
                return await self._subscribe()

    async def _follow(self, connection: Connection) -> None:
        """Returns when the connection is lost."""
        ended = asyncio.Event()
        connection.add_termination_listener(lambda _: ended.set())
        while not (ended.is_set() or connection.is_closed()):
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), _ALIVE_SECONDS)
                return
            with translated(self._database.where):
                await connection.fetchval("SELECT 1")  # detects a server that vanished without closing the connection

    def _wake(self, wake: Wake) -> None:
        loop = asyncio.get_running_loop()
        for listener in self._listeners[wake.channel]:
            loop.call_soon(listener, wake)

    def _receive(self, _connection: object, _pid: int, channel: str, payload: object) -> None:
        self._wake(Wake(Channel(channel), str(payload)))
