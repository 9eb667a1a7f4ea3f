"""A waiting client while PostgreSQL hangs: stopped as by a frozen disk, with all its processes, then resumed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from hawser.clock import Entropy, SystemClock
from mooring.client import Mooring
from mooring.client.errors import ClaimTimeout
from mooring.client.records import Waiting
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.postgres import PostgresLedger
from mooring.ledger.postgres.database import DatabaseOptions
from packages.mooring.tests.client.dock import TOKEN, Dock
from packages.mooring.tests.client.test_waiting import eventually, find_claim

pytestmark = [pytest.mark.realtime, pytest.mark.slow]

HUNG_SECONDS = 45.0
WAIT_SECONDS = 12.0


class Hanging:
    """A PostgreSQL of its own, that can be stopped and resumed."""

    def __init__(self, folder: Path) -> None:
        self.server = EmbeddedServer(folder, clock=SystemClock(), entropy=Entropy())

    async def open(self) -> PostgresLedger:
        return await self._open(DatabaseOptions(connect_timeout_seconds=2, statement_timeout_seconds=2))

    async def open_as_in_production(self) -> PostgresLedger:
        """With the timeouts of `mooring serve`, which are longer than many waits."""
        return await self._open(DatabaseOptions())

    async def _open(self, options: DatabaseOptions) -> PostgresLedger:
        url = await self.server.start()
        return await PostgresLedger.open(url, clock=SystemClock(), entropy=Entropy(), options=options)

    def send(self, number: int) -> None:
        """To the server and all its sessions."""
        main = self.server.pid
        assert main is not None
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _parent(entry) == main:
                os.kill(int(entry.name), number)
        os.kill(main, number)


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_while_postgresql_hangs_a_client_says_so_keeps_its_place_and_goes_on(tmp_path):
    hanging = Hanging(tmp_path / "postgres")
    with Dock(ledger=hanging.open) as dock:
        pool = dock.pool()
        mooring, told, got = Mooring(dock.url, TOKEN), [], []

        def wait() -> None:
            with mooring.claim(pool, owner="patient", wait="5m", on_wait=told.append) as claim:
                got.append(claim.id)

        with mooring.claim(pool, owner="holder", ttl="10m"):
            waiting = threading.Thread(target=wait, daemon=True)
            waiting.start()
            claim = eventually(lambda: find_claim(dock, "patient"))
            eventually(lambda: told)
            hanging.send(signal.SIGSTOP)
            try:
                eventually(lambda: "does not answer" in told[-1].why.message, seconds=30)
                before = len(told)
                time.sleep(HUNG_SECONDS)
                during = [report.why.message for report in told[before:]]
            finally:
                hanging.send(signal.SIGCONT)
            assert during and all("does not answer" in message for message in during), during
            assert any("the database mooring" in message for message in during), during
            assert waiting.is_alive(), "it goes on"
            again = eventually(lambda: find_claim(dock, "patient"), seconds=30)
            assert again.id == claim.id and again.open, "it keeps its place"
        waiting.join(60)
        assert got == [claim.id]
        dock.call(hanging.server.stop())


def test_a_wait_ends_in_time_while_postgresql_hangs_or_is_gone_and_the_fix_is_about_the_database(tmp_path):
    hanging = Hanging(tmp_path / "postgres")
    with Dock(ledger=hanging.open_as_in_production) as dock:
        pool = dock.pool()
        told: list[Waiting] = []
        hanging.send(signal.SIGSTOP)
        try:
            before = time.monotonic()
            with pytest.raises(ClaimTimeout) as raised:
                wait_for(dock, pool, told)
            with pytest.raises(ClaimTimeout) as unreported:
                wait_for(dock, pool, None)
        finally:
            hanging.send(signal.SIGCONT)
        assert time.monotonic() - before < 2 * (WAIT_SECONDS + 4)
        assert "does not answer" in raised.value.why.message
        assert told and all("does not answer" in report.why.message for report in told), told
        for error in (raised.value, unreported.value):
            assert "wait longer" not in error.fix and "mooring doctor" in error.fix
        eventually(lambda: not dock.mooring.readiness.obstacles, seconds=60)
        eventually(lambda: dock.open_claims(pool) == 0, seconds=60)
        dock.call(hanging.server.stop())
        before = time.monotonic()
        with pytest.raises(ClaimTimeout, match="could not answer") as refused:
            wait_for(dock, pool, told)
        assert WAIT_SECONDS - 3 < time.monotonic() - before < WAIT_SECONDS + 4
        assert "the database mooring" in refused.value.why.message


def wait_for(dock: Dock, pool: str, told: list[Waiting] | None) -> None:
    on_wait = told.append if told is not None else None
    with Mooring(dock.url, TOKEN).claim(pool, owner="patient", wait=WAIT_SECONDS, on_wait=on_wait):
        raise AssertionError("it got a worker")
