"""Forwards what a worker answers to the client, and reports to the session what that means."""

import asyncio
from collections.abc import Callable

from mooring_postgres_gateway.events import Copying, Ready, Signal
from mooring_postgres_gateway.failures import REFUSED
from mooring_postgres_gateway.link import WorkerLink
from mooring_postgres_gateway.repetition import Loss
from mooring_postgres_gateway.streams import Gone, MessageStream
from mooring_postgres_gateway.unit import Unit, is_refusal
from mooring_postgres_gateway.wire.frames import Message, ProtocolViolation


class _Refusal(Exception):
    pass


class _OtherAnswer(Exception):
    pass


class Answers:
    """The way from a worker to the client of a session."""

    def __init__(
        self, client: MessageStream, signals: "asyncio.Queue[Signal]", unit: Callable[[], Unit | None]
    ) -> None:
        self._client = client
        self._signals = signals
        self._unit = unit

    async def forward(self, link: WorkerLink, stream: MessageStream, repeated: list[bytes]) -> None:
        """Until the worker is lost. Answers that the client got before a repetition are left out."""
        try:
            while True:
                await self._forward(await stream.read_some(), repeated)
        except Gone:
            self._signals.put_nowait(link.describe_loss())
        except ProtocolViolation as violation:
            self._signals.put_nowait(Loss(f"worker {link.worker} does not speak the protocol: {violation}"))
        except _Refusal:
            self._signals.put_nowait(Loss(f"worker {link.worker} drains", refused=True))
        except _OtherAnswer:
            self._signals.put_nowait(Loss("the repeated statement was answered differently"))

    async def _forward(self, messages: list[Message], repeated: list[bytes]) -> None:
        outgoing: list[Message] = []
        signals: list[Signal] = []
        end: Exception | None = None
        unit = self._unit()
        for message in messages:
            if is_refusal(message, REFUSED):
                end = _Refusal()  # what came before it answers an exchange that has ended
                break
            if repeated and message.kind not in (b"S", b"N"):
                if message.kind != repeated.pop(0):
                    end = _OtherAnswer()
                    break
                continue
            if unit is not None:
                unit.answer(message)
            outgoing.append(message)
            if message.kind == b"Z":
                signals.append(Ready(message.body))
            elif message.kind == b"G":
                signals.append(Copying())
        await self._client.send_all(outgoing)
        for signal in signals:
            self._signals.put_nowait(signal)
        if end is not None:
            raise end
