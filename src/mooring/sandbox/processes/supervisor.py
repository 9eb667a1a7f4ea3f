"""The asyncio side of the supervisor: start processes, signal them, learn of their end.

protocol, JSON lines:
  to the program    {"do": "start", "id", "argv", "env", "cwd", "log", "captured", "log_limit_bytes"}
                    {"do": "signal", "id", "signal"}
  from the program  {"event": "started", "id", "pid"}  {"event": "failed", "id", "errno", "error", "path"}
                    {"event": "exited", "id", "code"}   code < 0 is the signal that killed it
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from mooring.model.errors import MooringError

_SOURCE_ROOT = str(Path(__file__).parents[3])
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from mooring.sandbox.processes.program import main; main()"


class StartFailed(MooringError):
    """A command could not be executed."""

    code = "process_start_failed"


@dataclass(frozen=True, slots=True)
class Command:
    """What to run. `captured` logs get a time and a stream on each line; others are written as they come."""

    argv: Sequence[str]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = Path("/")
    captured: bool = True
    log_limit_bytes: int = 10 * 1024 * 1024


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
        """Signal its whole process group."""
        if not self._exited.done():
            self._supervisor.tell({"do": "signal", "id": self.identity, "signal": int(number)})

    def ended(self, code: int) -> None:
        """Called by the supervisor."""
        if not self._exited.done():
            self._exited.set_result(code)


class Supervisor:
    """`async with Supervisor() as supervisor:`; leaving the block kills everything it started."""

    def __init__(self) -> None:
        self._started: dict[str, asyncio.Future[Process]] = {}
        self._processes: dict[str, Process] = {}
        self._count = 0

    async def __aenter__(self) -> "Supervisor":
        self._program = await asyncio.create_subprocess_exec(
            sys.executable,
            "-ISc",
            _BOOT,
            _SOURCE_ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C in the terminal is for us to handle, not for the processes
        )
        self._reader = asyncio.create_task(self._read(), name="supervisor events")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._program.stdin
        self._program.stdin.close()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await self._program.stdin.wait_closed()
        await self._program.wait()
        await self._reader

    async def start(self, command: Command, name: str = "process") -> Process:
        """Start it; raises `StartFailed` when it cannot be executed."""
        self._count += 1
        identity = f"{self._program.pid}-{self._count}-{name}"
        future: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
        self._started[identity] = future
        self.tell(
            {
                "do": "start",
                "id": identity,
                "argv": list(command.argv),
                "env": dict(command.env),
                "cwd": str(command.cwd),
                "log": str(command.log),
                "captured": command.captured,
                "log_limit_bytes": command.log_limit_bytes,
            }
        )
        return await future

    def tell(self, command: Mapping[str, object]) -> None:
        """Send one command to the program."""
        assert self._program.stdin
        if not self._program.stdin.is_closing():
            self._program.stdin.write(json.dumps(command).encode() + b"\n")

    async def _read(self) -> None:
        assert self._program.stdout
        async for line in _lines(self._program.stdout):
            event = json.loads(line)
            identity = event["id"]
            match event["event"]:
                case "started":
                    process = self._processes[identity] = Process(self, identity, event["pid"])
                    self._started.pop(identity).set_result(process)
                case "failed":
                    message = f"{event['path']}: {event['error']}"
                    self._started.pop(identity).set_exception(StartFailed(message, detail=event))
                case "exited":
                    self._processes.pop(identity).ended(event["code"])
        for future in self._started.values():
            future.set_exception(StartFailed("the supervisor ended"))
        for process in self._processes.values():
            process.ended(-9)


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while line := await stream.readline():
        yield line
