"""Real processes that stop, die and hang: another replica leads soon, with the timeouts of an installation.

The seconds that are promised hold in virtual time (`scenarios/test_leadership.py`). Here other tests run on the same
cores, so the limits have room, but none for another way: after a stop, a silence of 7 s would be too late.
"""

import asyncio
import contextlib
import os
import re
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
from packages.mooring.tests.soak.stage import environment_of

_STEP_SECONDS = 0.05
_STOPPED, _KILLED, _HUNG = 6.0, 20.0, 30.0
_SERVES = re.compile(r"mooring serves (\S+)")


class Serve:
    """One `mooring serve`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.process = process
        self._log = log

    async def describe(self, session: aiohttp.ClientSession) -> dict[str, Any]:
        """What /readyz says; empty while it does not answer."""
        assert self.process.returncode is None, self._log.read_text()
        found = _SERVES.search(self._log.read_text())
        if found is None:
            return {}
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(f"{found[1]}/readyz", timeout=aiohttp.ClientTimeout(total=2)) as answer:
                body: dict[str, Any] = await answer.json()
                return body if answer.status == 200 else {}
        return {}

    async def until(self, session: aiohttp.ClientSession, leading: bool, within: float) -> None:
        """Wait until it is ready and leads, or is ready and does not."""
        started = time.monotonic()
        while (found := await self.describe(session)).get("leading") is not leading:
            if time.monotonic() - started > within:
                raise AssertionError(f"not within {within} s: {self.name} leads: {leading}; it says {found}")
            await asyncio.sleep(_STEP_SECONDS)

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
        environment = environment_of(self._sandbox, self._database, self._folder / name, port=0)
        path = self._folder / f"{name}-{len(self.processes)}.log"
        with path.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                str(Path(sys.executable).with_name("mooring")),
                "serve",
                env={**environment, "MOORING_REPLICA": name},
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return Serve(name, process, path)


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
        await second.until(here.session, True, _STOPPED)
        assert await first.process.wait() == 0

        first = await here.start("first")
        await first.until(here.session, False, 60)
        second.signal(signal.SIGKILL)
        await first.until(here.session, True, _KILLED)
        await second.process.wait()

        second = await here.start("second")
        await second.until(here.session, False, 60)
        first.signal(signal.SIGSTOP)
        await second.until(here.session, True, _HUNG)
        first.signal(signal.SIGCONT)
        await first.until(here.session, False, 60)
        await second.until(here.session, True, 20)
