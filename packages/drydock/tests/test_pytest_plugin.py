"""The pytest plugin, in test runs of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from packages.drydock.tests.requirements import require_kubernetes

pytest_plugins = "pytester"

SUITE = """
import asyncio
import subprocess

from hawser.resources import NAMESPACES, NODES, PODS

POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "registry.example/app"}]}}
seen = []


async def run_pod(client, namespace):
    await client.create(PODS, POD, namespace)
    while (await client.get(PODS, "p", namespace)).status.phase != "Running":
        await asyncio.sleep(0.05)


def test_a_plain_test_has_a_namespace(kubernetes):
    kubernetes.run(lambda client: run_pod(client, kubernetes.namespace))
    seen.append(kubernetes)


def test_an_asynchronous_test_has_another(kubernetes):
    async def main():
        async with kubernetes.connect() as client:
            await run_pod(client, kubernetes.namespace)

    asyncio.run(main())
    assert kubernetes.namespace != seen[0].namespace
    assert kubernetes.url == seen[0].url
    assert kubernetes.namespace.endswith("test-an-asynchronous-test-has-another")


def test_the_namespace_of_an_earlier_test_goes(kubernetes):
    gone = kubernetes.run(lambda client: client.get(NAMESPACES.raw(), seen[0].namespace))
    assert "deletionTimestamp" in gone["metadata"]


def test_kubeconfigs_name_the_namespace(kubernetes):
    assert kubernetes.environment == {"KUBECONFIG": str(kubernetes.kubeconfig)}
    assert f"namespace: {kubernetes.namespace}" in kubernetes.kubeconfig.read_text()


def test_the_session_has_one_cluster(kubernetes, kubernetes_cluster):
    assert (kubernetes_cluster.url, kubernetes_cluster.namespace) == (kubernetes.url, "default")
    nodes = kubernetes_cluster.run(lambda client: client.list(NODES))
    assert sorted(node.metadata.name for node in nodes.items) == ["node-1", "node-2"]
"""


def run_suite(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    pytester.makeini("[pytest]\ndrydock_nodes = 2\n")
    pytester.makepyfile(SUITE)
    return pytester.runpytest_subprocess("-q", *arguments, timeout=180)


@pytest.mark.realtime
def test_tests_run_on_the_embedded_cluster(pytester: pytest.Pytester) -> None:
    run_suite(pytester, "-W", "error").assert_outcomes(passed=5)


@pytest.fixture(scope="module")
def programs() -> Path:
    """Found before `pytester` hides the user's cache."""
    return require_kubernetes().apiserver.parent


@pytest.mark.kubernetes
def test_the_same_tests_run_on_a_real_control_plane(
    programs: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(programs))
    run_suite(pytester, "--drydock=kubernetes").assert_outcomes(passed=5)


def test_without_the_programs_of_a_control_plane_tests_fail_and_say_how_to_get_them(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    result = run_suite(pytester, "--drydock=kubernetes")
    result.assert_outcomes(errors=5)
    result.stdout.fnmatch_lines(["*no kube-apiserver*fix: drydock build*"])


def test_a_wrong_runtime_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndrydock_runtime = docker\n")
    pytester.makepyfile("def test_it(kubernetes): pass")
    result = pytester.runpytest_subprocess("-q")
    result.stdout.fnmatch_lines(["*drydock_runtime must be one of simulated, process, not 'docker'*"])


def test_loading_the_plugin_imports_nothing_of_the_cluster() -> None:
    program = "import sys, drydock.pytest_plugin; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.split(".")[0] in ("drydock", "hawser", "aiohttp", "yaml")}
    assert loaded == {"drydock", "drydock.pytest_plugin"}
