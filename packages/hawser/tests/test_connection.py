"""From a target to answers: over real sockets, as pods and people connect."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.connection import Connection, Target, connect, in_cluster_target, runs_in_cluster
from hawser.credentials import Credential, FixedCredential, TokenFile, bearer
from hawser.errors import CredentialsFailed, Misconfigured, NotAuthorized
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import PODS
from packages.hawser.tests.certificates import Authority
from packages.hawser.tests.servers import client_name, server_tls, serving

AUTHORITY = Authority.make()
SERVER = AUTHORITY.issue("server", hosts=("127.0.0.1",))
POD = {"metadata": {"name": "p", "resourceVersion": "1"}}


class GuardedApi:
    """Serves one pod, and watches on it, to holders of the valid token."""

    def __init__(self, valid: str) -> None:
        self.valid = valid
        self.refused = 0
        self.changes: asyncio.Queue[bytes] = asyncio.Queue()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("authorization") != bearer(self.valid):
            self.refused += 1
            return web.json_response({"kind": "Status", "code": 401, "reason": "Unauthorized"}, status=401)
        if "watch" not in request.query:
            return web.json_response(POD)
        response = web.StreamResponse()
        await response.prepare(request)
        while line := await self.changes.get():
            await response.write(line)
        return response

    def change(self) -> None:
        self.changes.put_nowait(json.dumps({"type": "MODIFIED", "object": POD}).encode() + b"\n")


def mounted(folder: Path, token: str) -> Path:
    (folder / "token").write_text(token)
    (folder / "ca.crt").write_bytes(AUTHORITY.pem)
    (folder / "namespace").write_text("fleet\n")
    return folder


def environment_of(address: str) -> dict[str, str]:
    host, _, port = address.removeprefix("https://").rpartition(":")
    return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Connection]:
    connection = await connect(target, SystemClock())
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.realtime
async def test_a_pod_follows_its_rotating_token_and_its_watches_stay_open(tmp_path: Path) -> None:
    api = GuardedApi("one")
    folder = mounted(tmp_path, "one")
    async with serving(api.answer, tls=server_tls(tmp_path, SERVER)) as address:
        target = in_cluster_target(environment_of(address), folder)
        assert target.namespace == "fleet"
        async with connected(target) as connection:
            client = KubeClient(connection)
            async with client.watch(PODS, resource_version="1") as events:
                api.change()
                assert (await anext(events)).type == "MODIFIED"
                api.valid = "two"
                (folder / "token").write_text("two")
                pods = await asyncio.gather(*[client.get(PODS, "p", "ns") for _ in range(100)])
                assert len(pods) == 100
                assert api.refused == 100
                await client.get(PODS, "p", "ns")
                assert api.refused == 100
                api.change()
                assert (await anext(events)).type == "MODIFIED"


@pytest.mark.realtime
async def test_a_refused_identity_is_told_after_one_more_try(tmp_path: Path) -> None:
    api = GuardedApi("never given out")
    folder = mounted(tmp_path, "one")
    async with serving(api.answer, tls=server_tls(tmp_path, SERVER)) as address:
        connection = await connect(in_cluster_target(environment_of(address), folder), SystemClock())
        (folder / "token").write_text("two")
        with pytest.raises(NotAuthorized):
            await KubeClient(connection).get(PODS, "p", "ns")
        assert api.refused == 2
        await connection.close()


def test_outside_a_cluster_there_is_none_to_find(tmp_path: Path) -> None:
    assert not runs_in_cluster({})
    with pytest.raises(Misconfigured, match="KUBERNETES_SERVICE_HOST"):
        in_cluster_target({}, tmp_path)


def test_a_pod_without_its_service_account_says_what_is_missing(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert runs_in_cluster(environment)
    with pytest.raises(Misconfigured, match=r"ca\.crt") as caught:
        in_cluster_target(environment, tmp_path)
    assert "automountServiceAccountToken" in caught.value.fix


def test_an_address_of_version_six_is_bracketed(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert in_cluster_target(environment, mounted(tmp_path, "t")).server == "https://[fd00::1]:443"


@pytest.mark.realtime
async def test_a_url_and_a_token_are_enough() -> None:
    async with serving(GuardedApi("t").answer) as address:
        target = Target(address, source=FixedCredential(Credential(bearer("t"))))
        async with connected(target) as connection:
            assert (await KubeClient(connection).get(PODS, "p", "ns")).metadata.name == "p"


@pytest.mark.realtime
async def test_credentials_that_cannot_be_got_are_heard_of_at_once(tmp_path: Path) -> None:
    target = Target("http://127.0.0.1:9", source=TokenFile(tmp_path / "gone"))
    with pytest.raises(CredentialsFailed):
        await connect(target, SystemClock())


def kubeconfig(folder: Path, server: str, user: dict[str, object]) -> Path:
    (folder / "ca.crt").write_bytes(AUTHORITY.pem)
    content = {
        "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": "ca.crt"}}],
        "users": [{"name": "u", "user": user}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(content))
    return path


PLUGIN = f"""#!{sys.executable}
import json, pathlib
folder = pathlib.Path(__file__).parent
with (folder / "calls").open("a") as calls:
    calls.write("x")
status = json.loads((folder / "status.json").read_text())
print(json.dumps({{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}}))
"""


def plugin_user(folder: Path, **status: str) -> dict[str, object]:
    path = folder / "login"
    path.write_text(PLUGIN)
    path.chmod(0o755)
    (folder / "status.json").write_text(json.dumps(status))
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login"}}


@pytest.mark.realtime
async def test_a_plugins_token_is_renewed_once_when_it_is_refused(tmp_path: Path) -> None:
    api = GuardedApi("one")
    async with serving(api.answer, tls=server_tls(tmp_path, SERVER)) as address:
        path = kubeconfig(tmp_path, address, plugin_user(tmp_path, token="one"))
        async with connected(load_kubeconfig(path).target()) as connection:
            client = KubeClient(connection)
            await client.get(PODS, "p", "ns")
            api.valid = "two"
            (tmp_path / "status.json").write_text('{"token": "two"}')
            await asyncio.gather(*[client.get(PODS, "p", "ns") for _ in range(20)])
            assert (tmp_path / "calls").read_text() == "xx"


@pytest.mark.realtime
async def test_a_plugins_certificate_is_shown_and_replaced_when_it_has_expired(tmp_path: Path) -> None:
    async def who(request: web.Request) -> web.Response:
        return web.json_response({"metadata": {"name": client_name(request)}})

    alice, bob = AUTHORITY.issue("alice"), AUTHORITY.issue("bob")

    tls = server_tls(tmp_path, SERVER, clients_of=AUTHORITY.pem)
    async with serving(who, tls=tls) as address:
        user = plugin_user(
            tmp_path,
            clientCertificateData=alice.chain.decode(),
            clientKeyData=alice.key.decode(),
            expirationTimestamp="2020-01-01T00:00:00Z",
        )
        async with connected(load_kubeconfig(kubeconfig(tmp_path, address, user)).target()) as connection:
            client = KubeClient(connection)
            assert (await client.get(PODS, "p", "ns")).metadata.name == "alice"
            status = {"clientCertificateData": bob.chain.decode(), "clientKeyData": bob.key.decode()}
            (tmp_path / "status.json").write_text(json.dumps(status))
            assert (await client.get(PODS, "p", "ns")).metadata.name == "bob"
            assert (await client.get(PODS, "p", "ns")).metadata.name == "bob"
            assert (tmp_path / "calls").read_text() == "xxx"


@pytest.mark.realtime
async def test_a_kubeconfigs_certificate_is_shown(tmp_path: Path) -> None:
    async def who(request: web.Request) -> web.Response:
        return web.json_response({"metadata": {"name": client_name(request)}})

    alice = AUTHORITY.issue("alice")
    (tmp_path / "alice.crt").write_bytes(alice.chain)
    (tmp_path / "alice.key").write_bytes(alice.key)

    tls = server_tls(tmp_path, SERVER, clients_of=AUTHORITY.pem)
    async with serving(who, tls=tls) as address:
        user: dict[str, object] = {"client-certificate": "alice.crt", "client-key": "alice.key"}
        async with connected(load_kubeconfig(kubeconfig(tmp_path, address, user)).target()) as connection:
            assert (await KubeClient(connection).get(PODS, "p", "ns")).metadata.name == "alice"
