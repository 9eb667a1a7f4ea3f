"""One session on a worker: a real command, its output streamed, its end told, nothing of it left running."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

KEPT_OUTPUT_BYTES = 32 * 1024
STOP_SECONDS = 10.0
_DRAIN_SECONDS = 1.0
_NOT_RUNNABLE, _NOT_FOUND = 126, 127  # as shells say it


@dataclass(frozen=True, slots=True)
class Session:
    """What a worker is to do."""

    claim: str
    epoch: int
    owner: str
    payload: dict[str, Any] | None
    ttl_seconds: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How it went."""

    exit_code: int
    output: str


@dataclass(frozen=True, slots=True)
class Order:
    """The command of a session: its payload's own, else the worker's with the payload on stdin."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    folder: str | None
    stdin: bytes | None


class BadOrder(Exception):
    """The payload does not say what to run."""


def read_order(session: Session, fallback: Sequence[str]) -> Order:
    """From the payload `{command: [...], env: {...}, cwd: "..."}`; all of it is optional where there is a fallback."""
    payload = session.payload or {}
    command, given, folder = payload.get("command"), payload.get("env") or {}, payload.get("cwd")
    if command is not None and not (isinstance(command, list) and command and all(_is_text(word) for word in command)):
        raise BadOrder("payload.command must be a list of words")
    if not isinstance(given, dict) or not all(_is_text(value) and "=" not in name for name, value in given.items()):
        raise BadOrder("payload.env must hold names and texts")
    if folder is not None and not _is_text(folder):
        raise BadOrder("payload.cwd must be a path")
    if command is None and not fallback:
        raise BadOrder("the payload has no command, and the worker has none of its own")
    environment = {
        **given,
        "MOORING_CLAIM_ID": session.claim,
        "MOORING_EPOCH": str(session.epoch),
        "MOORING_OWNER": session.owner,
    }
    stdin = None if command is not None else json.dumps(payload).encode()
    return Order(tuple(command or fallback), environment, folder, stdin)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\x00" not in value


class Command:
    """A command that runs once."""

    def __init__(self, session: Session, fallback: Sequence[str]) -> None:
        self._session = session
        self._fallback = fallback
        self._process: asyncio.subprocess.Process | None = None
        self._tail = bytearray()

    async def run(self) -> Ended:
        """To its end. What cannot be started has ended too, with the exit code a shell would give."""
        try:
            order = read_order(self._session, self._fallback)
            self._process = await _start(order)
        except BadOrder as error:
            return Ended(_NOT_RUNNABLE, f"mooring: {error}\n")
        except FileNotFoundError as error:
            return Ended(_NOT_FOUND, f"mooring: {error.strerror}: {error.filename}\n")
        except OSError as error:
            return Ended(_NOT_RUNNABLE, f"mooring: {error.strerror}: {error.filename}\n")
        feeding = asyncio.create_task(_feed(self._process, order.stdin))
        reading = asyncio.create_task(self._read(self._process))
        try:
            code = await self._process.wait()
            self._signal(signal.SIGKILL)  # whatever it left running
            await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
        finally:
            self._signal(signal.SIGKILL)
            feeding.cancel()
            reading.cancel()
        return Ended(code if code >= 0 else 128 - code, self._tail.decode("utf-8", "replace"))

    async def stop(self) -> None:
        """Ask it to end, then make it; `run` tells of the end."""
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


async def _start(order: Order) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *order.argv,
        stdin=asyncio.subprocess.DEVNULL if order.stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **order.environment},
        cwd=order.folder,
        start_new_session=True,  # a group of its own: stopped as one, and not by signals meant for the worker
    )


async def _feed(process: asyncio.subprocess.Process, text: bytes | None) -> None:
    if text is None or process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not read
        process.stdin.write(text)
        await process.stdin.drain()
    process.stdin.close()
