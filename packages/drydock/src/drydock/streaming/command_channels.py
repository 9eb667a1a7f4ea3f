"""The streams of a command as channels of a WebSocket: the first byte of each message says which."""

from drydock.streaming.carrier import Carrier, Idleness
from drydock.streaming.inflow import Inflow
from drydock.streaming.remote_command import CommandOptions

_STDIN, _STDOUT, _STDERR, _STATUS, _RESIZE = range(5)
_CLOSE = 255  # followed by the channel that the client closes; only version 5 has it


class CommandChannels:
    """See `CommandStreams`."""

    def __init__(self, carrier: Carrier, idleness: Idleness, options: CommandOptions) -> None:
        self._carrier = carrier
        self._idleness = idleness
        self._options = options
        self._input = Inflow()
        self._sizes = Inflow()
        if not options.stdin:
            self._input.stop()
        if not options.tty:
            self._sizes.stop()

    async def listen(self) -> None:
        while message := await self._carrier.read():
            self._idleness.touch()
            match message[0]:
                case 0:
                    await self._input.put(message[1:])
                case 4:
                    await self._sizes.put(message[1:])
                case 255 if message[1:2] == bytes([_STDIN]):
                    self._input.end()

    async def opened(self) -> None:
        """An empty message shows the client that the server is there."""
        options = self._options
        channel = _STDOUT if options.stdout else _STDERR if options.stderr else _STATUS
        await self._send(channel, b"")

    async def read_input(self) -> bytes:
        return await self._input.get()

    async def read_sizes(self) -> bytes:
        return await self._sizes.get()

    async def write_output(self, data: bytes) -> None:
        if self._options.stdout:
            await self._send(_STDOUT, data)

    async def write_error(self, data: bytes) -> None:
        if self._options.stderr:
            await self._send(_STDERR, data)

    async def finish(self, status: bytes) -> None:
        self._input.stop()
        await self._send(_STATUS, status)

    async def _send(self, channel: int, data: bytes) -> None:
        self._idleness.touch()
        await self._carrier.write(bytes([channel]) + data)
