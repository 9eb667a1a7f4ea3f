"""`mooring serve` with TLS on every leg: callers, and a PostgreSQL that is verified (`sslmode=verify-full`)."""

import asyncio
import contextlib
import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from hawser.clock import Entropy, SystemClock
from mooring.client import Mooring
from mooring.client.errors import Unreachable
from mooring.ledger.embedded import EmbeddedServer
from packages.mooring.tests.acceptance.test_existing_cluster import POOL, TOKEN, process
from packages.mooring.tests.acceptance.world import Finished, run_command, until
from packages.mooring.tests.certificates import TestAuthority
from packages.mooring.tests.requirements import require_kubectl

pytestmark = pytest.mark.slow

T = TypeVar("T")
BUILDERS = "default/builders"
SSL_REQUEST = bytes.fromhex("0000000804d2162f")  # what a PostgreSQL client sends first if it wants TLS


@dataclass(frozen=True, slots=True)
class Encrypted:
    """Where Mooring serves, its certificate, and the URL of its ledger."""

    url: str
    folder: Path
    authority: TestAuthority
    ca: Path
    database: str

    def command(self, *arguments: str) -> Finished:
        """A command of the terminal that trusts the CA."""
        return run_command(*arguments, MOORING_URL=self.url, MOORING_TOKEN=TOKEN, MOORING_CA=str(self.ca))

    def serial(self) -> int:
        """Of the certificate that a new connection gets."""
        address, context = urlsplit(self.url), ssl.create_default_context(cafile=self.ca)
        with (
            socket.create_connection((address.hostname, address.port), 10) as plain,
            context.wrap_socket(plain, server_hostname=address.hostname) as connection,
        ):
            return int(str((connection.getpeercert() or {})["serialNumber"]), 16)


class EncryptedDoor:
    """Ends TLS in front of a PostgreSQL, as PgBouncer does: the embedded programs are built without it."""

    def __init__(self, certificate: Path, key: Path, behind: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._behind = behind

    async def open(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "localhost", 0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if await reader.readexactly(8) != SSL_REQUEST:
                writer.close()
                return
            writer.write(b"S")
            await writer.start_tls(self._context)
            inside = await asyncio.open_unix_connection(self._behind)
            await asyncio.gather(_relay(reader, inside[1]), _relay(inside[0], writer))


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


@pytest.fixture(scope="module")
def database() -> Iterator[tuple[str, TestAuthority]]:
    """The URL of a PostgreSQL with TLS, without `sslmode`, and who signed its certificate."""
    root = Path(tempfile.mkdtemp(prefix="mooring-tls-"))
    root.chmod(0o755)
    authority = TestAuthority("database-ca")
    with running_loop() as run:
        server = EmbeddedServer(root / "postgres", clock=SystemClock(), entropy=Entropy())
        parts = urlsplit(run(server.start()))
        behind = Path(dict(parse_qsl(parts.query))["host"]) / ".s.PGSQL.5432"
        door = run(EncryptedDoor(*authority.issue().write(root / "tls"), behind).open())
        port = door.sockets[0].getsockname()[1]
        yield f"postgresql://{parts.username}:{parts.password}@localhost:{port}/mooring", authority
        door.close()
        run(server.stop())
    shutil.rmtree(root)


@contextlib.contextmanager
def running_loop() -> Iterator[Callable[[Coroutine[Any, Any, T]], T]]:
    """An event loop in a thread of its own; yields a function that runs coroutines there."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="encrypted-database", daemon=True)
    thread.start()
    yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A sandbox with a pool that waits for Mooring: the kubeconfig of the account that was installed."""
    home = tmp_path_factory.mktemp("cluster")
    log, kubeconfig = home / "log", home / "kubeconfig"
    with process("sandbox", "--state", str(home / "sandbox"), "--nodes", "2", "--runtime", "simulated", log=log):
        until(lambda: log.read_text().startswith("ready: "), 60, "the sandbox is ready")
        kubectl = [require_kubectl(), "--kubeconfig", str(home / "sandbox" / "kubeconfig")]
        for text in (run_command("install").out, json.dumps(POOL)):
            subprocess.run([*kubectl, "apply", "-f", "-"], input=text, text=True, timeout=60, check=True)
        made = subprocess.run(
            [*kubectl, "-n", "mooring", "create", "token", "mooring"], capture_output=True, text=True, check=True
        )
        known = yaml.safe_load((home / "sandbox" / "kubeconfig").read_text())
        known["users"][0]["user"] = {"token": made.stdout.strip()}
        kubeconfig.write_text(yaml.safe_dump(known))
        yield kubeconfig


def settings_for(home: Path, cluster: Path, database: str, **more: str) -> dict[str, str]:
    settings = {"MOORING_HOST": "localhost", "MOORING_PORT": "0", "MOORING_STATE": str(home / "state")}
    return {
        **settings,
        "MOORING_DATABASE": database,
        "MOORING_KUBECONFIG": str(cluster),
        "MOORING_TOKEN": TOKEN,
        **more,
    }


@pytest.fixture(scope="module")
def encrypted(
    cluster: Path, database: tuple[str, TestAuthority], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Encrypted]:
    """A `mooring serve` with TLS on both sides."""
    home, authority = tmp_path_factory.mktemp("encrypted"), TestAuthority()
    certificate, key = authority.issue().write(home / "tls")
    (home / "ca.pem").write_bytes(authority.pem)
    (home / "database-ca.pem").write_bytes(database[1].pem)
    url = f"{database[0]}?sslmode=verify-full&sslrootcert={home / 'database-ca.pem'}"
    pair = {"MOORING_TLS_CERTIFICATE": str(certificate), "MOORING_TLS_KEY": str(key)}
    log = home / "log"
    with process("serve", log=log, **settings_for(home, cluster, url, **pair)):
        until(lambda: "mooring serves https" in log.read_text(), 60, "it serves")
        served = log.read_text().split("mooring serves ")[1].split()[0]
        found = Encrypted(served, home / "tls", authority, home / "ca.pem", url)
        until(lambda: " 3 " in found.command("pools").out, 60, "3 idle workers", every=0.5)
        yield found


def test_the_sdk_and_the_terminal_claim_with_the_ca(encrypted: Encrypted):
    with Mooring(encrypted.url, TOKEN, ca=encrypted.ca).claim(BUILDERS, wait=30) as claim:
        assert claim.epoch > 0
    done = encrypted.command("claim", BUILDERS, "--wait", "30s", "--", "printenv", "MOORING_EPOCH")
    assert (done.code, done.out.strip().isdigit()) == (0, True), done.err


def test_without_the_ca_nothing_is_sent(encrypted: Encrypted):
    with pytest.raises(Unreachable, match="certificate"), Mooring(encrypted.url, TOKEN).claim(BUILDERS):
        pass
    done = run_command("pools", MOORING_URL=encrypted.url, MOORING_TOKEN=TOKEN)
    assert done.code != 0 and "MOORING_CA" in done.err


def test_the_connection_to_the_ledger_is_encrypted_and_verified(encrypted: Encrypted):
    report = json.loads(encrypted.command("doctor", "-o", "json").out)
    (line,) = [check for check in report["checks"] if check["id"] == "ledger/encryption"]
    assert line["evidence"] == {"hosts": ["localhost"], "sslmode": "verify-full", "encrypted": True}
    (line,) = [check for check in report["checks"] if check["id"] == "certificate"]
    assert line["status"] == "ok"


def test_a_certificate_that_is_replaced_is_served_without_a_restart(encrypted: Encrypted):
    before = encrypted.serial()
    with Mooring(encrypted.url, TOKEN, ca=encrypted.ca).claim(BUILDERS, wait=30) as claim:
        encrypted.authority.issue().write(encrypted.folder)
        until(lambda: encrypted.serial() != before, 30, "the new certificate", every=0.5)
        assert claim.epoch > 0
    (encrypted.folder / "tls.crt").write_text("not a certificate")
    until(lambda: "certificate" in _unsound(encrypted), 30, "the doctor says so", every=0.5)
    assert encrypted.serial() != before, "the last one that could be used is still served"


def _unsound(encrypted: Encrypted) -> set[str]:
    report = json.loads(encrypted.command("doctor", "-o", "json").out)
    return {check["id"] for check in report["checks"] if check["status"] != "ok"}


@pytest.mark.parametrize("change", ["another CA", "another name", "no TLS"])
def test_a_database_that_cannot_be_verified_is_not_used(
    encrypted: Encrypted, cluster: Path, tmp_path: Path, change: str
):
    url = encrypted.database
    if change == "another CA":
        url = f"{url.partition('sslrootcert=')[0]}sslrootcert={encrypted.ca}"
    elif change == "another name":
        url = url.replace("@localhost:", "@127.0.0.1:")
    else:
        url = f"{url.partition('?')[0]}?sslmode=disable"
    ended = run_command("serve", **settings_for(tmp_path, cluster, url))
    assert ended.code == 1 and "Traceback" not in ended.err
    assert "the database mooring at" in ended.err and urlsplit(url).password not in ended.err
