"""The gateway's port: receives clients, limits them, cancels for them, and drains."""

import asyncio
import contextlib
import logging
import ssl
from dataclasses import dataclass

from hawser.clock import Entropy
from mooring_postgres_gateway.anteroom import Anteroom
from mooring_postgres_gateway.background import Background
from mooring_postgres_gateway.failures import INTERNAL, PROTOCOL_VIOLATION, TOO_MANY_SESSIONS, SessionError
from mooring_postgres_gateway.handshake import Handshake, Login, same_secret, startup_stream
from mooring_postgres_gateway.link import Claims
from mooring_postgres_gateway.session import Session
from mooring_postgres_gateway.settings import REPORTED
from mooring_postgres_gateway.streams import Gone, MessageStream
from mooring_postgres_gateway.wire import bodies
from mooring_postgres_gateway.wire.bodies import IDLE
from mooring_postgres_gateway.wire.frames import Message, ProtocolViolation
from mooring_postgres_gateway.wire.startup import CancelRequest

log = logging.getLogger("mooring.postgres_gateway")


@dataclass(frozen=True, slots=True)
class GatewayLimits:
    """Connections at a time, of those how many before their password is checked, and seconds until it must be.

    Addresses share the connections before the check fairly: one that opens many keeps no other out.
    """

    connections: int = 10_000
    starting: int = 500
    startup_seconds: float = 30.0


class Gateway:
    """Serves until `drain`."""

    def __init__(
        self, handshake: Handshake, claims: Claims, entropy: Entropy, limits: GatewayLimits = GatewayLimits()
    ) -> None:
        self._handshake = handshake
        self._claims = claims
        self._entropy = entropy
        self._limits = limits
        self._background = Background()
        self._draining = asyncio.Event()
        self._sessions: dict[int, tuple[int, Session]] = {}
        self._by_database: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._anteroom = Anteroom(limits.starting)
        self._server: asyncio.Server | None = None

    @property
    def sessions(self) -> int:
        """Clients that are logged in."""
        return len(self._sessions)

    async def listen(self, address: str, port: int) -> int:
        """Accept connections; returns the port."""
        self._server = await asyncio.start_server(self._accept, address, port, backlog=1024)
        return int(self._server.sockets[0].getsockname()[1])

    async def drain(self, seconds: float) -> None:
        """Accept nothing more, let statements and transactions end for so long, then close what is left."""
        if self._server is not None:
            self._server.close()
        self._draining.set()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._background.settle(10.0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer, task)
        except (Gone, OSError, ssl.SSLError, asyncio.CancelledError):
            pass  # the client left, had to make room, or the gateway has drained long enough
        except Exception:
            log.exception("a session failed")
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        host = str((writer.get_extra_info("peername") or ("",))[0])
        if not self._anteroom.enter(host, task):
            return
        login: Login | None = None
        stream: MessageStream | None = None
        try:
            async with asyncio.timeout(self._limits.startup_seconds):
                packet = await self._handshake.packet(reader, writer)
                if isinstance(packet, CancelRequest):
                    self._cancel(packet)
                    return
                stream = startup_stream(reader, writer)
                self._check_room()
                login = await self._handshake.login(packet, stream)
        except (SessionError, ProtocolViolation) as error:
            await _refuse(stream or startup_stream(reader, writer), error)
            return
        finally:
            self._anteroom.leave(host, task)
            if login is None and stream is not None and not stream.gone.is_set():
                await stream.close()
        try:
            await self._converse(login)
        finally:
            await login.stream.close()

    def _check_room(self) -> None:
        if len(self._sessions) >= self._limits.connections:
            raise SessionError(TOO_MANY_SESSIONS, "the gateway has too many connections", fatal=True)
        if self._draining.is_set():
            raise SessionError("57P03", "the gateway shuts down", fatal=True)

    async def _converse(self, login: Login) -> None:
        """The session of a client, counted against the limit of its database."""
        count = self._by_database.get(login.name, 0)
        if count >= login.database.max_sessions:
            message = f'database "{login.name}" has {count} sessions; at most {login.database.max_sessions} are allowed'
            with contextlib.suppress(Gone):
                await login.stream.send(SessionError(TOO_MANY_SESSIONS, message, fatal=True).encode())
            return
        process, secret = self._free_process(), self._entropy.below(1 << 32)
        session = Session(login, self._claims, self._draining, self._background)
        self._sessions[process] = (secret, session)
        self._by_database[login.name] = count + 1
        try:
            await login.stream.send_all(_greeting(login, process, secret))
            await session.run()
        except asyncio.CancelledError:
            raise
        except Exception:
            with contextlib.suppress(Gone):
                await login.stream.send(SessionError(INTERNAL, "the gateway failed", fatal=True).encode())
            raise
        finally:
            del self._sessions[process]
            self._by_database[login.name] -= 1

    def _free_process(self) -> int:
        while (process := self._entropy.below((1 << 31) - 1) + 1) in self._sessions:
            pass
        return process

    def _cancel(self, request: CancelRequest) -> None:
        secret, session = self._sessions.get(request.process, (0, None))
        if session is not None and same_secret(request.secret, secret):
            session.cancel()


async def _refuse(stream: MessageStream, error: SessionError | ProtocolViolation) -> None:
    if isinstance(error, ProtocolViolation):
        error = SessionError(PROTOCOL_VIOLATION, str(error), fatal=True)
    with contextlib.suppress(Gone):
        await stream.send(error.encode())
    await stream.close()


def _greeting(login: Login, process: int, secret: int) -> list[Message]:
    reported = {**REPORTED, "session_authorization": login.user}
    reported["application_name"] = login.parameters.get("application_name", "")
    settings = [bodies.parameter_status(name, value) for name, value in reported.items()]
    return [*settings, bodies.key_data(process, secret), bodies.ready(IDLE)]
