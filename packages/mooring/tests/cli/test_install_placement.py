"""`mooring install` on a split cluster: it says what its own pods need, and they run once it is followed."""

import asyncio
import contextlib
import functools
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from drydock import Cluster, ControlPlane, LocalOptions, kubernetes_nodes, local_cluster
from hawser.clock import Entropy, SystemClock
from hawser.resources import PODS
from mooring import __version__
from mooring.incidents.split_nodes import demo_nodes
from packages.mooring.tests.acceptance.world import MOORING, clean_environment, run_command
from packages.mooring.tests.requirements import require_helm, require_kubectl, require_kubernetes

pytestmark = pytest.mark.realtime

CLUSTERS = ["sandbox", pytest.param("kubernetes", marks=pytest.mark.kubernetes)]
WORK = [{"key": "workload", "operator": "Equal", "value": "blast", "effect": "NoSchedule"}]


@contextlib.asynccontextmanager
async def split_cluster(kind: str, folder: Path) -> AsyncIterator[Cluster]:
    """System nodes and working nodes, all tainted; only the containers are simulated."""
    clock, entropy = SystemClock(), Entropy()
    options = LocalOptions(nodes=demo_nodes(), runtime="simulated")
    async with contextlib.AsyncExitStack() as stack:
        if kind == "kubernetes":
            require_kubernetes()
            plane = ControlPlane.start(folder / "plane", clock=clock, entropy=entropy)
            started = await stack.enter_async_context(plane)
            opened = kubernetes_nodes(started, folder / "nodes", clock, entropy, options)
        else:
            opened = local_cluster(folder / "sandbox", clock, entropy, options)
        yield await stack.enter_async_context(opened)


def deployment(printed: str) -> dict:
    return next(body for body in yaml.safe_load_all(printed) if body["kind"] == "Deployment")


async def install(cluster: Cluster, *arguments: str):
    return await asyncio.to_thread(run_command, "install", *arguments, KUBECONFIG=str(cluster.kubeconfig))


def first_steps(printed: str) -> list[str]:
    """The commands that `install` prints on stderr: a few words, a colon, the command."""
    return [line.partition(": ")[2] for line in printed.splitlines() if not line.startswith("mooring: ")]


def run_printed(command: str, kubeconfig: Path, folder: Path) -> None:
    """The printed command, typed into a shell."""
    path = f"{Path(MOORING).parent}:{os.environ['PATH']}"
    given = {**clean_environment(), "KUBECONFIG": str(kubeconfig), "PATH": path}
    run = functools.partial(subprocess.run, env=given, cwd=folder, capture_output=True, text=True, timeout=90)
    done = run(["sh", "-c", command], check=False)
    assert done.returncode == 0, done.stderr


async def until_running(cluster: Cluster, namespace: str, count: int) -> set[str]:
    """The nodes of that many pods, all Running."""
    async with asyncio.timeout(90):
        while True:
            pods = (await cluster.client.list(PODS, namespace)).items
            if len(pods) == count and all(pod.status.phase == "Running" for pod in pods):
                return {pod.spec.node_name for pod in pods}
            await asyncio.sleep(0.3)


@pytest.mark.parametrize("kind", CLUSTERS)
async def test_the_printed_deployment_runs_on_a_split_cluster_once_the_advice_is_followed(kind: str, tmp_path: Path):
    require_kubectl()
    async with split_cluster(kind, tmp_path) as cluster:
        refused = await install(cluster)
        assert refused.code == 1 and refused.out == "", "nothing that would stay Pending is piped into kubectl"
        assert "0/12 nodes are available" in refused.err and "{workload: blast}" in refused.err
        assert "--node-pool blast" in refused.err
        fix = refused.err.partition("fix: ")[2].strip()
        assert "--toleration workload=blast:NoSchedule | kubectl apply -f -" in fix

        placed = await install(cluster, "--toleration", "workload=blast:NoSchedule")
        assert placed.code == 0 and deployment(placed.out)["spec"]["template"]["spec"]["tolerations"] == WORK
        steps = first_steps(placed.err)
        assert len(steps) == 4
        for command in (*steps, fix):
            await asyncio.to_thread(run_printed, command, cluster.kubeconfig, tmp_path)
        assert all(name.startswith("work-") for name in await until_running(cluster, "mooring", 2))


async def test_a_node_pool_is_found_by_name_and_force_prints_what_does_not_fit(tmp_path: Path):
    async with split_cluster("sandbox", tmp_path) as cluster:
        pool = await install(cluster, "--node-pool", "blast")
        pod = deployment(pool.out)["spec"]["template"]["spec"]
        assert (pod["nodeSelector"], pod["tolerations"]) == ({"workload": "blast"}, WORK)
        assert "10/12 nodes are available" in pool.err

        values = await install(cluster, "--node-pool", "blast", "--values")
        image = {"repository": "mooring", "tag": __version__, "digest": ""}
        expected = {"image": image, "nodeSelector": {"workload": "blast"}, "tolerations": WORK}
        assert yaml.safe_load(values.out) == expected

        wrong = await install(cluster, "--node-pool", "blats")
        assert wrong.code == 1 and "--node-pool blast" in wrong.err.partition("fix: ")[2]

        forced = await install(cluster, "--force")
        assert forced.code == 0 and "will stay Pending" in forced.err
        assert "tolerations" not in deployment(forced.out)["spec"]["template"]["spec"]


def test_without_a_cluster_the_manifests_are_printed_with_a_note(tmp_path: Path):
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    (tmp_path / "affinity.yaml").write_text(yaml.safe_dump(affinity))
    options = ("--node-selector", "disk=ssd", "--toleration", "spot", "--affinity", f"@{tmp_path}/affinity.yaml")
    printed = run_command("install", *options, HOME=str(tmp_path))
    assert printed.code == 0 and "the cluster was not checked" in printed.err
    pod = deployment(printed.out)["spec"]["template"]["spec"]
    assert (pod["nodeSelector"], pod["affinity"]) == ({"disk": "ssd"}, affinity)
    assert pod["tolerations"] == [{"key": "spot", "operator": "Exists"}]


def test_a_node_pool_without_a_cluster_is_refused_because_its_label_is_unknown(tmp_path: Path):
    refused = run_command("install", "--node-pool", "work", HOME=str(tmp_path))
    assert (refused.code, refused.out) == (1, "") and "--node-selector and --toleration" in refused.err


def test_a_cluster_that_does_not_answer_is_a_note(tmp_path: Path):
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    config = {
        "current-context": "c",
        "clusters": [cluster],
        "contexts": [context],
        "users": [{"name": "u", "user": {}}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    printed = run_command("install", "--kubeconfig", str(tmp_path / "config"))
    assert printed.code == 0 and "the cluster was not checked" in printed.err and printed.out


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--toleration", "spot:Never"), "--toleration"),
        (("--toleration", "=x"), "--toleration"),
        (("--node-selector", "disk"), "--node-selector"),
        (("--node-pool", "a", "--node-selector", "b=c"), "--node-selector"),
        (("--affinity", "{nodes: {}}"), "--affinity"),
        (("--affinity", "@/none"), "--affinity"),
    ],
)
def test_options_that_cannot_be_read_are_refused_by_name(options: tuple[str, ...], field: str, tmp_path: Path):
    refused = run_command("install", *options, HOME=str(tmp_path))
    assert (refused.code, refused.out) == (2, "") and field in refused.err


@pytest.mark.parametrize("tolerations", [[], WORK], ids=["without tolerations", "with tolerations"])
async def test_the_notes_of_the_chart_warn_on_a_cluster_whose_nodes_are_all_tainted(tmp_path: Path, tolerations: list):
    helm, chart = require_helm(), Path(__file__).resolve().parents[4] / "deploy" / "helm"
    (tmp_path / "values.yaml").write_text(yaml.safe_dump({"tolerations": tolerations}))
    async with split_cluster("sandbox", tmp_path) as cluster:
        command = [helm, "install", "mooring", str(chart), "--namespace", "default", "--dry-run=server"]
        options = ["--kubeconfig", str(cluster.kubeconfig), "--values", str(tmp_path / "values.yaml")]
        done = await asyncio.to_thread(
            subprocess.run, [*command, *options], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    warned = "WARNING: all 12 nodes of this cluster are tainted or cordoned" in done.stdout
    assert warned is not bool(tolerations)
