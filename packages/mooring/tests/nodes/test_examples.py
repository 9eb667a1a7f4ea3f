"""The examples as real containers on real nodes: CI runners, DuckDB behind a drain."""

import json
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mooring.client import Mooring
from mooring.client.connection import Connection
from packages.mooring.tests.chart.rendering import Body
from packages.mooring.tests.examples.loading import EXAMPLES as SCRIPTS
from packages.mooring.tests.examples.loading import load_example
from packages.mooring.tests.nodes.images import EXAMPLES
from packages.mooring.tests.nodes.installation import SYSTEM_NODE, Installation, manifest

pytestmark = [pytest.mark.nodes, pytest.mark.slow, pytest.mark.realtime]

jobs, runners = load_example("runners", "run", "pool")
(repositories,) = load_example("runners", "repository")
query_pool, queries = load_example("queries", "pool", "queries")

SHARED = "/mnt/shared"
QUERY_SECONDS = 15.0
JOBS = 10


def in_image(container: Body) -> Body:
    """A container of an example, which names this machine's Python and files, as one of the image."""
    command = ["python3" if word == sys.executable else word for word in container["command"]]
    command = [word.replace(str(SCRIPTS), "/examples") for word in command]
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return {**container, "image": EXAMPLES, "command": command, "env": [address]}


def shared_by(folder: Path) -> tuple[Body, Body]:
    """A volume with the nodes' shared folder, mounted where this machine has it: paths are the same everywhere."""
    return {"name": "shared", "hostPath": {"path": SHARED}}, {"name": "shared", "mountPath": str(folder)}


@contextmanager
def namespace(mooring: Installation, name: str) -> Iterator[None]:
    mooring.kubectl("create", "namespace", name)
    try:
        yield
    finally:
        mooring.kubectl("delete", "namespace", name, "--wait=false")


def open_folder(mooring: Installation, name: str) -> Path:
    """A folder that every pod may write to."""
    folder = mooring.nodes.shared / name
    folder.mkdir()
    folder.chmod(0o777)
    return folder


class RunnerJobs(jobs.Jobs):  # type: ignore[misc, name-defined]
    """The jobs of the example. The kernel kills the runner: its process is in another container."""

    def __init__(self, client: Mooring, repository: Path, notes: Path, mooring: Installation) -> None:
        super().__init__(client, repository, notes)
        self.mooring = mooring

    def kill_a_runner(self) -> None:
        self.mooring.until(lambda: bool(self.runners_of(jobs.KILLED)), f"job {jobs.KILLED} runs", 90)
        pod = self.notes_of(jobs.KILLED)[0].split()[1]  # the host name of a container is its pod's name
        self.mooring.nodes.inject("oom", f"{runners.NAMESPACE}/{pod}")


def mint_pod() -> list[Body]:
    """The example's mint, as a pod with a Service."""
    code = (
        "import sys; sys.path.insert(0, '/examples/runners'); import mint; "
        "mint.ThreadingHTTPServer(('', 8000), mint._Handler).serve_forever()"
    )
    container = {
        "name": "mint",
        "image": EXAMPLES,
        "command": ["python3", "-c", code],
        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
    }
    labels = {"app": "mint"}
    service = {"spec": {"selector": labels, "ports": [{"port": 8000}]}}
    return [
        manifest(
            "v1",
            "Pod",
            "mint",
            runners.NAMESPACE,
            {"spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}},
            labels,
        ),
        manifest("v1", "Service", "mint", runners.NAMESPACE, service),
    ]


def test_every_job_of_the_runners_is_reported_once_though_a_runner_is_killed_and_a_mint_fails(
    mooring: Installation,
) -> None:
    folder = open_folder(mooring, "runners")
    repository = repositories.make_repository(folder / "repository")
    body = runners.manifest(f"http://mint.{runners.NAMESPACE}:8000/mint")
    spec = body["spec"]["template"]["spec"]
    volume, mount = shared_by(mooring.nodes.shared)
    spec["containers"] = [{**in_image(spec["containers"][0]), "volumeMounts": [mount]}]
    spec["volumes"] = [volume]
    with namespace(mooring, runners.NAMESPACE), mooring.operator() as endpoint:
        mooring.apply(*mint_pod())
        mooring.kubectl("-n", runners.NAMESPACE, "wait", "--for=condition=Ready", "pod/mint", "--timeout=50s")
        mooring.kubectl("-n", runners.NAMESPACE, "apply", "-f", "-", text=json.dumps(body))
        mooring.until_idle(runners.NAME, runners.RUNNERS, runners.NAMESPACE)
        work = RunnerJobs(Mooring.at(endpoint), repository, folder, mooring)
        with ThreadPoolExecutor(jobs.AT_ONCE + 1) as threads:
            killed = threads.submit(work.kill_a_runner)
            reports = list(threads.map(work.run, range(1, JOBS + 1)))
            killed.result()
        claims = runners.claims(Connection(endpoint))
    for report in reports:
        assert report.exit_code == (1 if report.job in jobs.BROKEN else 0), report
        assert report.starts == (2 if report.job == jobs.KILLED else 1), report
        assert f"token-of-team-{report.job % 4}" in report.output
    assert sum(report.asked - 1 for report in reports) == 1, "the mint failed once"
    assert sorted(claim["state"] for claim in claims) == ["failed"] + ["released"] * JOBS


class Query(threading.Thread):
    """A query under way, from outside of the cluster to the worker's own address."""

    def __init__(self, address: str, rows: int) -> None:
        super().__init__(daemon=True)
        self.answer: Body | None = None
        self.died = ""
        self._address, self._rows = address, rows
        self.start()

    def run(self) -> None:
        try:
            self.answer = queries.ask(self._address, query_pool.PORT, queries.heavy_sql(self._rows), 300.0)
        except queries.QueryDied as died:
            self.died = str(died)


def node_of(mooring: Installation, pod: str) -> str:
    return str(mooring.get("-n", query_pool.NAMESPACE, "pod", pod)["spec"]["nodeName"])


def test_a_drain_waits_for_a_query_which_ends_by_itself_and_returns_its_rows(mooring: Installation) -> None:
    body = query_pool.pool_manifest(protection={"ceilingSeconds": 600, "graceSeconds": 2})
    pod = body["spec"]["template"]["spec"]
    pod["containers"] = [in_image(pod["containers"][0])]
    elsewhere = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [SYSTEM_NODE]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [elsewhere]}]}
    pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    key = f"{query_pool.NAMESPACE}/{query_pool.NAME}"
    with namespace(mooring, query_pool.NAMESPACE):
        mooring.apply(body)
        mooring.until_idle(query_pool.NAME, 2, query_pool.NAMESPACE)
        claiming: Any = {"owner": "analyst", "ttl": "5m", "wait": "60s", "detached": True}
        with mooring.operator() as endpoint, Mooring.at(endpoint).claim(key, **claiming) as claim:
            worker, held = claim.worker, claim.detach()
        node = node_of(mooring, worker.name)
        rows = queries.calibrate(worker.address, query_pool.PORT, QUERY_SECONDS)
        query = Query(worker.address, rows)
        drain = mooring.kubectl_process(
            "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=200s"
        )
        mooring.until(lambda: bool(mooring.get("node", node)["spec"].get("unschedulable")), "cordoned")
        query.join(240)
        assert (query.died, query.is_alive()) == ("", False)
        assert query.answer is not None
        assert [tuple(row[:3]) for row in query.answer["rows"]] == queries.expected(rows)
        assert drain.poll() is None, "the drain waits for the session"
        # The drain may have evicted the replica behind the first port-forward.
        mooring.kubectl("-n", "mooring", "rollout", "status", "deployment/mooring", "--timeout=50s")
        with mooring.operator() as endpoint, Mooring.at(endpoint).attach(held):
            pass  # the end of the block releases it
        said, _ = drain.communicate(timeout=220)
        assert drain.returncode == 0, said
        assert "disruption budget" in said and f"node/{node} drained" in said
        mooring.kubectl("uncordon", node)
