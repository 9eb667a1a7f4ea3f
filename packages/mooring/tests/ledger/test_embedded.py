import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from hawser.clock import Entropy, SystemClock
from mooring.ledger.embedded import EmbeddedServer, postmaster
from mooring.ledger.embedded.account import Account
from mooring.ledger.postgres import PostgresLedger
from mooring.model.claim import ClaimState, EndCause
from mooring.model.errors import Misconfigured, Unavailable
from packages.mooring.tests.ledger.worlds import NOW, claimed, eventually, running

pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel about processes"),
]


def server_in(root: Path) -> EmbeddedServer:
    return EmbeddedServer(root, clock=SystemClock(), entropy=Entropy())


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a server has been before: copying it is quicker than making it."""
    root = tmp_path_factory.mktemp("made-once")

    async def make() -> None:
        server = server_in(root)
        await server.start()
        await server.stop()

    asyncio.run(make())
    return root


@pytest.fixture
def folder(made_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made_once, tmp_path / "postgres")


async def open_ledger(url: str) -> PostgresLedger:
    return await PostgresLedger.open(url, clock=SystemClock(), entropy=Entropy())


def serving(root: Path) -> list[int]:
    """Processes that run on this folder, as the kernel sees them."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if Path(os.readlink(entry / "cwd")).is_relative_to(root):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def test_a_server_starts_keeps_its_rows_over_a_restart_and_leaves_nothing_running(tmp_path: Path) -> None:
    server = server_in(tmp_path)
    url = await server.start()
    ledger = await open_ledger(url)
    claim, incarnation = await claimed(ledger), ledger.incarnation
    await ledger.close()
    await server.stop()
    assert server.pid is None
    assert serving(tmp_path) == []

    server = server_in(tmp_path)
    assert await server.start() == url
    try:
        ledger = await open_ledger(url)
        assert (await ledger.claims.live()).claims == (claim,)
        assert ledger.incarnation == incarnation, "a restart is not a restore"
        await ledger.close()
    finally:
        await server.stop()
    assert serving(tmp_path) == []


async def test_nobody_else_may_read_the_password_or_come_in_over_the_network(folder: Path) -> None:
    server = server_in(folder)
    url = await server.start()
    try:
        assert (folder / "password").stat().st_mode & 0o777 == 0o600
        assert (folder / "data").stat().st_mode & 0o077 == 0
        assert (folder / "run").stat().st_mode & 0o077 == 0
        connection = await asyncpg.connect(url)
        try:
            assert await connection.fetchval("SHOW listen_addresses") == ""
            assert (
                await connection.fetchval("SHOW fsync") == await connection.fetchval("SHOW synchronous_commit") == "on"
            )
        finally:
            await connection.close()
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(url.replace(":", ":wrong", 2).replace("postgresql:wrong", "postgresql:"))
    finally:
        await server.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_root_lends_the_server_an_ordinary_account_even_under_a_path_only_root_may_enter(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    server = server_in(tmp_path / "deep")
    await server.start()
    try:
        assert server.pid is not None
        status = Path(f"/proc/{server.pid}/status").read_text()
        uid = next(line.split()[1] for line in status.splitlines() if line.startswith("Uid:"))
        assert uid != "0"
        assert not Account(int(uid), int(uid)).reaches(tmp_path / "deep" / "data")
        assert tmp_path.stat().st_mode & 0o777 == 0o700, "no folder was opened up for it"
    finally:
        await server.stop()


async def test_a_path_too_long_for_a_socket_is_no_obstacle(tmp_path: Path) -> None:
    root = tmp_path / ("long-" * 30)
    server = server_in(root)
    url = await server.start()
    try:
        assert str(tmp_path) not in url
        await (await open_ledger(url)).close()
    finally:
        await server.stop()


async def test_a_second_mooring_on_the_folder_is_told_who_uses_it(folder: Path) -> None:
    server = server_in(folder)
    await server.start()
    try:
        with pytest.raises(Misconfigured, match=f"in use by another Mooring \\(process {os.getpid()}\\)"):
            await server_in(folder).start()
        assert server.pid is not None
    finally:
        await server.stop()


async def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured) as caught:
        await server_in(tmp_path / "file" / "state").start()
    assert "cannot be written" in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_a_killed_server_is_restarted_and_the_ledger_goes_on(folder: Path) -> None:
    server = server_in(folder)
    ledger = await open_ledger(await server.start())
    try:
        claim, incarnation = await running(ledger), ledger.incarnation
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(Unavailable):
            for _ in range(100):
                await ledger.meta.ping()
        async with asyncio.timeout(20):
            while True:
                try:
                    ended = await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
                    break
                except Unavailable:
                    await asyncio.sleep(0.02)
        assert ended.require().state is ClaimState.RELEASED
        assert server.restarts == 1
        assert ledger.incarnation == incarnation, "a crash loses nothing that was answered"
    finally:
        await ledger.close()
        await server.stop()
    assert serving(folder) == []


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from hawser.clock import Entropy, SystemClock
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.postgres import PostgresLedger
from packages.mooring.tests.ledger.worlds import claimed

async def main():
    server = EmbeddedServer(Path(sys.argv[1]), clock=SystemClock(), entropy=Entropy())
    ledger = await PostgresLedger.open(await server.start(), clock=SystemClock(), entropy=Entropy())
    number = 0
    while True:
        claim = await claimed(ledger, f"w{number}")
        print(server.pid, claim.id, flush=True)
        number += 1

asyncio.run(main())
"""


async def test_a_killed_mooring_takes_its_server_along_and_the_next_one_finds_every_answered_claim(
    folder: Path,
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(folder)], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[4]
    )
    assert process.stdout is not None
    with process.stdout as output:
        lines = [output.readline().split() for _ in range(20)]
        process.kill()
        lines += [line.split() for line in output.read().splitlines() if len(line.split()) == 2]
    process.wait()
    server_pid, answered = int(lines[0][0]), {claim for _, claim in lines}
    await eventually(lambda: not postmaster.serves(server_pid, folder / "data"), seconds=10)

    server = server_in(folder)
    ledger = await open_ledger(await server.start())
    try:
        kept = {claim.id for claim in (await ledger.claims.live()).claims}
        assert answered <= kept
        assert len(kept - answered) <= 1, "at most the one whose answer was on its way"
    finally:
        await ledger.close()
        await server.stop()


async def test_a_server_left_running_by_a_dead_mooring_is_replaced(folder: Path) -> None:
    left = server_in(folder)
    await left.start()
    old_pid = left.pid
    assert old_pid is not None and left._supervisor is not None
    left._supervisor.cancel()
    left._folder.unlock()
    server = server_in(folder)
    await server.start()
    try:
        assert server.pid != old_pid
        assert not postmaster.serves(old_pid, folder / "data")
        await (await open_ledger(server.url)).close()
    finally:
        await server.stop()
        await left.stop()
    assert serving(folder) == []


async def test_an_innocent_process_that_got_the_old_servers_number_is_left_alone(folder: Path) -> None:
    server = server_in(folder)
    await server.start()
    await server.stop()
    with subprocess.Popen(["sleep", "60"]) as innocent:
        try:
            stale = f"{innocent.pid}\n{folder / 'data'}\n1\n5432\n{folder / 'run'}\n\n  0 0\nready   \n"
            (folder / "data" / "postmaster.pid").write_text(stale)
            server = server_in(folder)
            await server.start()
            await server.stop()
            assert innocent.poll() is None
        finally:
            innocent.kill()


async def test_a_start_that_is_called_off_leaves_nothing_running_and_the_next_one_works(tmp_path: Path) -> None:
    for delay_seconds in (0.05, 0.3, 0.6):
        starting = asyncio.create_task(server_in(tmp_path).start())
        await asyncio.sleep(delay_seconds)
        if starting.done():
            pytest.fail("it was quicker than the test")
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await eventually(lambda: serving(tmp_path) == [], seconds=2)
    server = server_in(tmp_path)
    await server.start()
    await server.stop()


async def test_a_server_that_does_not_start_says_why(folder: Path) -> None:
    server = EmbeddedServer(folder, clock=SystemClock(), entropy=Entropy(), settings={"shared_buffers": "nonsense"})
    with pytest.raises(Unavailable, match="shared_buffers") as caught:
        await server.start()
    assert "postgres.log" in caught.value.fix
    assert serving(folder) == []
