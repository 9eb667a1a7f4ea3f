"""kubectl itself, over a loopback port: it discovers, explains, validates, applies and prints."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from drydock.api.http import serve
from drydock.api.server import ApiServer
from drydock.certificates import Authority
from drydock.kubeconfig_file import ClusterAccess, write_kubeconfig
from hawser.clock import Entropy, SystemClock
from packages.drydock.tests.api.caller import TOKENS
from packages.drydock.tests.api.shapes.cases import custom, gadget_definition

Run = Callable[[Coroutine[Any, Any, None]], None]
Kubectl = Callable[..., Coroutine[Any, Any, tuple[int, str]]]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")]

_DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "a", "image": "nginx", "ports": [{"containerPort": 80}]}]},
        },
    },
}


@asynccontextmanager
async def kubectl_of_a_server(folder: Path) -> AsyncIterator[Kubectl]:
    """kubectl with a kubeconfig for a server of its own."""
    authority = Authority(folder / "pki", SystemClock().now())
    api = ApiServer(SystemClock(), Entropy(), tokens=TOKENS)
    config = folder / "kubeconfig"

    async def kubectl(*arguments: str, stdin: Any = None) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            f"--kubeconfig={config}",
            f"--cache-dir={folder / 'cache'}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        text = "" if stdin is None else yaml.safe_dump(stdin)
        output, _ = await process.communicate(text.encode())
        return process.returncode or 0, output.decode()

    async with serve(api, certificate=authority.serving("api", ["127.0.0.1"])) as address:
        write_kubeconfig(config, ClusterAccess(address, authority.pair.certificate, "admin-token"))
        yield kubectl
    await api.close()


def test_kubectl_lists_and_explains_what_is_served(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with kubectl_of_a_server(tmp_path) as kubectl:
            code, resources = await kubectl("api-resources", "--no-headers", "-o", "name")
            assert code == 0
            assert {"pods", "deployments.apps", "jobs.batch", "leases.coordination.k8s.io"} <= set(resources.split())
            code, explained = await kubectl("explain", "pod.spec.containers.ports")
            assert code == 0
            assert "containerPort\t<integer> -required-" in explained
            code, explained = await kubectl("explain", "deploy.spec.strategy")
            assert code == 0
            assert "rollingUpdate" in explained

    run(main())


def test_a_new_kind_can_be_explained_and_used_at_once(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with kubectl_of_a_server(tmp_path) as kubectl:
            assert (await kubectl("api-resources"))[0] == 0  # fills kubectl's cache
            assert (await kubectl("apply", "-f", "-", stdin=gadget_definition()))[0] == 0
            code, explained = await kubectl("explain", "gadgets.spec.replicas")
            assert (code, "replicas <integer>" in explained) == (0, True)
            assert await kubectl("create", "-f", "-", stdin=custom("Gadget", {"replicas": 3})) == (
                0,
                "gadget.shapes.example.com/a created\n",
            )
            code, refused = await kubectl("create", "-f", "-", stdin=custom("Gadget", {"replicas": 3, "extra": 1}))
            assert code == 1
            assert 'strict decoding error: unknown field "spec.extra"' in refused
            code, scaled = await kubectl("scale", "gadget/a", "--replicas=5")
            assert (code, scaled) == (0, "gadget.shapes.example.com/a scaled\n")
            assert (await kubectl("get", "gadget", "a", "-o", "jsonpath={.spec.replicas}"))[1] == "5"

    run(main())


def test_applying_again_changes_only_what_is_different(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with kubectl_of_a_server(tmp_path) as kubectl:
            assert await kubectl("apply", "-f", "-", stdin=_DEPLOYMENT) == (0, "deployment.apps/web created\n")
            assert await kubectl("apply", "-f", "-", stdin=_DEPLOYMENT) == (0, "deployment.apps/web unchanged\n")
            changed = {**_DEPLOYMENT, "spec": {**_DEPLOYMENT["spec"], "replicas": 3}}  # type: ignore[dict-item]
            assert await kubectl("apply", "-f", "-", stdin=changed) == (0, "deployment.apps/web configured\n")
            code, listed = await kubectl("get", "deploy", "-o", "wide")
            assert code == 0
            header, row = (line.split() for line in listed.splitlines())
            assert header == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
            assert [*row[:4], *row[5:]] == ["web", "0/3", "0", "0", "a", "nginx", "app=web"]

    run(main())


def test_a_kind_that_is_not_run_is_refused_in_words_and_can_be_listed(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        async with kubectl_of_a_server(tmp_path) as kubectl:
            stateful = {**_DEPLOYMENT, "kind": "StatefulSet"}
            for how in (("apply",), ("apply", "--server-side"), ("create",)):
                code, refused = await kubectl(*how, "-f", "-", stdin=stateful)
                assert code == 1
                assert "StatefulSet is not supported: drydock has no controller that would run it" in refused
            code, refused = await kubectl("create", "cronjob", "tick", "--image=a", "--schedule=* * * * *")
            assert code == 1
            assert "CronJob is not supported" in refused
            code, listed = await kubectl("get", "statefulsets,daemonsets,cronjobs,replicationcontrollers")
            assert (code, listed) == (0, "No resources found in default namespace.\n")

    run(main())
