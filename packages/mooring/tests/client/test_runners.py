"""Workers as real processes with projected tokens. tests/examples/test_runners.py runs many of them."""

import contextlib
import sys

import pytest

from drydock import ControlPlane, LocalOptions, kubernetes_nodes, local_cluster, plain_nodes
from mooring.client import Mooring
from packages.mooring.tests.client.dock import TOKEN, Dock
from packages.mooring.tests.requirements import require_kubernetes

PORT = 8000


@pytest.fixture
def dock(tmp_path):
    options = LocalOptions(nodes=plain_nodes(2))
    with Dock(lambda clock, entropy: local_cluster(tmp_path, clock, entropy, options)) as opened:
        yield opened


@contextlib.asynccontextmanager
async def real_cluster(folder, clock, entropy):
    """A real control plane whose one node runs pods as local processes."""
    async with (
        ControlPlane.start(folder / "plane", clock=clock, entropy=entropy) as plane,
        kubernetes_nodes(plane, folder / "nodes", clock, entropy, LocalOptions(nodes=plain_nodes(1))) as cluster,
    ):
        yield cluster


@pytest.mark.kubernetes
def test_on_a_real_control_plane_a_template_of_one_command_is_enough_too(tmp_path):
    require_kubernetes()
    with Dock(lambda clock, entropy: real_cluster(tmp_path, clock, entropy)) as dock:
        pool = runner_pool(dock)
        result = Mooring(dock.url, TOKEN).run(pool, owner="acme", payload={"command": ["echo", "ahoy"]}, timeout="50s")
        assert (result.exit_code, result.output) == (0, "ahoy\n")


def runner_template():
    container = {
        "name": "runner",
        "image": "mooring/worker",
        "command": [sys.executable, "-m", "mooring.client.worker", "--port", str(PORT)],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": PORT}, "periodSeconds": 1},
    }
    return {"spec": {"containers": [container]}}


def runner_pool(dock, **spec):
    wanted = {"dispatch": "Poll", "serviceAccount": "PerWorker", "protection": {"graceSeconds": 5}, **spec}
    return dock.pool(template=runner_template(), **wanted)


def test_a_job_whose_runner_is_killed_is_started_over_and_reported_once(dock, tmp_path):
    pool = runner_pool(dock)
    starts = tmp_path / "starts"
    first_time = f"test $(wc -l < {starts}) = 1 && kill -9 $PPID; echo finished"
    payload = {"command": ["sh", "-c", f"echo $MOORING_EPOCH >> {starts}; {first_time}"]}
    result = Mooring(dock.url, TOKEN).run(pool, owner="acme", payload=payload, ttl="6s", retryable=True, timeout="50s")
    assert (result.exit_code, result.output) == (0, "finished\n")
    epochs = [int(line) for line in starts.read_text().split()]
    assert len(epochs) == 2 and epochs[0] < epochs[1]
    assert dock.open_claims(pool) == 0
