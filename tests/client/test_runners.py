"""Workers as real processes in the embedded cluster: projected tokens, real commands, nothing left behind."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from mooring.client import Mooring
from mooring.sandbox.cluster import LocalOptions, local_sandbox, plain_nodes
from tests.client.dock import TOKEN, Dock

PORT = 8000


@pytest.fixture
def dock(tmp_path):
    options = LocalOptions(nodes=plain_nodes(2))
    with Dock(lambda clock, entropy: local_sandbox(tmp_path, clock, entropy, options)) as opened:
        yield opened


def runner_template(url):
    container = {
        "name": "runner",
        "image": "mooring/worker",
        "command": [sys.executable, "-m", "mooring.client.worker", "--port", str(PORT)],
        "env": [{"name": "MOORING_URL", "value": url}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "mooring", "mountPath": "/var/run/secrets/mooring", "readOnly": True}],
    }
    token = {"serviceAccountToken": {"audience": "mooring-dispatch", "path": "token", "expirationSeconds": 3600}}
    volume = {"name": "mooring", "projected": {"sources": [token]}}
    return {"spec": {"containers": [container], "volumes": [volume]}}


def runner_pool(dock, **spec):
    wanted = {"dispatch": "Poll", "serviceAccount": "PerWorker", "protection": {"graceSeconds": 5}, **spec}
    return dock.pool(template=runner_template(dock.url), **wanted)


def test_jobs_run_on_polling_workers_and_every_result_comes_back_once(dock):
    pool = runner_pool(dock, warm=2, max=2, reuse="Never")
    mooring = Mooring(dock.url, TOKEN)

    def job(number):
        payload = {"command": ["sh", "-c", f"echo job {number} at $POD_IP; exit {number}"]}
        return mooring.run(pool, owner=f"owner-{number}", payload=payload, wait="60s", timeout="60s", ttl="20s")

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(job, range(4)))
    assert [result.exit_code for result in results] == [0, 1, 2, 3]
    assert [result.output.split(" at ")[0] for result in results] == ["job 0", "job 1", "job 2", "job 3"]
    assert dock.open_claims(pool) == 0


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
