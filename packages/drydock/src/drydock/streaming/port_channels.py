"""port-forward as channels of a WebSocket, two a port: data, and a word about what went wrong.

The official Python client speaks it. Each port has one connection to the pod, opened at once.
"""

import asyncio
import struct
from collections.abc import Sequence

from drydock.streaming.carrier import Carrier, Idleness
from drydock.streaming.conversation import until_all, until_first
from drydock.streaming.inflow import Inflow
from drydock.streaming.port_forward import Dial, forwarding_error
from drydock.streaming.remote_command import IDLE_SECONDS
from hawser.clock import Clock

_PIECE_BYTES = 1 << 16


class PortChannels:
    """One conversation. `dial` opens a connection to a port of the pod, or raises `OSError`."""

    def __init__(self, ports: Sequence[int], dial: Dial, clock: Clock) -> None:
        self._ports = ports
        self._dial = dial
        self._idleness = Idleness(clock, IDLE_SECONDS)
        self._inflows = [Inflow() for _ in ports]

    async def serve(self, carrier: Carrier) -> None:
        """Until the client has gone, or every connection to the pod has ended."""
        for number, port in enumerate(self._ports):
            for channel in (2 * number, 2 * number + 1):
                await carrier.write(bytes([channel]) + struct.pack("<H", port))
        joined = until_all(*(self._join(carrier, number, port) for number, port in enumerate(self._ports)))
        await until_first(self._listen(carrier), joined, self._idleness.wait())

    async def _listen(self, carrier: Carrier) -> None:
        while message := await carrier.read():
            self._idleness.touch()
            number, is_error = divmod(message[0], 2)
            if number < len(self._inflows) and not is_error:
                await self._inflows[number].put(message[1:])

    async def _join(self, carrier: Carrier, number: int, port: int) -> None:
        try:
            reader, writer = await self._dial(port)
        except OSError as failure:
            await carrier.write(bytes([2 * number + 1]) + forwarding_error(port, failure))
            return
        try:
            await until_first(self._to_pod(number, writer), self._from_pod(reader, carrier, number))
        except ConnectionResetError:
            pass  # the pod has broken off
        finally:
            self._inflows[number].stop()
            writer.close()

    async def _to_pod(self, number: int, writer: asyncio.StreamWriter) -> None:
        while piece := await self._inflows[number].get():
            writer.write(piece)
            await writer.drain()

    async def _from_pod(self, reader: asyncio.StreamReader, carrier: Carrier, number: int) -> None:
        while piece := await reader.read(_PIECE_BYTES):
            self._idleness.touch()
            await carrier.write(bytes([2 * number]) + piece)
