"""The worker's port: accepts the holder of the claim, and nobody else.

A connection proves the claim and the epoch under which it comes. Only a rising epoch is accepted, each once; the
session of an earlier holder ends when a later one connects.
"""

import asyncio
import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hawser.clock import Entropy
from mooring_postgres_gateway.failures import (
    FEATURE_NOT_SUPPORTED,
    NOT_AUTHORISED,
    PROTOCOL_VIOLATION,
    REFUSED,
    WORKER_LOST,
    SessionError,
)
from mooring_postgres_gateway.proof import verify
from mooring_postgres_gateway.settings import REPORTED, Settings, read_initial
from mooring_postgres_gateway.startups import read_packet
from mooring_postgres_gateway.streams import Gone, MessageStream
from mooring_postgres_gateway.wire import bodies
from mooring_postgres_gateway.wire.bodies import FAILED, IDLE
from mooring_postgres_gateway.wire.frames import Message, ProtocolViolation
from mooring_postgres_gateway.wire.startup import CancelRequest, Startup
from mooring_postgres_gateway.worker.engine import Engine, EngineOptions
from mooring_postgres_gateway.worker.session import WorkerSession
from mooring_postgres_gateway.worker_parameters import TRANSACTION

STARTUP_SECONDS = 10.0
_MOST_STARTING = 64


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """Who the worker is, and whose signatures it believes."""

    uid: str
    key: Ed25519PublicKey


@dataclass(slots=True)
class _Running:
    session: WorkerSession
    task: "asyncio.Task[None]"
    process: int
    secret: int


class EngineStore:
    """Opens the database of the next session ahead of it: that takes longer than most statements."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._thread = ThreadPoolExecutor(1, "duckdb-open")
        self._next: Future[Engine] = self._thread.submit(Engine, options)

    async def take(self) -> Engine:
        """A database that nobody has used."""
        taken, self._next = self._next, self._thread.submit(Engine, self._options)
        return await asyncio.wrap_future(taken)


class WorkerServer:
    """Serves one session at a time."""

    def __init__(self, identity: WorkerIdentity, engines: EngineStore, entropy: Entropy) -> None:
        self._identity = identity
        self._engines = engines
        self._entropy = entropy
        self._running: _Running | None = None
        self._highest_epoch = -1
        self._starting = 0
        self.draining = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def sessions(self) -> int:
        """0 or 1."""
        return 0 if self.idle.is_set() else 1

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first byte to its end."""
        if self._starting >= _MOST_STARTING:
            writer.transport.abort()
            return
        self._starting += 1
        try:
            async with asyncio.timeout(STARTUP_SECONDS):
                packet = await read_packet(reader)
        except (Gone, ProtocolViolation, TimeoutError):
            writer.transport.abort()
            return
        finally:
            self._starting -= 1
        if isinstance(packet, CancelRequest):
            self._cancel(packet)
            writer.close()
            return
        stream = MessageStream(reader, writer)
        try:
            await self._serve(packet, stream)
        except SessionError as error:
            with contextlib.suppress(Gone):
                await stream.send(error.encode())
        except Gone:
            pass  # the gateway left during the start-up: there is nobody to answer
        finally:
            await stream.close()

    async def _serve(self, packet: object, stream: MessageStream) -> None:
        if not isinstance(packet, Startup):
            raise SessionError(FEATURE_NOT_SUPPORTED, "workers speak without TLS", fatal=True)
        held = verify(packet.parameters, self._identity.uid, self._identity.key)
        if held is None:
            message = "the connection does not prove that it holds this worker"
            raise SessionError(NOT_AUTHORISED, message, fatal=True)
        if self.draining.is_set():
            raise SessionError(WORKER_LOST, "the worker drains", fatal=True, routine=REFUSED)
        if held.epoch <= self._highest_epoch:
            message = f"epoch {held.epoch} of claim {held.claim} is over; the worker has seen {self._highest_epoch}"
            raise SessionError(NOT_AUTHORISED, message, fatal=True)
        self._highest_epoch = held.epoch
        if self._running is not None:
            self._running.task.cancel()
        settings = Settings(read_initial(packet.parameters))
        session = WorkerSession(stream, await self._engines.take(), self.draining, settings)
        task = asyncio.current_task()
        assert task is not None
        process, secret = self._entropy.below(1 << 31), self._entropy.below(1 << 32)
        mine = self._running = _Running(session, task, process, secret)
        self.idle.clear()
        failed = packet.parameters.get(TRANSACTION) == "failed"
        if failed:
            session.begin_failed()
        try:
            await stream.send_all(_greeting(process, secret, FAILED if failed else IDLE))
            await session.run()
        except asyncio.CancelledError:
            if self._running is mine:
                raise
            await session.close()  # a later holder has come; this task ends here
        except ProtocolViolation as violation:
            raise SessionError(PROTOCOL_VIOLATION, str(violation), fatal=True) from violation
        finally:
            if self._running is mine:
                self._running = None
                self.idle.set()

    def _cancel(self, request: CancelRequest) -> None:
        running = self._running
        if running is not None and (running.process, running.secret) == (request.process, request.secret):
            running.session.cancel()


def _greeting(process: int, secret: int, status: bytes) -> list[Message]:
    settings = [bodies.parameter_status(name, value) for name, value in REPORTED.items()]
    return [Message(b"R", bytes(4)), *settings, bodies.key_data(process, secret), bodies.ready(status)]
