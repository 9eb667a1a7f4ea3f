"""Before a session needs a worker: TLS, passwords, limits, idle crowds, and clients that mean harm."""

import asyncio
import contextlib
import hashlib
import struct

import asyncpg
import psycopg
import pytest

from hawser.clock import Entropy
from mooring.client.aio import AsyncMooring
from mooring_postgres_gateway.anteroom import Anteroom
from mooring_postgres_gateway.directory import Directory
from mooring_postgres_gateway.gateway import Gateway, GatewayLimits
from mooring_postgres_gateway.handshake import Handshake
from mooring_postgres_gateway.link import Claims
from mooring_postgres_gateway.proof import write_private_key
from mooring_postgres_gateway.tls import TlsFiles
from mooring_postgres_gateway.wire.startup import Startup, TlsRequest, encode_packet
from packages.mooring.tests.certificates import TestAuthority
from postgres_gateway_tests.harbour import PASSWORD, USER, directory_text

pytestmark = pytest.mark.realtime

IDLE_CONNECTIONS = 2000
MAIN = {"main": {"pool": "queries/duck", "owner": "acme", "users": [USER], "max_sessions": 5000}}


@contextlib.asynccontextmanager
async def doorway(folder, databases=MAIN, limits=GatewayLimits(), *, tls=None, require_tls=False):
    """A gateway whose Mooring does not exist: what needs no worker works."""
    file = folder / "directory.toml"
    file.write_text(directory_text(databases))
    handshake = Handshake(Directory(file), tls, Entropy(), require_tls=require_tls)
    claims = Claims(AsyncMooring("http://127.0.0.1:9", "token"), write_private_key(folder / f"{Entropy().uuid()}.pem"))
    gateway = Gateway(handshake, claims, Entropy(), limits)
    port = await gateway.listen("127.0.0.1", 0)
    try:
        yield gateway, port
    finally:
        await gateway.drain(1.0)


async def connect(port: int, password: str = PASSWORD, database: str = "main", **options) -> asyncpg.Connection:
    return await asyncpg.connect(
        host="127.0.0.1", port=port, user=options.pop("user", USER), password=password, database=database,
        timeout=60, ssl=options.pop("ssl", False), **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    "options, error",
    [
        ({"password": "wrong"}, asyncpg.InvalidPasswordError),
        ({"user": "nobody"}, asyncpg.InvalidPasswordError),
        ({"database": "nothing"}, asyncpg.InvalidCatalogNameError),
        ({"database": "foreign"}, asyncpg.InvalidAuthorizationSpecificationError),
    ],
)
async def test_who_may_not_log_in(tmp_path, options, error):
    foreign = {**MAIN, "foreign": {**MAIN["main"], "users": []}}
    async with doorway(tmp_path, foreign) as (_, port):
        with pytest.raises(error):
            await connect(port, **options)


async def test_a_changed_password_counts_from_the_next_login_and_a_broken_file_changes_nothing(tmp_path):
    async with doorway(tmp_path) as (_, port):
        file = tmp_path / "directory.toml"
        file.write_text(directory_text(MAIN, "another password"))
        await (await connect(port, "another password")).close()
        file.write_text("[users.ada]\nverifier = 'nonsense'\n")
        await (await connect(port, "another password")).close()
        with pytest.raises(asyncpg.InvalidPasswordError):
            await connect(port)


async def test_sessions_of_a_database_are_limited(tmp_path):
    async with doorway(tmp_path, {"main": {**MAIN["main"], "max_sessions": 2}}) as (gateway, port):
        first, second = await connect(port), await connect(port)
        with pytest.raises(asyncpg.TooManyConnectionsError):
            await connect(port)
        await first.close()
        while gateway.sessions > 1:
            await asyncio.sleep(0.01)
        third = await connect(port)
        await asyncio.gather(second.close(), third.close())


@pytest.mark.slow
async def test_a_crowd_of_idle_connections_asks_mooring_for_nothing(tmp_path):
    async with doorway(tmp_path) as (gateway, port):
        crowd = []
        for _ in range(IDLE_CONNECTIONS // 50):
            crowd += await asyncio.gather(*(connect(port) for _ in range(50)))
        assert gateway.sessions == IDLE_CONNECTIONS
        address = f"postgresql://{USER}@127.0.0.1:{port}/main"
        with await asyncio.to_thread(psycopg.connect, address, password=PASSWORD, autocommit=True) as one_more:
            await asyncio.to_thread(one_more.execute, "-- a ping")
        for connection in crowd:
            connection.terminate()


async def test_without_a_mooring_a_statement_gets_an_honest_error_and_the_session_continues(tmp_path):
    async with doorway(tmp_path, {"main": {**MAIN["main"], "wait_seconds": 1}}) as (_, port):
        connection = await connect(port)
        for _ in range(2):
            with pytest.raises(asyncpg.PostgresError) as raised:
                await connection.execute("SELECT 1")
            assert raised.value.sqlstate in ("57P03", "53000")
        await connection.close()


async def test_tls_is_offered_required_and_survives_bytes_that_come_too_early(tmp_path):
    tls = TlsFiles(*TestAuthority().issue().write(tmp_path / "tls"))
    async with doorway(tmp_path, tls=tls, require_tls=True) as (_, port):
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError, match="TLS"):
            await connect(port)
        connection = await asyncio.to_thread(
            psycopg.connect, f"postgresql://{USER}@127.0.0.1:{port}/main?sslmode=require", password=PASSWORD
        )
        assert connection.pgconn.ssl_in_use
        connection.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(encode_packet(TlsRequest()) + encode_packet(Startup({"user": USER})))
        assert (await reader.read())[:1] == b"E"
        writer.close()


async def answer_to(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!I", 2**31) + b"x",
        struct.pack("!II", 8, 0),
        hashlib.shake_128(b"noise").digest(64),
        encode_packet(Startup({"user": USER})) + b"p" + struct.pack("!I", 2**30),
        encode_packet(Startup({"user": USER})) + b"Q\0\0\0\x0bSELECT\0",
        encode_packet(TlsRequest()) * 10,
    ],
)
async def test_what_is_no_client_is_refused(tmp_path, data):
    async with doorway(tmp_path, limits=GatewayLimits(startup_seconds=1.0)) as (gateway, port):
        assert (await answer_to(port, data))[:1] in (b"", b"E", b"N", b"R")
        assert gateway.sessions == 0
        await (await connect(port)).close()


async def test_a_client_that_never_finishes_its_start_up_is_cut_off(tmp_path):
    async with doorway(tmp_path, limits=GatewayLimits(startup_seconds=0.3)) as (_, port):
        assert await answer_to(port, b"\0\0\0") == b""


async def test_a_flood_of_unfinished_connections_is_bounded(tmp_path):
    limits = GatewayLimits(starting=20, startup_seconds=1.0)
    async with doorway(tmp_path, limits=limits) as (_, port):
        flood = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(100)))
        closed = await asyncio.gather(*(reader.read() for reader, _ in flood), return_exceptions=True)
        assert len(closed) == 100
        await (await connect(port)).close()
        for _, writer in flood:
            writer.close()


async def test_an_address_that_opens_many_connections_keeps_no_other_out(tmp_path):
    async with doorway(tmp_path, limits=GatewayLimits(starting=20)) as (_, port):
        flood = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
        with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            await connect(port)
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
            writer.write(encode_packet(Startup({"user": USER})))
            assert (await reader.read(1)) == b"R"
            flood.append((reader, writer))
        assert await flood[0][0].read() == b"", "its oldest connection had to make room"
        for _, writer in flood:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


@pytest.mark.parametrize(
    ("crowd", "newcomer", "admitted"),
    [
        (["192.0.2.1"] * 4, "192.0.2.1", False),
        (["192.0.2.1"] * 4, "192.0.2.2", True),
        (["192.0.2.1"] * 2 + ["192.0.2.2"] * 2, "192.0.2.2", False),
        (["192.0.2.1"] * 2 + ["192.0.2.2"] * 2, "192.0.2.3", True),
        (["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"], "2001:db8::5", False),
        (["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"], "2001:db8:0:1::5", True),
    ],
)
async def test_addresses_share_the_places_before_the_password(crowd, newcomer, admitted):
    room, tasks = Anteroom(4), [asyncio.create_task(asyncio.sleep(60)) for _ in range(5)]
    assert all(room.enter(host, task) for host, task in zip(crowd, tasks, strict=False))
    assert room.enter(newcomer, tasks[-1]) is admitted
    await asyncio.sleep(0)
    assert [task.cancelled() for task in tasks] == [admitted, False, False, False, False]
    for host, task in zip([*crowd, newcomer], tasks, strict=True):
        room.leave(host, task)
        task.cancel()
    assert not room._of


async def test_the_gateway_drains_and_tells_its_idle_clients(tmp_path):
    async with doorway(tmp_path) as (gateway, port):
        connection = await connect(port)
        await gateway.drain(10.0)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await connection.execute("SELECT 1")
