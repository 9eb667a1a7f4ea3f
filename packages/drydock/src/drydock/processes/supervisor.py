"""The asyncio side of the supervisor: start processes, signal them, learn of their end.

protocol, JSON lines:
  to the program    {"do": "start", "id", "argv", "env", "cwd", "log", "captured", "log_limit_bytes",
                     "mounts", "scratch", "attached", "terminal"}
                    attached: its three streams were sent before, as file descriptors over a socket of their own
                    {"do": "signal", "id", "signal"}
  from the program  {"event": "ready", "mounts"}       mounts: whether processes can have mounts of their own
                    {"event": "started", "id", "pid"}  {"event": "failed", "id", "errno", "error", "path"}
                    {"event": "exited", "id", "code"}  code < 0 is the signal that killed it
"""

import asyncio
import contextlib
import json
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from drydock.processes.leftovers import VARIABLE, end_leftovers
from hawser.errors import HawserError

_SOURCE_ROOT = str(Path(__file__).parents[2])
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from {} import main; main()"
PROGRAM = "drydock.processes.program"
_LINE_LIMIT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Attachment:
    """File descriptors that become a process's standard input, output and error; for a terminal, it controls them."""

    descriptors: tuple[int, int, int]
    terminal: bool = False


class StartFailed(HawserError):
    """A command could not be executed."""

    code = "process_start_failed"


@dataclass(frozen=True, slots=True)
class Command:
    """What to run. `captured` logs get a time and a stream on each line; others are written as they come.

    A process with an `attachment` has no log. `mounts` are (source, target, read-only) and need `scratch`, an existing
    folder that nothing else uses.
    """

    argv: Sequence[str]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = Path("/")
    captured: bool = True
    log_limit_bytes: int = 10 * 1024 * 1024
    mounts: Sequence[tuple[str, str, bool]] = ()
    scratch: Path = Path("/nonexistent")
    attachment: Attachment | None = None


class Process:
    """A started process."""

    def __init__(self, supervisor: "Supervisor", identity: str, pid: int) -> None:
        self._supervisor = supervisor
        self._exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.identity = identity
        self.pid = pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for the signal that killed it."""
        return self._exited.result() if self._exited.done() else None

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        return await asyncio.shield(self._exited)

    def signal(self, number: int) -> None:
        """Signal it; SIGKILL goes to all of its processes."""
        if not self._exited.done():
            self._supervisor.tell({"do": "signal", "id": self.identity, "signal": int(number)})

    def ended(self, code: int) -> None:
        """Called by the supervisor."""
        if not self._exited.done():
            self._exited.set_result(code)


class Supervisor:
    """`async with Supervisor(mark) as supervisor:`; leaving the block kills everything it started.

    The mark names the owner: whatever an earlier owner of that name left running is ended first. `program` is a module
    with a program that speaks the same protocol, and `argument` is for it.
    """

    def __init__(self, mark: str, program: str = PROGRAM, argument: str = "") -> None:
        self._mark = mark
        self._boot = _BOOT.format(program)
        self._argument = argument
        self._started: dict[str, asyncio.Future[Process]] = {}
        self._processes: dict[str, Process] = {}
        self._count = 0
        self._launching = asyncio.Lock()
        self.mounts = False

    async def __aenter__(self) -> "Supervisor":
        await self._launch()
        return self

    async def _launch(self) -> None:
        end_leftovers(self._mark)
        self._hand_over, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._hand_over.setblocking(False)
        self._program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-ISc",
            self._boot,
            _SOURCE_ROOT,
            str(theirs.fileno()),
            self._argument,
            pass_fds=(theirs.fileno(),),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE_LIMIT_BYTES,
            start_new_session=True,  # a Ctrl-C in the terminal is for us to handle, not for the processes
        )
        theirs.close()
        assert self._program.stdout and self._program.stdin
        self._output, self._input = self._program.stdout, self._program.stdin
        try:
            greeting = await self._output.readline()
        except asyncio.CancelledError:
            self._program.kill()
            self._hand_over.close()
            raise
        if not greeting:
            raise StartFailed(
                f"the program of the supervisor ended with code {await self._program.wait()} at its start"
            )
        self.mounts = bool(json.loads(greeting)["mounts"])
        self._reader = asyncio.create_task(self._read(), name="supervisor events")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._input.close()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await self._input.wait_closed()
        await self._program.wait()
        await self._reader
        self._hand_over.close()

    @property
    def pid(self) -> int:
        return self._program.pid

    async def start(self, command: Command, name: str = "process") -> Process:
        """Start it; raises `StartFailed` when it cannot be executed."""
        async with self._launching:
            if self._reader.done():  # the program was killed, and with it everything it had started
                self._hand_over.close()
                await self._launch()
        if command.attachment:
            self._hand(command.attachment)
        self._count += 1
        identity = f"{self._program.pid}-{self._count}-{name}"
        future: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
        self._started[identity] = future
        self.tell({"do": "start", "id": identity, **self._described(command)})
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and not future.exception():
                future.result().signal(signal.SIGKILL)  # it had just started, and its caller does not know it
            raise

    def _hand(self, attachment: Attachment) -> None:
        try:
            socket.send_fds(self._hand_over, [b"."], attachment.descriptors)
        except OSError as error:  # too many of them wait, or the program has just ended
            raise StartFailed(f"cannot hand over streams: {error.strerror}", fix="start again") from error

    def _described(self, command: Command) -> dict[str, Any]:
        return {
            "argv": list(command.argv),
            "env": {**command.env, VARIABLE: self._mark},
            "cwd": str(command.cwd),
            "log": str(command.log),
            "captured": command.captured,
            "log_limit_bytes": command.log_limit_bytes,
            "mounts": list(command.mounts),
            "scratch": str(command.scratch),
            "attached": command.attachment is not None,
            "terminal": command.attachment is not None and command.attachment.terminal,
        }

    def tell(self, command: Mapping[str, object]) -> None:
        """Send one command to the program."""
        if not self._input.is_closing():
            self._input.write(json.dumps(command).encode() + b"\n")

    async def _read(self) -> None:
        while line := await self._output.readline():
            event = json.loads(line)
            identity = event["id"]
            match event["event"]:
                case "started":
                    process = self._processes[identity] = Process(self, identity, event["pid"])
                    self._answer(identity, process)
                case "failed":
                    failure = StartFailed(f"{event['path']}: {event['error']}", detail=event)
                    self._answer(identity, failure)
                case "exited":
                    self._processes.pop(identity).ended(event["code"])
        for identity in list(self._started):
            self._answer(identity, StartFailed("the supervisor of processes has ended", fix="start again"))
        for process in self._processes.values():
            process.ended(-9)
        self._processes.clear()

    def _answer(self, identity: str, outcome: Process | StartFailed) -> None:
        future = self._started.pop(identity)
        if future.cancelled():
            if isinstance(outcome, Process):
                outcome.signal(signal.SIGKILL)  # its caller does not know it
        elif isinstance(outcome, Process):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)
