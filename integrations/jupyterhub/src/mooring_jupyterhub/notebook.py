"""The session of one user's server: forked from the preloader, its output streamed without its token, ended with it."""

import asyncio
import contextlib
import io
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from hawser.clock import Clock
from mooring.client.sessions import (
    KEPT_OUTPUT_BYTES,
    STOP_SECONDS,
    CommandSpec,
    InvalidCommand,
    Session,
    SessionCommand,
    SessionEnd,
    SessionRun,
    read_command,
)
from mooring_jupyterhub.hub_watch import HubWatch
from mooring_jupyterhub.preloader import MOST_ORDER_BYTES

PROGRAM = "jupyterhub-singleuser"
PRELOAD_SECONDS = 120.0
_DRAIN_SECONDS = 1.0
_SERVICE_URL, _TOKENS = "JUPYTERHUB_SERVICE_URL", ("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN")


class Preloader:
    """The agent's end of the preloader. `lost` when it has ended: servers are then started as ordinary commands."""

    def __init__(self, channel: socket.socket, process: asyncio.subprocess.Process) -> None:
        self._channel = channel
        self._process = process
        self.lost = False

    @classmethod
    async def start(cls) -> "Preloader":
        """Start it, and wait until its modules are imported."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "mooring_jupyterhub.preloader",
                str(there.fileno()),
                pass_fds=(there.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
            )
        here.setblocking(False)
        preloader = cls(here, process)
        try:
            async with asyncio.timeout(PRELOAD_SECONDS):
                await preloader._receive()
        except (TimeoutError, ConnectionError):
            await preloader.close()
        return preloader

    async def launch(self, spec: CommandSpec, environment: Mapping[str, str], output: int) -> int:
        """Fork a server with this command and environment; returns its process id."""
        order = {"argv": list(spec.argv), "env": dict(environment), "folder": spec.folder}
        text = json.dumps(order).encode()
        if len(text) > MOST_ORDER_BYTES:
            raise InvalidCommand(f"payload.env has {len(text)} bytes: at most {MOST_ORDER_BYTES} are allowed")
        try:
            socket.send_fds(self._channel, [text], [output])
            return int((await self._receive())["pid"])
        except OSError:
            await self.close()
            raise

    async def exit_code(self) -> int:
        """Wait for the end of the server that was launched last."""
        code = int((await self._receive())["exit"])
        return code if code >= 0 else 128 - code

    async def close(self) -> None:
        """End it, and the server that it may still have."""
        self.lost = True
        self._channel.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _receive(self) -> dict[str, Any]:
        text = await asyncio.get_running_loop().sock_recv(self._channel, MOST_ORDER_BYTES)
        if not text:
            self.lost = True
            raise ConnectionError("the preloader has ended")
        return dict(json.loads(text))


@dataclass(frozen=True, slots=True)
class Host:
    """Where servers run: the worker's address, its clock and its preloader."""

    address: str
    clock: Clock
    preloader: Preloader


def place_server(given: Mapping[str, str], address: str) -> dict[str, str]:
    """The environment of a server that listens at the worker's address only."""
    placed = dict(given)
    if _SERVICE_URL in placed:
        url = urlsplit(placed[_SERVICE_URL])
        host = f"[{address}]" if ":" in address else address
        placed[_SERVICE_URL] = urlunsplit(url._replace(netloc=f"{host}:{url.port}" if url.port else host))
    return placed


class NotebookRun:
    """Runs once. Other programs than the single-user server run as ordinary commands."""

    def __init__(self, session: Session, host: Host) -> None:
        self._session = session
        self._host = host
        self._pid = 0
        self._ended = asyncio.Event()
        self._tail = bytearray()
        self._plain: SessionRun | None = None

    async def run(self) -> SessionEnd:
        """Run to the end: that of the server, or when the hub wants it no more."""
        try:
            spec = read_command(self._session, ())
        except InvalidCommand as error:
            return SessionEnd(126, f"mooring: {error}\n")
        environment = place_server(spec.environment, self._host.address)
        watch = HubWatch.of(self._session.payload or {}, environment, self._host.clock)
        running = asyncio.create_task(self._run_server(spec, environment))
        watching = asyncio.create_task(watch.wait_unwanted())
        try:
            await asyncio.wait({running, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                print(f"mooring: the server is stopped: {watching.result()}", file=sys.stderr, flush=True)
                await self.stop()
            return await running
        finally:
            watching.cancel()

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL after a while; `run` returns then."""
        if self._plain is not None:
            await self._plain.stop()
        elif self._pid:
            self._signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await self._ended.wait()
            except TimeoutError:
                self._signal(signal.SIGKILL)

    async def _run_server(self, spec: CommandSpec, environment: dict[str, str]) -> SessionEnd:
        if spec.argv[0] != PROGRAM or self._host.preloader.lost:
            payload = {**(self._session.payload or {}), "env": environment}
            session = Session(*_identity(self._session), payload, self._session.ttl_seconds)
            self._plain = SessionCommand(session, ())
            return await self._plain.run()
        try:
            return await self._run_forked(spec, environment)
        except InvalidCommand as error:
            return SessionEnd(126, f"mooring: {error}\n")
        except OSError as error:
            return SessionEnd(126, f"mooring: the server could not be started or followed: {error}\n")
        finally:
            self._ended.set()

    async def _run_forked(self, spec: CommandSpec, environment: dict[str, str]) -> SessionEnd:
        reading_end, writing_end = os.pipe()
        try:
            inherited = {**os.environ, **environment}
            self._pid = await self._host.preloader.launch(spec, inherited, writing_end)
        except BaseException:
            os.close(reading_end)
            raise
        finally:
            os.close(writing_end)
        reading = asyncio.create_task(self._read(reading_end, environment))
        try:
            code = await self._host.preloader.exit_code()
            self._signal(signal.SIGKILL)  # child processes that it left running
            await asyncio.wait({reading}, timeout=_DRAIN_SECONDS)
        finally:
            self._signal(signal.SIGKILL)
            reading.cancel()
        return SessionEnd(code, self._tail.decode("utf-8", "replace"))

    async def _read(self, descriptor: int, environment: Mapping[str, str]) -> None:
        secrets = {environment[name].encode() for name in _TOKENS if environment.get(name)}
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), io.FileIO(descriptor)
        )
        try:
            while line := await _read_line(reader):
                for secret in secrets:
                    line = line.replace(secret, b"***")
                sys.stdout.buffer.write(line)
                sys.stdout.flush()
                self._tail += line
                del self._tail[:-KEPT_OUTPUT_BYTES]
        finally:
            transport.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)


def _identity(session: Session) -> tuple[str, int, str]:
    return session.claim, session.epoch, session.owner


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """The next line; a piece of it if it is longer than the reader's limit. Empty at the end."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as end:
        return end.partial
    except asyncio.LimitOverrunError as overrun:
        return await reader.readexactly(overrun.consumed)
