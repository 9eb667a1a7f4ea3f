"""The embedded server: created once, started as a child process, restarted after a crash, stopped."""

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from pathlib import Path

import asyncpg
import structlog

from hawser.clock import Clock, Entropy
from mooring.ledger.embedded import postmaster
from mooring.ledger.embedded.account import server_account
from mooring.ledger.embedded.binaries import find_binaries
from mooring.ledger.embedded.folder import DATABASE, USER, ServerFolder
from mooring.ledger.errors import translated
from mooring.model.errors import Misconfigured, MooringError, Unavailable

_LAUNCHER = Path(__file__).with_name("launcher.py")
_START_SECONDS = 30.0  # includes a crash recovery on a slow disk
_POLL_SECONDS = 0.02
# key stretching protects passwords chosen by people; here it would only slow down every connection
_SCRAM_ITERATIONS = 16
_LONGEST_PAUSE_SECONDS = 5.0

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "50",
    "shared_buffers": "32MB",
    "fsync": "on",
    "synchronous_commit": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
    "autovacuum_naptime": "15s",
    "io_method": "sync",
    "max_worker_processes": "2",
    "max_parallel_workers": "0",
    "max_logical_replication_workers": "0",
    "log_checkpoints": "off",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] ",
    "cluster_name": "mooring",
}


class EmbeddedServer:
    """One PostgreSQL server under `root`. After `start()` it is kept running at `url` until `stop()`."""

    def __init__(self, root: Path, *, clock: Clock, entropy: Entropy, settings: dict[str, str] | None = None) -> None:
        self._folder = ServerFolder(root.absolute())
        self._clock = clock
        self._entropy = entropy
        self._settings = SETTINGS | (settings or {})
        self._account = server_account()
        self._binaries = find_binaries()
        self._process: Process | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self.restarts = 0

    @property
    def url(self) -> str:
        """The URL to connect to; the same over restarts."""
        return self._folder.url(self._entropy)

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> str:
        """Start the server, also after a predecessor was killed; returns its URL."""
        self._folder.lock()
        try:
            await self._stop_predecessor()
            if not self._folder.data.exists():
                await self._create_data()
            await self._run()
            await self._ensure_database()
        except BaseException as error:
            await self._stop_process()
            self._folder.unlock()
            if isinstance(error, OSError):
                raise Misconfigured(
                    f"the embedded PostgreSQL cannot use its folder: {error}", fix="choose another one with --state"
                ) from error
            raise
        self._supervisor = asyncio.create_task(self._supervise(), name="embedded-postgres")
        return self.url

    async def stop(self) -> None:
        """Stop the server and all its processes."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            with suppress(asyncio.CancelledError):
                await self._supervisor
            self._supervisor = None
        await self._stop_process()
        self._folder.unlock()

    async def _supervise(self) -> None:
        pause_seconds = 0.0
        while True:
            if self._process is not None:
                await self._process.wait()
                structlog.get_logger().warning("embedded PostgreSQL ended, restarting", code=self._process.returncode)
            await self._clock.sleep(pause_seconds)
            try:
                await self._run()
            except (MooringError, OSError) as error:
                # Sessions of the dead server may still hold its shared memory. They notice its end within a moment.
                structlog.get_logger().warning("embedded PostgreSQL does not start, trying again", error=str(error))
                pause_seconds = min(max(pause_seconds * 2, 0.2), _LONGEST_PAUSE_SECONDS)
                continue
            self.restarts += 1
            pause_seconds = 0.2

    async def _run(self) -> None:
        self._folder.prepare(self._account)
        options = {"unix_socket_directories": str(self._folder.sockets)} | self._settings
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        process = self._process = await self._spawn("postgres", "-D", str(self._folder.data), *flags)
        deadline = self._clock.monotonic() + _START_SECONDS
        while not postmaster.is_ready(self._folder.data, process.pid):
            if process.returncode is not None:
                self._process = None
                raise Unavailable(
                    f"the embedded PostgreSQL exited while it started: {self._folder.last_log_line()}",
                    fix=f"see {self._folder.log}",
                )
            if self._clock.monotonic() > deadline:
                await self._stop_process()
                raise Unavailable(
                    f"the embedded PostgreSQL was not ready within {_START_SECONDS:.0f} s",
                    fix=f"see {self._folder.log}",
                )
            await self._clock.sleep(_POLL_SECONDS)

    async def _spawn(self, program: str, *arguments: str) -> Process:
        """A child in its own session: Ctrl-C in the terminal reaches Mooring, which then stops the server."""
        account, path = self._account, self._binaries / program
        reach = not (
            account.reaches(path) and account.reaches(self._folder.sockets) and account.reaches(self._folder.data)
        )
        launch = [str(part) for part in (os.getpid(), account.uid, account.gid, int(reach), path, *arguments)]
        with self._folder.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", str(_LAUNCHER), *launch,
                stdin=DEVNULL, stdout=log, stderr=log, cwd=self._folder.root, start_new_session=True,
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            )  # fmt: skip

    async def _create_data(self) -> None:
        """Created next to its final place and moved there when complete, so that a partial folder is never used."""
        folder = self._folder
        shutil.rmtree(folder.unfinished, ignore_errors=True)
        folder.unfinished.mkdir(mode=0o700)
        self._account.own(folder.unfinished)
        folder.prepare(self._account)
        password = folder.sockets / "initial-password"
        password.write_text(folder.password(self._entropy) + "\n")
        password.chmod(0o600)
        self._account.own(password)
        try:
            process = await self._spawn(
                "initdb", "-D", str(folder.unfinished), "-U", USER, "--no-locale", "-E", "UTF8",
                "-A", "scram-sha-256", f"--pwfile={password}", "--set", f"scram_iterations={_SCRAM_ITERATIONS}",
                "--wal-segsize=4", "--no-instructions",
            )  # fmt: skip
            code = await self._finish(process)
        finally:
            password.unlink()
        if code != 0:
            raise Misconfigured(
                f"the embedded PostgreSQL could not make its data folder: {folder.last_log_line()}",
                fix=f"see {folder.log}",
            )
        folder.unfinished.replace(folder.data)

    async def _finish(self, process: Process) -> int:
        """Wait for a program. If the wait is cancelled, end it and all processes that it started."""
        try:
            return await process.wait()
        except asyncio.CancelledError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise

    async def _ensure_database(self) -> None:
        with translated("the embedded PostgreSQL", starting=True):
            connection = await asyncpg.connect(self._folder.url(self._entropy, "postgres"))
            try:
                if await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", DATABASE) is None:
                    await connection.execute(f"CREATE DATABASE {DATABASE}")
            finally:
                await connection.close()

    async def _stop_predecessor(self) -> None:
        """Stop a server that a killed Mooring left. The folder's lock proves that it is ours.

        An unrelated process with the recorded process id is left alone, but PostgreSQL would mistake it for the old
        server.
        """
        pid = postmaster.recorded_pid(self._folder.data)
        if pid is None:
            return
        if not postmaster.serves(pid, self._folder.data):
            (self._folder.data / "postmaster.pid").unlink(missing_ok=True)
        elif not await postmaster.stop(pid, self._folder.data, self._clock):
            raise Misconfigured(
                f"a PostgreSQL server (process {pid}) of this folder does not stop", fix=f"kill -9 {pid}"
            )

    async def _stop_process(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        await postmaster.stop(process.pid, self._folder.data, self._clock)
        await process.wait()
