"""Real processes that stop, die and hang: how soon another replica leads, with the timeouts of an installation."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drydock import Cluster, LocalOptions, local_cluster, plain_nodes
from hawser.clock import Entropy, SystemClock
from mooring.kinds.installation import install_crds
from mooring.ledger.embedded import EmbeddedServer
from packages.mooring.tests.soak.stage import environment_of, free_port

_STEP_SECONDS = 0.05


class Serve:
    """One `mooring serve`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, port: int) -> None:
        self.name = name
        self.process = process
        self._url = f"http://127.0.0.1:{port}/readyz"

    async def describe(self, session: aiohttp.ClientSession) -> dict[str, Any]:
        """What /readyz says; empty while it does not answer."""
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(self._url, timeout=aiohttp.ClientTimeout(total=2)) as answer:
                body: dict[str, Any] = await answer.json()
                return body if answer.status == 200 else {}
        return {}

    async def until(self, session: aiohttp.ClientSession, leading: bool, within: float) -> float:
        """Wait until it is ready and leads, or is ready and does not; answers how long that took."""
        started = time.monotonic()
        while (await self.describe(session)).get("leading") is not leading:
            if time.monotonic() - started > within:
                raise AssertionError(f"not within {within} s: {self.name} leads: {leading}")
            await asyncio.sleep(_STEP_SECONDS)
        return time.monotonic() - started

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)


class Place:
    """A cluster, a database, and the replicas on them."""

    def __init__(self, folder: Path, sandbox: Cluster, database: str, session: aiohttp.ClientSession) -> None:
        self._folder = folder
        self._sandbox = sandbox
        self._database = database
        self.session = session
        self.processes: list[asyncio.subprocess.Process] = []

    async def start(self, name: str) -> Serve:
        """A replica that is ready."""
        port = free_port()
        environment = environment_of(self._sandbox, self._database, self._folder / name, port)
        with (self._folder / f"{name}.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                str(Path(sys.executable).with_name("mooring")),
                "serve",
                env={**environment, "MOORING_REPLICA": name},
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return Serve(name, process, port)


@contextlib.asynccontextmanager
async def place(folder: Path) -> AsyncIterator[Place]:
    clock, entropy = SystemClock(), Entropy()
    options = LocalOptions(nodes=plain_nodes(1), runtime="simulated")
    async with contextlib.AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(local_cluster(folder / "cluster", clock, entropy, options))
        database = EmbeddedServer(folder / "postgres", clock=clock, entropy=entropy)
        url = await database.start()
        stack.push_async_callback(database.stop)
        await install_crds(sandbox.client, clock)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        found = Place(folder, sandbox, url, session)
        try:
            yield found
        finally:
            for process in found.processes:
                if process.returncode is None:
                    process.send_signal(signal.SIGCONT)
                    process.kill()
                    await process.wait()


@pytest.mark.realtime
async def test_another_replica_leads_after_a_stop_a_kill_and_a_hang(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        first = await here.start("first")
        await first.until(here.session, True, 60)
        second = await here.start("second")
        await second.until(here.session, False, 60)

        first.signal(signal.SIGTERM)
        assert await second.until(here.session, True, 20) < 1.0, "a clean stop"
        assert await first.process.wait() == 0

        first = await here.start("first")
        await first.until(here.session, False, 60)
        second.signal(signal.SIGKILL)
        assert await first.until(here.session, True, 30) <= 10.0, "kill -9"
        await second.process.wait()

        second = await here.start("second")
        await second.until(here.session, False, 60)
        first.signal(signal.SIGSTOP)
        assert await second.until(here.session, True, 30) <= 20.0, "SIGSTOP"
        first.signal(signal.SIGCONT)
        await first.until(here.session, False, 20)
        assert (await second.describe(here.session))["leading"]
