"""Real DuckDB queries on workers whose node is drained: by kubectl and by drift, on the sandbox and on Kubernetes."""

import contextlib
import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from drydock import (
    Cluster,
    ControlPlane,
    DrainPolicy,
    Drift,
    LocalOptions,
    kubernetes_nodes,
    local_cluster,
    plain_nodes,
)
from hawser.clock import Entropy, SystemClock
from hawser.resources import NODES
from mooring.client import Mooring
from packages.mooring.tests.acceptance.world import until
from packages.mooring.tests.client.dock import TOKEN, Dock
from packages.mooring.tests.examples.readmes import running_example
from packages.mooring.tests.requirements import require_kubectl, require_kubernetes

pytestmark = [pytest.mark.slow, pytest.mark.realtime]

SECONDS = float(os.environ.get("MOORING_QUERY_SECONDS", "12"))  # a minute in the example itself
FOLDER = Path(__file__).parents[4] / "examples" / "queries"


def load(name: str) -> ModuleType:
    """A module of the example, which is no package."""
    spec = importlib.util.spec_from_file_location(f"queries_example_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


pytest.importorskip("duckdb")
queries, pool = load("queries"), load("pool")


class World:
    """A dock on a cluster whose pods are local processes, and the hands that move its nodes."""

    def __init__(self, dock: Dock, sandbox: Cluster) -> None:
        self.dock = dock
        self.sandbox = sandbox
        self.mooring = Mooring(dock.url, TOKEN)
        self.drift = Drift(sandbox.client, sandbox.fleet, SystemClock(), Entropy())

    def node_of(self, worker: str) -> str:
        return next(
            item.node for item in self.dock.call(self.dock.mooring.queries.fleet.workers()) if item.name == worker
        )

    def reopen(self, node: str) -> None:
        """Uncordon, and take the taint of a drain away."""
        self.dock.call(self.sandbox.client.merge_patch(NODES, node, {"spec": {"unschedulable": None, "taints": None}}))


@contextlib.contextmanager
def open_world(folder: Path, cluster: str):
    opened: list[Cluster] = []
    options = LocalOptions(nodes=plain_nodes(3))

    @contextlib.asynccontextmanager
    async def start(clock, entropy):
        async with contextlib.AsyncExitStack() as stack:
            if cluster == "kubernetes":
                plane = await stack.enter_async_context(
                    ControlPlane.start(folder / "plane", clock=clock, entropy=entropy)
                )
                nodes = kubernetes_nodes(plane, folder / "nodes", clock, entropy, options)
            else:
                nodes = local_cluster(folder / "sandbox", clock, entropy, options)
            opened.append(await stack.enter_async_context(nodes))
            yield opened[0]

    with Dock(start) as dock:
        yield World(dock, opened[0])


@pytest.fixture(scope="module", params=["sandbox", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
def world(request, tmp_path_factory):
    if request.param == "kubernetes":
        require_kubernetes()
    require_kubectl()
    with open_world(tmp_path_factory.mktemp(request.param), request.param) as opened:
        yield opened


class Query(threading.Thread):
    """A query under way."""

    def __init__(self, address: str, sql: str) -> None:
        super().__init__(daemon=True)
        self._address, self._sql = address, sql
        self.answer: dict[str, Any] | None = None
        self.died = ""
        self.start()

    def run(self) -> None:
        try:
            self.answer = queries.ask(self._address, pool.PORT, self._sql, timeout_seconds=SECONDS * 10 + 60)
        except queries.QueryDied as died:
            self.died = str(died)


def drain_with_kubectl(world: World, node: str) -> subprocess.Popen[str]:
    command = ["kubectl", "--kubeconfig", str(world.sandbox.kubeconfig), "drain", node, "--ignore-daemonsets"]
    return subprocess.Popen(
        [*command, "--delete-emptydir-data", f"--timeout={SECONDS * 10 + 60:.0f}s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("by", ["kubectl", "drift"])
def test_a_query_returns_its_rows_though_its_node_is_drained_under_it(world: World, by: str):
    key = world.dock.pool(**pool.pool_spec(warm=2, max=5, protection={"graceSeconds": 2, "ceilingSeconds": 600}))
    draining: threading.Thread | None = None
    command: subprocess.Popen[str] | None = None
    with world.mooring.claim(key, owner="analyst", ttl="5m", wait="30s") as claim:
        node = world.node_of(claim.worker.name)
        rows = queries.calibrate(claim.worker.address, pool.PORT, SECONDS)
        query = Query(claim.worker.address, queries.heavy_sql(rows))
        if by == "kubectl":
            command = drain_with_kubectl(world, node)
        else:
            policy = DrainPolicy(deadline_seconds=None, retry_seconds=1.0)
            drained = world.drift.drain(node, policy)
            draining = threading.Thread(target=lambda: world.dock.call_long(drained), daemon=True)
            draining.start()
        until(lambda: _drains(world, node), 20, "the node drains")
        with world.mooring.claim(key, owner="somebody-else", ttl="1m", wait="60s") as other:
            assert world.node_of(other.worker.name) != node
            assert queries.ask(other.worker.address, pool.PORT, "SELECT 42 AS answer")["rows"] == [[42]]
        assert query.is_alive(), "the query was too short for its node to be drained meanwhile"
        query.join()
        assert query.died == "" and query.answer is not None
        assert [tuple(row[:3]) for row in query.answer["rows"]] == queries.expected(rows)
    if command is not None:
        told, _ = command.communicate(timeout=60)
        assert command.returncode == 0, told
        assert "disruption budget" in told and f"node/{node} drained" in told
    if draining is not None:
        draining.join(60)
        assert not draining.is_alive()
    until(lambda: claim.worker.name not in _names_on(world, node), 60, "the worker left its node")
    world.reopen(node)


def test_the_command_of_the_readme_works(tmp_path: Path):
    require_kubectl()
    with running_example("queries", tmp_path, f"--seconds {SECONDS}") as (_, done):
        assert done.returncode == 0, done.stdout + done.stderr
        assert "the drain waited for it, and ended with 0" in done.stdout


def test_without_protection_the_query_dies(world: World):
    with world.dock.paused("busy-is-protected"):
        spec = pool.pool_spec(warm=2, max=5, protection={"graceSeconds": 2, "budget": False})
        key = world.dock.pool(**spec)
        claim = world.mooring.claim(key, owner="analyst", ttl="5m", wait="30s")
        with claim:
            node = world.node_of(claim.worker.name)
            rows = queries.calibrate(claim.worker.address, pool.PORT, SECONDS)
            query = Query(claim.worker.address, queries.heavy_sql(rows))
            command = drain_with_kubectl(world, node)
            query.join(SECONDS * 5 + 60)
            assert query.died and query.answer is None
            claim.detach()
        told, _ = command.communicate(timeout=60)
        assert command.returncode == 0, told
        world.reopen(node)


def _drains(world: World, node: str) -> bool:
    return any(item.draining for item in world.dock.call(world.dock.mooring.queries.fleet.nodes()) if item.name == node)


def _names_on(world: World, node: str) -> set[str]:
    return {item.name for item in world.dock.call(world.dock.mooring.queries.fleet.workers(node=node))}
