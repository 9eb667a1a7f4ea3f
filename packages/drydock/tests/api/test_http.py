import asyncio
import io
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from drydock.api.http import serve
from drydock.api.server import ApiServer
from drydock.certificates import Authority
from drydock.kubeconfig_file import ClusterAccess, write_kubeconfig
from hawser.clock import Entropy, SystemClock
from packages.drydock.tests.api.caller import CONFIGMAPS, PODS, TOKENS, Caller

Run = Callable[[Coroutine[Any, Any, None]], None]


@asynccontextmanager
async def served() -> AsyncIterator[tuple[ApiServer, str, aiohttp.ClientSession]]:
    api = ApiServer(SystemClock(), Entropy(), tokens=TOKENS)
    headers = {"Authorization": "Bearer admin-token"}
    async with serve(api) as address, aiohttp.ClientSession(address, headers=headers) as session:
        yield api, address, session
    await api.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.01)


def watchers(api: ApiServer) -> int:
    return sum(len(table.wakers) for table in api.cluster.store.tables())


def test_requests_go_over_one_connection_kept_alive(run: Run) -> None:
    async def main() -> None:
        async with served() as (_, _, session):
            async with session.post(CONFIGMAPS, json={"metadata": {"name": "a"}}) as made:
                assert made.status == 201
            async with session.get(f"{CONFIGMAPS}/a", params={"pretty": "1"}) as got:
                assert (await got.json())["metadata"]["name"] == "a"
                assert got.version == aiohttp.HttpVersion11
            async with session.get(f"{CONFIGMAPS}/b") as missing:
                assert missing.status == 404 and (await missing.json())["reason"] == "NotFound"
            assert session.connector is not None and len(session.connector._conns) == 1

    run(main())


def test_a_watch_is_sent_in_chunks_as_events_happen(run: Run) -> None:
    async def main() -> None:
        async with served() as (_, _, session), session.get(CONFIGMAPS, params={"watch": "1"}) as watch:
            assert watch.headers["Transfer-Encoding"] == "chunked"
            for name in ("a", "b"):
                await session.post(CONFIGMAPS, json={"metadata": {"name": name}})
                line = await asyncio.wait_for(watch.content.readline(), 5)
                assert f'"name":"{name}"'.encode() in line

    run(main())


def test_a_client_that_goes_ends_its_watch(run: Run) -> None:
    async def main() -> None:
        async with served() as (api, _, session):
            watch = await session.get(CONFIGMAPS, params={"watch": "1"})
            await until(lambda: watchers(api) == 1)
            watch.close()
            await until(lambda: watchers(api) == 0)

    run(main())


def test_a_server_that_stops_does_not_wait_for_its_watches(run: Run) -> None:
    async def main() -> None:
        api = ApiServer(SystemClock(), Entropy(), tokens=TOKENS)
        async with (
            asyncio.timeout(5),
            aiohttp.ClientSession(headers={"Authorization": "Bearer admin-token"}) as session,
            serve(api) as address,
        ):
            await session.get(f"{address}{CONFIGMAPS}", params={"watch": "1"})
            await until(lambda: watchers(api) == 1)
        assert watchers(api) == 0

    run(main())


def test_large_bodies_go_both_ways_and_one_too_large_does_not(run: Run) -> None:
    async def main() -> None:
        async with served() as (_, _, session):
            for name in ("a", "b", "c"):
                body = msgspec.json.encode({"metadata": {"name": name}, "data": {"k": "x" * 1_000_000}})
                async with session.post(CONFIGMAPS, data=io.BytesIO(body)) as made:
                    assert made.status == 201
            async with session.get(CONFIGMAPS) as listed:
                assert len(await listed.read()) > 3_000_000
            async with session.post(CONFIGMAPS, data=io.BytesIO(b"x" * 4_000_000)) as refused:
                assert refused.status == 413

    run(main())


def test_logs_come_over_http_from_the_kubelet_that_the_node_names(run: Run) -> None:
    async def main() -> None:
        async def kubelet(request: web.BaseRequest) -> web.Response:
            return web.Response(text=f"{request.path} {request.query_string}\n")

        runner = web.ServerRunner(web.Server(kubelet))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        async with served() as (api, _, session):
            call = Caller(api)
            await call.post("/api/v1/nodes", {"metadata": {"name": "n"}})
            status = {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            }
            await call.patch("/api/v1/nodes/n/status", {"status": status})
            await call.pod("a", node="n")
            async with session.get(f"{PODS}/a/log", params={"tailLines": "3"}) as log:
                assert await log.text() == "/containerLogs/default/a/main tailLines=3\n"
            await runner.cleanup()
            async with session.get(f"{PODS}/a/log") as unreachable:
                assert unreachable.status == 500

    run(main())


def test_with_a_certificate_it_speaks_tls(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        api = ApiServer(SystemClock(), Entropy(), tokens=TOKENS)
        authority = Authority(tmp_path, SystemClock().now())
        async with serve(api, certificate=authority.serving("api", ["127.0.0.1"])) as address:
            assert address.startswith("https://127.0.0.1:")
            context = ssl.create_default_context(cafile=str(authority.pair.certificate))
            headers = {"Authorization": "Bearer admin-token"}
            async with (
                aiohttp.ClientSession(address, headers=headers) as session,
                session.get("/api/v1/namespaces", ssl=context) as answer,
            ):
                assert answer.status == 200

    run(main())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_works_with_it(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        api = ApiServer(SystemClock(), Entropy(), tokens=TOKENS)
        authority = Authority(tmp_path / "ca", SystemClock().now())
        async with serve(api, certificate=authority.serving("api", ["127.0.0.1"])) as address:
            config = tmp_path / "kubeconfig"
            write_kubeconfig(config, ClusterAccess(address, authority.pair.certificate, "admin-token"))

            async def kubectl(*words: str) -> str:
                command = ["kubectl", f"--kubeconfig={config}", f"--cache-dir={tmp_path}/cache", *words]
                process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                out, errors = await process.communicate()
                assert process.returncode == 0, errors.decode()
                return out.decode()

            assert "kube-system" in await kubectl("get", "namespaces")
            assert await kubectl("run", "p", "--image=busybox") == "pod/p created\n"
            assert await kubectl("get", "pod", "p", "-o", "jsonpath={.spec.serviceAccountName}") == "default"
            assert await kubectl("label", "pod", "p", "a=b") == "pod/p labeled\n"
            assert "deleted" in await kubectl("delete", "pod", "p")
            assert "pods" in await kubectl("api-resources")
            assert "nodeName" in await kubectl("explain", "pod.spec.nodeName")

    run(main())
