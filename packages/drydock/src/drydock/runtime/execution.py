"""A command that runs beside a container's own process, with its standard streams in our hands."""

import asyncio
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable

from drydock.processes.descriptors import Descriptor
from drydock.processes.supervisor import Attachment, Process
from drydock.streaming.remote_command import TerminalSize

_END_OF_INPUT = b"\x04"  # to a terminal
_DRAIN_SECONDS = 1.0  # for what is still in the pipes of a command that has ended


class StandardStreams:
    """Pipes, or a terminal: its ends for the command until `release`, the others for us until `close`."""

    def __init__(self, *, stdin: bool, terminal: bool) -> None:
        self._terminal = terminal
        self._has_input = stdin
        if terminal:
            master, slave = os.openpty()
            inner = (slave, slave, slave)
            self.output = Descriptor(master)
            self.input: Descriptor | None = self.output
            self.error: Descriptor | None = None
        else:
            outer_out, inner_out = os.pipe()
            outer_err, inner_err = os.pipe()
            inner_in, outer_in = os.pipe() if stdin else (os.open(os.devnull, os.O_RDONLY), -1)
            inner = (inner_in, inner_out, inner_err)
            self.output, self.error = Descriptor(outer_out), Descriptor(outer_err)
            self.input = Descriptor(outer_in) if stdin else None
        self.attachment = Attachment(inner, terminal)

    def release(self) -> None:
        """The command has its ends; ours would keep its output from ever ending."""
        for number in set(self.attachment.descriptors):
            os.close(number)

    def close(self) -> None:
        for descriptor in (self.input, self.output, self.error):
            if descriptor:
                descriptor.close()

    async def end_input(self) -> None:
        """The command reads to the end of what was written."""
        if not self._has_input or self.input is None:
            return
        if self._terminal:
            await self.input.write(_END_OF_INPUT)
        else:
            self.input.close()

    def resize(self, size: TerminalSize) -> None:
        if self._terminal:
            fcntl.ioctl(self.output.number, termios.TIOCSWINSZ, struct.pack("HHHH", size.height, size.width, 0, 0))


class ProcessExecution:
    """See `Execution`."""

    def __init__(
        self, process: Process, streams: StandardStreams, on_end: Callable[["ProcessExecution"], object]
    ) -> None:
        self._process = process
        self._streams = streams
        self._on_end = on_end

    async def read_output(self) -> bytes:
        return await self._read(self._streams.output)

    async def read_error(self) -> bytes:
        return await self._read(self._streams.error) if self._streams.error else b""

    async def write_input(self, data: bytes) -> None:
        if self._streams.input:
            await self._streams.input.write(data)

    async def close_input(self) -> None:
        await self._streams.end_input()

    def resize(self, size: TerminalSize) -> None:
        self._streams.resize(size)

    async def wait(self) -> int:
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    def kill(self) -> None:
        """End it, with everything it has started."""
        self._process.signal(signal.SIGKILL)

    async def end(self) -> None:
        self.kill()
        self._streams.close()
        self._on_end(self)
        await self._process.wait()

    async def _read(self, descriptor: Descriptor) -> bytes:
        """Also the end of a command ends its output, should something it left behind hold the pipe."""
        reading = asyncio.ensure_future(descriptor.read())
        ending = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait((reading,), timeout=_DRAIN_SECONDS)
            return reading.result() if reading.done() else b""
        finally:
            reading.cancel()
            ending.cancel()
            await asyncio.gather(reading, ending, return_exceptions=True)
