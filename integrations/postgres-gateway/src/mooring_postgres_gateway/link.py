"""A worker that a session holds: the claim, kept alive in the background, and the connection to the worker."""

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mooring.client.aio import AsyncClaim, AsyncMooring
from mooring.client.errors import LeaseLost, LossCause
from mooring.model.errors import MooringError
from mooring_postgres_gateway.directory import Database
from mooring_postgres_gateway.failures import (
    CONNECTION_FAILURE,
    REFUSED,
    WORKER_LOST,
    SessionError,
    classify_claim_failure,
)
from mooring_postgres_gateway.proof import HeldWorker
from mooring_postgres_gateway.repetition import Loss
from mooring_postgres_gateway.streams import Gone, MessageStream
from mooring_postgres_gateway.unit import is_refusal
from mooring_postgres_gateway.wire.bodies import TERMINATE, parse_error, parse_key_data
from mooring_postgres_gateway.wire.frames import Message, ProtocolViolation
from mooring_postgres_gateway.wire.startup import CancelRequest, Startup, encode_packet

_CONNECT_SECONDS = 10.0
_MOST_TRIES = 3
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))


class WorkerRefused(Exception):
    """The claimed worker cannot be used: another one may be."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Where workers are claimed, and the key that proves to them who holds them."""

    mooring: AsyncMooring
    key: Ed25519PrivateKey


class WorkerLink:
    """One claim and one connection, from `open` to `close`."""

    def __init__(self, claims: Claims, database: Database, parameters: Mapping[str, str]) -> None:
        self._claims = claims
        self._database = database
        self._parameters = parameters
        self._released = asyncio.Event()
        self._opened: asyncio.Future[MessageStream] = asyncio.get_running_loop().create_future()
        self._lost: LeaseLost | None = None
        self._cancel_key = (0, 0)
        self.address = ""
        self.worker = ""
        self._holding = asyncio.create_task(self._hold())

    async def open(self) -> MessageStream:
        """Wait for a worker, and connect to it. Cancelled, it gives up the place in the queue."""
        try:
            return await asyncio.shield(self._opened)
        except asyncio.CancelledError:
            self._holding.cancel()
            raise

    async def close(self) -> None:
        """Give the worker back."""
        self._released.set()
        if not self._opened.done() or self._opened.cancelled():
            self._holding.cancel()
        await asyncio.wait({self._holding})

    def describe_loss(self) -> Loss:
        """Why the worker is gone."""
        if self._lost is None:
            return Loss(f"the connection to worker {self.worker} broke")
        return Loss(self._lost.message, revoked=self._lost.cause is LossCause.REVOKED)

    async def cancel(self) -> None:
        """Ask the worker to stop its statement. One that cannot be reached has stopped, or is about to be lost."""
        with contextlib.suppress(OSError):
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(self.address, self._database.worker_port)
                writer.write(encode_packet(CancelRequest(*self._cancel_key)))
                await writer.drain()
                writer.close()

    async def _hold(self) -> None:
        stream: MessageStream | None = None
        database = self._database
        try:
            async with self._claims.mooring.claim(
                database.pool, owner=database.owner, ttl=database.ttl_seconds, wait=database.wait_seconds
            ) as claim:
                stream = await self._connect(claim)
                self._settle(stream)
                await self._released.wait()
                with contextlib.suppress(Gone):
                    await stream.send(TERMINATE)
        except LeaseLost as lost:
            self._lost = lost
            self._settle(WorkerRefused(lost.message))
        except MooringError as error:
            self._settle(classify_claim_failure(error, database.pool))
        except (OSError, Gone, ProtocolViolation) as error:
            self._settle(WorkerRefused(f"worker {self.worker} at {self.address}: {error or 'no answer'}"))
        except (SessionError, WorkerRefused) as error:
            self._settle(error)
        finally:
            self._settle(WorkerRefused("the wait for a worker was given up"))
            if stream is not None:
                await stream.close()

    def _settle(self, outcome: MessageStream | Exception) -> None:
        if self._opened.done():
            return
        if isinstance(outcome, MessageStream):
            self._opened.set_result(outcome)
        else:
            self._opened.set_exception(outcome)
            self._opened.exception()  # marks it as seen: the session may have given up

    async def _connect(self, claim: AsyncClaim) -> MessageStream:
        self.worker, self.address = claim.worker.name, claim.worker.address
        held = HeldWorker(claim.id, claim.epoch, claim.worker.uid)
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(self.address, self._database.worker_port)
            _keep_alive(writer)
            stream = MessageStream(reader, writer)
            try:
                parameters = {**self._parameters, **held.sign(self._claims.key)}
                writer.write(encode_packet(Startup(parameters)))
                while (message := await stream.read()).kind != b"Z":
                    self._greet(message)
            except BaseException:
                await stream.close()
                raise
        return stream

    def _greet(self, message: Message) -> None:
        if message.kind == b"K":
            self._cancel_key = parse_key_data(message.body)
        elif message.kind == b"E":
            if is_refusal(message, REFUSED):
                raise WorkerRefused(f"worker {self.worker} drains")
            text = parse_error(message.body).get("M", "")
            raise SessionError(CONNECTION_FAILURE, f"worker {self.worker} refused the connection: {text}")


async def open_link(
    claims: Claims, database: Database, parameters: Mapping[str, str]
) -> tuple[WorkerLink, MessageStream]:
    """A connected worker. One that cannot be reached is given back, and another is claimed."""
    reason = ""
    for _ in range(_MOST_TRIES):
        link = WorkerLink(claims, database, parameters)
        try:
            return link, await link.open()
        except WorkerRefused as refused:
            reason = str(refused)
            await link.close()
    raise SessionError(WORKER_LOST, f"no worker could be used: {reason}", hint="run the statement again")


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Notice a worker whose node is gone, even while nothing is sent."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
