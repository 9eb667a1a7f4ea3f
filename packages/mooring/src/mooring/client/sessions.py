"""The command of one session: started, its output streamed, ended with all of its child processes."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

KEPT_OUTPUT_BYTES = 32 * 1024
STOP_SECONDS = 10.0
_DRAIN_SECONDS = 1.0
_NOT_RUNNABLE, _NOT_FOUND = 126, 127  # as in shells


@dataclass(frozen=True, slots=True)
class Session:
    """A session that a worker fetched."""

    claim: str
    epoch: int
    owner: str
    payload: dict[str, Any] | None
    ttl_seconds: int


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """Exit code of the command, and the end of its output."""

    exit_code: int
    output: str


class SessionRun(Protocol):
    """A session on this worker. Runs once."""

    async def run(self) -> SessionEnd:
        """Run to the end."""

    async def stop(self) -> None:
        """End it early; `run` returns then."""


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """The command to start: the payload's own, else the worker's with the payload on stdin."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    folder: str | None
    stdin: bytes | None


class InvalidCommand(Exception):
    """The payload does not name a valid command."""


def read_command(session: Session, fallback: Sequence[str]) -> CommandSpec:
    """From the payload `{command: [...], env: {...}, cwd: "..."}`. With a fallback, `command` is optional."""
    payload = session.payload or {}
    command, given, folder = payload.get("command"), payload.get("env") or {}, payload.get("cwd")
    if command is not None and not (isinstance(command, list) and command and all(_is_text(word) for word in command)):
        raise InvalidCommand("payload.command must be a list of strings")
    if not isinstance(given, dict) or not all(_is_text(value) and "=" not in name for name, value in given.items()):
        raise InvalidCommand("payload.env must map names to strings")
    if folder is not None and not _is_text(folder):
        raise InvalidCommand("payload.cwd must be a path")
    if command is None and not fallback:
        raise InvalidCommand("the payload has no command, and the worker has none of its own")
    environment = {
        **given,
        "MOORING_CLAIM_ID": session.claim,
        "MOORING_EPOCH": str(session.epoch),
        "MOORING_OWNER": session.owner,
    }
    stdin = None if command is not None else json.dumps(payload).encode()
    return CommandSpec(tuple(command or fallback), environment, folder, stdin)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\x00" not in value


class SessionCommand:
    """Runs once."""

    def __init__(self, session: Session, fallback: Sequence[str]) -> None:
        self._session = session
        self._fallback = fallback
        self._process: asyncio.subprocess.Process | None = None
        self._tail = bytearray()

    async def run(self) -> SessionEnd:
        """Run to the end. A command that cannot be started ends with the exit code a shell would return."""
        try:
            spec = read_command(self._session, self._fallback)
            self._process = await _start(spec)
        except InvalidCommand as error:
            return SessionEnd(_NOT_RUNNABLE, f"mooring: {error}\n")
        except FileNotFoundError as error:
            return SessionEnd(_NOT_FOUND, f"mooring: {error.strerror}: {error.filename}\n")
        except OSError as error:
            return SessionEnd(_NOT_RUNNABLE, f"mooring: {error.strerror}: {error.filename}\n")
        feeding = asyncio.create_task(_feed(self._process, spec.stdin))
        reading = asyncio.create_task(self._read(self._process))
        try:
            code = await self._process.wait()
            self._signal(signal.SIGKILL)  # child processes that it left running
            await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
        finally:
            self._signal(signal.SIGKILL)
            feeding.cancel()
            reading.cancel()
        return SessionEnd(code if code >= 0 else 128 - code, self._tail.decode("utf-8", "replace"))

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL after a while; `run` returns then."""
        process = self._process
        if process is None:
            return
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            self._signal(signal.SIGKILL)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while piece := await process.stdout.read(65536):
            sys.stdout.buffer.write(piece)
            sys.stdout.flush()
            self._tail += piece
            del self._tail[:-KEPT_OUTPUT_BYTES]

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


async def _start(spec: CommandSpec) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *spec.argv,
        stdin=asyncio.subprocess.DEVNULL if spec.stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **spec.environment},
        cwd=spec.folder,
        start_new_session=True,  # one process group: signals reach all of it, and signals to the worker do not
    )


async def _feed(process: asyncio.subprocess.Process, text: bytes | None) -> None:
    if text is None or process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the command may ignore its stdin
        process.stdin.write(text)
        await process.stdin.drain()
    process.stdin.close()
