"""A command joined to a client: over channels of a WebSocket and over streams of SPDY."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drydock.streaming.carrier import Carrier, Idleness
from drydock.streaming.command_channels import CommandChannels
from drydock.streaming.command_spdy import CommandSpdy
from drydock.streaming.inflow import Inflow
from drydock.streaming.remote_command import (
    IDLE_SECONDS,
    CommandFailed,
    CommandOptions,
    CommandStreams,
    TerminalSize,
    serve_command,
)
from drydock.streaming.spdy_frames import Data, GoAway, Ping, Reset, SynReply
from drydock.virtual.loop import VirtualLoop
from packages.drydock.tests.streaming.memory import MemoryCarrier, SpdyClient

Make = Callable[[Carrier, Idleness, CommandOptions], CommandStreams]
ALL = CommandOptions(stdin=True, stdout=True, stderr=True)
TERMINAL = CommandOptions(stdin=True, stdout=True, tty=True)


class FakeExecution:
    """A command that does what the test says."""

    def __init__(self) -> None:
        self.output, self.error = Inflow(), Inflow()
        self.taken: list[bytes] = []
        self.input_closed = asyncio.Event()
        self.sizes: list[TerminalSize] = []
        self.ended = False
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def read_output(self) -> bytes:
        return await self.output.get()

    async def read_error(self) -> bytes:
        return await self.error.get()

    async def write_input(self, data: bytes) -> None:
        self.taken.append(data)

    async def close_input(self) -> None:
        self.input_closed.set()

    def resize(self, size: TerminalSize) -> None:
        self.sizes.append(size)

    async def wait(self) -> int:
        return await asyncio.shield(self._exit)

    async def end(self) -> None:
        self.ended = True

    def exit(self, code: int) -> None:
        self.output.end()
        self.error.end()
        self._exit.set_result(code)


class Stage:
    """A conversation under way."""

    def __init__(self, make: Make, options: CommandOptions) -> None:
        self.carrier = MemoryCarrier()
        self.spdy = SpdyClient(self.carrier)
        self.execution = FakeExecution()
        self.started = 0
        self._make, self._options = make, options

    async def start(self) -> FakeExecution:
        self.started += 1
        return self.execution

    async def fail(self) -> FakeExecution:
        raise CommandFailed("no such program")

    def serve(self, start: Callable[[], Awaitable[FakeExecution]] | None = None) -> "asyncio.Task[None]":
        def streams(carrier: Carrier, idleness: Idleness) -> CommandStreams:
            return self._make(carrier, idleness, self._options)

        clock = VirtualLoop.running().clock
        return asyncio.create_task(serve_command(self.carrier, streams, start or self.start, clock))


def _status(data: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(data)
    return decoded


# -- channels of a WebSocket


async def test_channels_carry_input_output_errors_and_the_exit_code() -> None:
    stage = Stage(CommandChannels, ALL)
    serving = stage.serve()
    assert await stage.carrier.receive() == b"\x01"  # the server is there
    stage.carrier.send(b"\x00typed")
    stage.carrier.send(b"\xff\x00")
    await stage.execution.input_closed.wait()
    assert stage.execution.taken == [b"typed"]
    await stage.execution.output.put(b"out")
    assert await stage.carrier.receive() == b"\x01out"
    await stage.execution.error.put(b"err")
    assert await stage.carrier.receive() == b"\x02err"
    stage.execution.exit(5)
    last = await stage.carrier.receive()
    assert last[0] == 3
    status = _status(last[1:])
    assert (status["status"], status["reason"]) == ("Failure", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "5"}]
    await serving
    assert stage.execution.ended


async def test_a_command_that_succeeds_says_so_after_its_last_output() -> None:
    stage = Stage(CommandChannels, CommandOptions(stdout=True))
    serving = stage.serve()
    assert await stage.carrier.receive() == b"\x01"
    await stage.execution.output.put(b"last")
    stage.execution.exit(0)
    assert await stage.carrier.receive() == b"\x01last"
    assert _status((await stage.carrier.receive())[1:])["status"] == "Success"
    await serving
    assert stage.execution.input_closed.is_set()  # no input was asked for


async def test_what_was_not_asked_for_is_not_sent() -> None:
    stage = Stage(CommandChannels, CommandOptions(stderr=True))
    stage.serve()
    assert await stage.carrier.receive() == b"\x02"
    await stage.execution.output.put(b"out")
    stage.carrier.send(b"\x00typed")
    await stage.execution.error.put(b"err")
    assert await stage.carrier.receive() == b"\x02err"
    assert stage.execution.taken == []
    stage.carrier.vanish()


async def test_a_terminal_follows_its_window() -> None:
    stage = Stage(CommandChannels, TERMINAL)
    serving = stage.serve()
    await stage.carrier.receive()
    stage.carrier.send(b'\x04{"Width":80,"Hei')
    stage.carrier.send(b'\x04ght":24}\n{"Width":0,"Height":0}["x"]{"Width":100,"Height":30}')
    stage.carrier.send(b"\x00x")
    while not stage.execution.taken or len(stage.execution.sizes) < 2:
        await asyncio.sleep(0)
    assert stage.execution.sizes == [TerminalSize(80, 24), TerminalSize(100, 30)]
    stage.carrier.vanish()
    await serving


async def test_a_command_that_cannot_be_started_is_told_as_an_internal_error() -> None:
    stage = Stage(CommandChannels, ALL)
    serving = stage.serve(stage.fail)
    await stage.carrier.receive()
    status = _status((await stage.carrier.receive())[1:])
    assert (status["code"], status["reason"]) == (500, "InternalError")
    assert status["message"].endswith("error executing command in container: no such program")
    await serving


@pytest.mark.parametrize("make", [CommandChannels, CommandSpdy])
async def test_a_client_that_vanishes_ends_the_command(make: Make) -> None:
    stage = Stage(make, CommandOptions(stdout=True))
    serving = stage.serve()
    if make is CommandSpdy:
        stage.spdy.open(streamtype="error")
        stage.spdy.open(streamtype="stdout")
    while not stage.started:
        await asyncio.sleep(0.01)
    stage.carrier.vanish()
    await serving
    assert stage.execution.ended


async def test_a_silent_conversation_ends_after_four_hours() -> None:
    loop = VirtualLoop.running()
    stage = Stage(CommandChannels, ALL)
    begin = loop.clock.monotonic()
    serving = stage.serve()
    await asyncio.sleep(IDLE_SECONDS - 60)
    stage.carrier.send(b"\x00x")  # a sign of life
    await asyncio.sleep(IDLE_SECONDS - 60)
    assert not serving.done()
    await serving
    assert loop.clock.monotonic() - begin == pytest.approx(2 * IDLE_SECONDS - 60, abs=1)
    assert stage.execution.ended


# -- streams of SPDY


async def test_spdy_carries_the_same() -> None:
    stage = Stage(CommandSpdy, ALL)
    serving = stage.serve()
    error, stdin, stdout, stderr = (stage.spdy.open(streamtype=name) for name in ("error", "stdin", "stdout", "stderr"))
    for stream in (error, stdin, stdout, stderr):
        assert await stage.spdy.frame() == SynReply(stream, {})
    stage.spdy.write(stdin, b"typed", fin=True)
    await stage.execution.input_closed.wait()
    assert stage.execution.taken == [b"typed"]
    await stage.execution.output.put(b"out")
    assert await stage.spdy.frame() == Data(stdout, b"out")
    await stage.execution.error.put(b"err")
    assert await stage.spdy.frame() == Data(stderr, b"err")
    stage.execution.exit(3)
    frame = await stage.spdy.frame()
    assert isinstance(frame, Data) and frame.stream == error
    assert _status(frame.payload)["details"]["causes"][0]["message"] == "3"
    rest = await stage.spdy.until(GoAway(stderr))
    assert {frame.stream for frame in rest if isinstance(frame, Data) and frame.fin} == {
        error,
        stdin,
        stdout,
        stderr,
    }
    await serving


async def test_nothing_is_started_before_all_streams_are_there() -> None:
    stage = Stage(CommandSpdy, CommandOptions(stdout=True))
    serving = stage.serve()
    stage.spdy.open(streamtype="error")
    await asyncio.sleep(29)
    assert not stage.started
    with pytest.raises(ConnectionError, match="stdout"):
        await serving
    assert not stage.started


async def test_a_stream_that_was_not_asked_for_is_refused() -> None:
    stage = Stage(CommandSpdy, CommandOptions(stdout=True))
    serving = stage.serve()
    for name in ("stdin", "nonsense"):
        stream = stage.spdy.open(streamtype=name)
        frame = await stage.spdy.frame()
        assert isinstance(frame, Reset) and frame.stream == stream
    stage.carrier.vanish()
    await serving


async def test_pings_do_not_keep_a_silent_conversation() -> None:
    loop = VirtualLoop.running()
    stage = Stage(CommandSpdy, CommandOptions(stdout=True))
    begin = loop.clock.monotonic()
    serving = stage.serve()
    stage.spdy.open(streamtype="error")
    stage.spdy.open(streamtype="stdout")
    while not serving.done():
        stage.spdy.send(Ping(1))
        await asyncio.sleep(60)
    assert loop.clock.monotonic() - begin == pytest.approx(IDLE_SECONDS, abs=61)
    assert stage.execution.ended
