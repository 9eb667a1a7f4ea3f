"""One session of a client: forwards its exchanges to a worker that it holds only as long as it needs one."""

import asyncio
import contextlib
from dataclasses import dataclass, replace

from mooring_postgres_gateway.answers import Answers
from mooring_postgres_gateway.background import Background
from mooring_postgres_gateway.events import Drain, Event, Ready, Signal, Silence
from mooring_postgres_gateway.failures import (
    CANCELLED,
    CONNECTION_FAILURE,
    IDLE_IN_TRANSACTION,
    IDLE_SESSION,
    LIMIT_EXCEEDED,
    PROTOCOL_VIOLATION,
    WORKER_LOST,
    SessionError,
)
from mooring_postgres_gateway.handshake import Login
from mooring_postgres_gateway.link import Claims, WorkerLink, open_link
from mooring_postgres_gateway.repetition import (
    Fail,
    Loss,
    Transaction,
    compute_transaction,
    plan_after_loss,
    plan_idle_loss,
)
from mooring_postgres_gateway.state import SessionState
from mooring_postgres_gateway.streams import Gone, MessageStream
from mooring_postgres_gateway.unit import Unit
from mooring_postgres_gateway.wire import bodies
from mooring_postgres_gateway.wire.bodies import FAILED, IDLE, IN_TRANSACTION
from mooring_postgres_gateway.wire.frames import Message, ProtocolViolation
from mooring_postgres_gateway.worker_parameters import TRANSACTION

_MOST_STATEMENTS, _MOST_STATEMENT_BYTES = 1000, 16 * 1024 * 1024
_PASSING = (b"H", b"d", b"c", b"f")


class Ended(Exception):
    """The session is over."""


@dataclass(slots=True)
class Held:
    """The worker of the session, and the task that forwards its answers."""

    link: WorkerLink
    stream: MessageStream
    forwarding: "asyncio.Task[None]"


class Session:
    """From the login to the end of the connection."""

    def __init__(self, login: Login, claims: Claims, draining: asyncio.Event, background: Background) -> None:
        self._client = login.stream
        self._login = login
        self._claims = claims
        self._draining = draining
        self._background = background
        self._state = SessionState()
        self._transaction = Transaction()
        self._unit: Unit | None = None
        self._held: Held | None = None
        self._opening: asyncio.Task[tuple[WorkerLink, MessageStream]] | None = None
        self._discarding = False  # after an error, until Sync
        self._lost_idle: Loss | None = None  # the worker of an open transaction was lost between two statements
        self._signals: asyncio.Queue[Signal] = asyncio.Queue()
        self._reading: asyncio.Task[Message] | None = None

    @property
    def working(self) -> bool:
        """Whether a statement or a transaction is unfinished."""
        return self._unit is not None or self._transaction.status != IDLE

    async def run(self) -> None:
        """Until the client leaves, or a fatal error."""
        try:
            while True:
                await self._handle(await self._next())
        except (Ended, Gone):
            return
        except ProtocolViolation as violation:
            await self._say(SessionError(PROTOCOL_VIOLATION, str(violation), fatal=True))
        finally:
            if self._reading is not None:
                self._reading.cancel()
            await self._let_go()

    def cancel(self) -> None:
        """A CancelRequest: what runs now stops, and is not repeated."""
        if self._unit is None:
            return
        self._unit.cancelled = True
        if self._opening is not None:
            self._opening.cancel()
        elif self._held is not None:
            self._background.start(self._held.link.cancel())

    async def _next(self) -> Event:
        """What happens next. Signals of the worker come before messages of the client."""
        if not self._signals.empty():
            return self._signals.get_nowait()
        unit = self._unit
        listens = unit is None or not unit.closed or unit.copying
        if listens and self._reading is None:
            self._reading = asyncio.create_task(self._client.read())
        signal = asyncio.create_task(self._signals.get())
        gone = asyncio.create_task(self._client.gone.wait())
        draining = asyncio.create_task(self._draining.wait())
        waiting: set[asyncio.Task[object]] = {signal, draining if not self.working else gone}
        if listens and self._reading is not None:
            waiting.add(self._reading)
        try:
            await asyncio.wait(waiting, timeout=self._patience(listens), return_when=asyncio.FIRST_COMPLETED)
            if signal.done():
                return signal.result()
            if listens and self._reading is not None and self._reading.done():
                reading, self._reading = self._reading, None
                return reading.result()
            if gone.done() and not listens:
                raise Gone
            return Drain() if draining.done() and not self.working else Silence()
        finally:
            for task in (signal, gone, draining):
                task.cancel()

    def _patience(self, listens: bool) -> float | None:
        """How long the client may be silent; None while it waits for us, or holds nothing."""
        database = self._login.database
        if not listens or (self._held is None and self._transaction.status == IDLE and self._unit is None):
            return None
        if self.working:
            return database.transaction_idle_seconds
        return database.state_idle_seconds if self._state.pinned else database.idle_seconds

    async def _handle(self, event: Event) -> None:
        if isinstance(event, Message):
            await self._take(event)
        elif isinstance(event, Ready):
            self._finish(event.status)
        elif isinstance(event, Loss):
            await self._lose(event)
        elif isinstance(event, Silence):
            await self._end_silence()
        elif isinstance(event, Drain):
            await self._say(SessionError(WORKER_LOST, "the gateway shuts down", hint="connect again", fatal=True))
            raise Ended

    async def _end_silence(self) -> None:
        if self.working:
            error = SessionError(
                IDLE_IN_TRANSACTION, "the session was silent for too long in a transaction", fatal=True
            )
        elif self._state.pinned:
            error = SessionError(IDLE_SESSION, "the session was silent for too long", hint="connect again", fatal=True)
        else:
            await self._let_go()
            return
        await self._say(error)
        raise Ended

    async def _take(self, message: Message) -> None:
        """A message of the client."""
        kind = message.kind
        if kind == b"X":
            raise Ended
        if self._discarding:
            if kind == b"S":
                self._discarding = False
                await self._client.send(bodies.ready(self._transaction.status))
            return
        unit = self._unit
        if unit is not None and unit.copying:
            await self._pass_copy(unit, message)
            return
        if unit is None and kind in _PASSING:
            return  # a Flush with nothing to flush, or rows of a COPY that has failed
        if unit is None:
            unit = self._unit = Unit(self._state.prepared)
        if kind not in b"QPBDECSH":
            raise ProtocolViolation(f"message {kind!r} is not expected")
        unit.take(message)
        if kind == b"P" and self._state.holds_more_than(_MOST_STATEMENTS, _MOST_STATEMENT_BYTES):
            hint = "close statements that are not used any more"
            await self._fail(unit, SessionError(LIMIT_EXCEEDED, "too many prepared statements", hint=hint), None)
        elif unit.flushing or not unit.kept:
            await self._forward(unit)

    async def _pass_copy(self, unit: Unit, message: Message) -> None:
        if message.kind == b"c":
            unit.copied = True
        if message.kind in (b"c", b"f"):
            unit.copying = False
        if self._held is not None:
            with contextlib.suppress(Gone):  # the loss is reported by the task that reads
                await self._held.stream.send(message)

    async def _forward(self, unit: Unit) -> None:
        """Send what was collected to a worker, which is claimed now if there is none."""
        if self._held is None:
            if self._lost_idle is not None:
                loss, self._lost_idle = self._lost_idle, None
                await self._decide(unit, loss)
                return
            if self._answers_itself(unit):
                await self._client.send_all(_own_answers(unit, self._transaction.status))
                self._finish(self._transaction.status)
                return
            unit.sent = 0
            if not await self._attach(unit):
                return
        assert self._held is not None, "it was attached"
        pending, unit.sent = unit.messages[unit.sent :], len(unit.messages)
        unit.begun = True
        if not unit.kept:
            unit.messages, unit.sent = unit.messages[:1], 1  # too large to be repeated, so it is not stored
        with contextlib.suppress(Gone):  # the loss is reported by the task that reads
            await self._held.stream.send_all(pending)

    def _answers_itself(self, unit: Unit) -> bool:
        """Whether it needs no worker: an empty query, or nothing but Sync."""
        return unit.closed and not unit.natures and all(message.kind in b"QS" for message in unit.messages)

    async def _attach(self, unit: Unit) -> bool:
        """Claim a worker and bring it to the state of the session; False if the client got an error instead."""
        parameters = {name: self._login.parameters.get(name, "") for name in ("application_name",)}
        parameters |= {"user": self._login.user, "database": self._login.name, **self._login.settings}
        if self._transaction.status == FAILED:
            parameters[TRANSACTION] = "failed"
        opening = self._opening = asyncio.create_task(open_link(self._claims, self._login.database, parameters))
        gone = asyncio.create_task(self._client.gone.wait())
        try:
            await asyncio.wait({opening, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not opening.done():
                raise Gone
            link, stream = opening.result()
        except asyncio.CancelledError:
            if not unit.cancelled:
                raise
            await self._fail(unit, SessionError(CANCELLED, "canceling statement due to user request"), None)
            return False
        except SessionError as error:
            await self._fail(unit, error, None)
            return False
        finally:
            self._opening = None
            gone.cancel()
            if not opening.done():
                opening.cancel()
        try:
            await self._state.restore(stream, self._transaction)
        except Gone:
            self._background.start(link.close())
            await self._decide(unit, replace(link.describe_loss(), refused=True))
            return False
        except (ProtocolViolation, SessionError) as error:
            self._background.start(link.close())
            message = f"worker {link.worker} could not take over the session: {error}"
            await self._fail(unit, SessionError(CONNECTION_FAILURE, message, hint="run the statement again"), None)
            return False
        forwarding = asyncio.create_task(
            Answers(self._client, self._signals, lambda: self._unit).forward(link, stream, list(unit.delivered))
        )
        self._held = Held(link, stream, forwarding)
        return True

    def _finish(self, status: bytes) -> None:
        """The exchange has ended."""
        unit, self._unit = self._unit, None
        if unit is None:
            return
        in_transaction = self._transaction.status == IN_TRANSACTION or status != IDLE
        self._transaction = compute_transaction(self._transaction, unit, status)
        self._state.learn(unit, status, in_transaction=in_transaction)

    async def _lose(self, loss: Loss) -> None:
        """The worker is lost."""
        await self._let_go()
        unit = self._unit
        if unit is not None and unit.sent:
            await self._decide(unit, loss)
            return
        if (error := plan_idle_loss(loss, pinned=self._state.pinned)) is not None:
            await self._say(error)
            raise Ended
        if not self._transaction.fresh and self._transaction.status == IN_TRANSACTION:
            self._lost_idle = Loss(loss.reason, refused=True)

    async def _decide(self, unit: Unit, loss: Loss) -> None:
        decision = plan_after_loss(unit, self._transaction, loss, pinned=self._state.pinned)
        if isinstance(decision, Fail):
            await self._fail(unit, decision.error, decision.status)
            return
        unit.attempts += 1
        unit.forget_progress()
        self._transaction = decision.transaction
        await self._forward(unit)

    async def _fail(self, unit: Unit, error: SessionError, status: bytes | None) -> None:
        """Report an error; the client's next exchange begins after Sync. Without a status, a transaction fails."""
        self._unit = None
        if status is None:
            status = IDLE if self._transaction.status == IDLE else FAILED
        self._transaction = Transaction(status)
        self._discarding = not unit.closed and not unit.simple
        await self._client.send(error.encode())
        if error.fatal:
            raise Ended
        if not self._discarding:
            await self._client.send(bodies.ready(status))

    async def _let_go(self) -> None:
        """Give the worker back; what its end takes is done in the background."""
        held, self._held = self._held, None
        if held is not None:
            held.forwarding.cancel()
            self._background.start(held.link.close())

    async def _say(self, error: SessionError) -> None:
        with contextlib.suppress(Gone):
            await self._client.send(error.encode())


def _own_answers(unit: Unit, status: bytes) -> list[Message]:
    return [*([bodies.EMPTY_QUERY] if unit.simple else []), bodies.ready(status)]
