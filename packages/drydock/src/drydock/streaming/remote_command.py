"""exec: a client's streams joined to a command that runs; over WebSocket channels or SPDY streams."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from drydock.streaming.carrier import Carrier, Idleness
from drydock.streaming.conversation import until_first
from drydock.streaming.upgrade import SPDY, WEBSOCKET
from hawser.clock import Clock
from hawser.errors import HawserError

V4 = "v4.channel.k8s.io"
V5 = "v5.channel.k8s.io"  # the same, and a client can close its input
SPOKEN = {WEBSOCKET: (V5, V4), SPDY: (V4,)}
IDLE_SECONDS = 4 * 3600.0  # as a kubelet's streamingConnectionIdleTimeout


class CommandFailed(HawserError):
    """A command could not be started."""

    code = "command_failed"


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """Which streams are wanted. A terminal has one output for both."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


@dataclass(frozen=True, slots=True)
class TerminalSize:
    """In characters."""

    width: int
    height: int


class Execution(Protocol):
    """A command that runs."""

    async def read_output(self) -> bytes:
        """What it has written to its standard output; empty at the end, which comes soon after its exit."""
        ...

    async def read_error(self) -> bytes:
        """The same of its standard error; empty at once for a terminal."""
        ...

    async def write_input(self, data: bytes) -> None:
        """Returns when it reads on. Raises `BrokenPipeError` when it does not read any more."""
        ...

    async def close_input(self) -> None:
        """Let it read to the end of its input."""
        ...

    def resize(self, size: TerminalSize) -> None: ...

    async def wait(self) -> int:
        """Its exit code; 128 + signal when one killed it."""
        ...

    async def end(self) -> None:
        """Kill it if it still runs, and let go of everything."""
        ...


class CommandStreams(Protocol):
    """The client's side."""

    async def listen(self) -> None:
        """Take in what the client sends, until it has gone."""
        ...

    async def opened(self) -> None:
        """Returns when the streams are there and can be used; raises `ConnectionError` when they never are."""
        ...

    async def read_input(self) -> bytes:
        """What is for the command's input; empty at the end."""
        ...

    async def read_sizes(self) -> bytes:
        """JSON, one object for each new size of the terminal; empty at the end."""
        ...

    async def write_output(self, data: bytes) -> None: ...

    async def write_error(self, data: bytes) -> None: ...

    async def finish(self, status: bytes) -> None:
        """The last word: a metav1.Status."""
        ...


Start = Callable[[], Awaitable[Execution]]
MakeStreams = Callable[[Carrier, Idleness], CommandStreams]


async def serve_command(carrier: Carrier, make_streams: MakeStreams, start: Start, clock: Clock) -> None:
    """One conversation: start the command, join the streams, report how it ended. The command ends with the client."""
    idleness = Idleness(clock, IDLE_SECONDS)
    streams = make_streams(carrier, idleness)
    await until_first(streams.listen(), _run(streams, start), idleness.wait())


async def _run(streams: CommandStreams, start: Start) -> None:
    await streams.opened()
    try:
        execution = await start()
    except CommandFailed as failure:
        await streams.finish(_internal_error(failure.message))
        return
    try:
        code = await _join(streams, execution)
    finally:
        await execution.end()
    await streams.finish(exit_status(code))


async def _join(streams: CommandStreams, execution: Execution) -> int:
    inward = [
        asyncio.create_task(_feed_input(streams, execution)),
        asyncio.create_task(_follow_sizes(streams, execution)),
    ]
    outward = [
        asyncio.create_task(_pump(execution.read_output, streams.write_output)),
        asyncio.create_task(_pump(execution.read_error, streams.write_error)),
    ]
    try:
        code = await execution.wait()
        await asyncio.gather(*outward)
        return code
    finally:
        for task in (*inward, *outward):
            task.cancel()
        await asyncio.gather(*inward, *outward, return_exceptions=True)


async def _pump(read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], Awaitable[None]]) -> None:
    while data := await read():
        await write(data)


async def _feed_input(streams: CommandStreams, execution: Execution) -> None:
    try:
        await _pump(streams.read_input, execution.write_input)
        await execution.close_input()
    except BrokenPipeError:
        pass  # it does not read its input, or not to its end


async def _follow_sizes(streams: CommandStreams, execution: Execution) -> None:
    decoder, text = json.JSONDecoder(), ""
    while data := await streams.read_sizes():
        text += data.decode("utf-8", "replace")
        while text := text.lstrip():
            try:
                found, end = decoder.raw_decode(text)
            except ValueError:
                break  # the rest is still to come
            text = text[end:]
            if size := _size(found):
                execution.resize(size)


def _size(found: Any) -> TerminalSize | None:
    if not isinstance(found, dict):
        return None
    width, height = found.get("Width"), found.get("Height")
    if isinstance(width, int) and isinstance(height, int) and 0 < width < 1 << 16 and 0 < height < 1 << 16:
        return TerminalSize(width, height)
    return None


def exit_status(code: int) -> bytes:
    """How a command ended, as a metav1.Status."""
    if code == 0:
        return json.dumps({"metadata": {}, "status": "Success"}).encode()
    status = {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
    return json.dumps(status).encode()


def _internal_error(why: str) -> bytes:
    message = f"Internal error occurred: error executing command in container: {why}"
    details = {"causes": [{"message": message.removeprefix("Internal error occurred: ")}]}
    status = {"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError", "code": 500}
    return json.dumps({**status, "details": details}).encode()
