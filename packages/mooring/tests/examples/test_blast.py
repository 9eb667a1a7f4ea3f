"""examples/blast: a real nucleotide database, warmed in shards and searched where they are warm."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drydock import Drift, LocalOptions, local_cluster
from hawser.resources import JOBS, NAMESPACES, PODS
from mooring.client.connection import Connection, Endpoint
from mooring.demo import blast
from mooring.demo.reports import MERGED
from mooring.demo.search import prepare_blast
from mooring.incidents.split_nodes import demo_nodes
from mooring.kinds.resources import WARMUPS
from packages.mooring.tests.acceptance.world import running_up, until
from packages.mooring.tests.client.dock import TOKEN, Dock
from packages.mooring.tests.examples.loading import load_example
from packages.mooring.tests.requirements import require_blast

pytestmark = pytest.mark.realtime

(run,) = load_example("blast", "run")
SHARDS = 10


@pytest.fixture
def dataset(tmp_path: Path) -> blast.Dataset:
    require_blast()
    tmp_path.chmod(0o755)
    return blast.make_dataset(tmp_path / "data", SHARDS)


def silent(_: str) -> None:
    return None


async def test_a_search_that_was_killed_half_way_and_submitted_again_finishes_once(
    dataset: blast.Dataset, tmp_path: Path
):
    search = run.search_in(tmp_path / "data")
    prepared = prepare_blast(search, dataset)
    with running_up() as up:
        mooring = Connection(Endpoint(up.url, up.token))
        await run.apply_warmup(up.kubeconfig, prepared.warmup)
        run.wait_until_warm(mooring, 180, silent)
        name = run.submit(mooring, search, prepared, "killed")
        until(lambda: any(search.results.glob("*.report")), 60, "the first report")
        up.kill()
        up.start()
        mooring = Connection(Endpoint(up.url, up.token))
        assert run.submit(mooring, search, prepared, "killed") == name
        run.wait_until_done(mooring, name, 180, silent)
        jobs = up.objects("jobs", "-n", run.NAMESPACE, "-l", f"mooring.dev/submission={name}")
    assert len(jobs) == dataset.batches * dataset.shards + 1
    found = (search.results / MERGED).read_text().splitlines()
    assert found == blast.search_whole(dataset)
    assert len(found) >= 20


class Harbour:
    """A Mooring on the demo's nodes, with real processes, whose machines can be moved and whose disks can be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.dock = Dock(lambda clock, entropy: local_cluster(folder, clock, entropy, LocalOptions(nodes=demo_nodes())))

    def status(self) -> dict[str, Any]:
        found = self.dock.call(self.dock.client.get(WARMUPS.raw(), run.WARMUP, run.NAMESPACE))
        return dict(found.get("status") or {})

    def ready(self) -> bool:
        status = self.status()
        return status.get("phase") == "Ready" and status.get("nodesReady") == SHARDS

    def jobs(self) -> dict[int, Any]:
        listed = self.dock.call(self.dock.client.list(JOBS, run.NAMESPACE)).items
        return {int(job.metadata.labels["mooring.dev/shard"]): job for job in listed}

    def shard_folder(self, shard: int) -> Path:
        """Where the shard's files are on the disk of the node that holds it."""
        node = next(one["node"] for one in self.status()["shards"] if one["shard"] == shard)
        link = self._folder / "nodes" / node / "disk" / run.LOCAL_PATH.lstrip("/") / f"{shard:02}"
        return link.resolve()

    def log(self, shard: int, container: str) -> str:
        selector = f"mooring.dev/shard={shard}"
        pod = self.dock.call(self.dock.client.list(PODS, run.NAMESPACE, label_selector=selector)).items[-1]
        read = self.dock.client.logs(pod.metadata.name, run.NAMESPACE, container=container)
        return str(self.dock.call(read))


@pytest.fixture
def harbour(dataset: blast.Dataset, tmp_path: Path) -> Iterator[Harbour]:
    harbour = Harbour(tmp_path / "cluster")
    prepared = prepare_blast(run.search_in(tmp_path / "data"), dataset)
    with harbour.dock as dock:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": run.NAMESPACE}}
        dock.call(dock.client.create(NAMESPACES, namespace))
        dock.call(dock.client.create(WARMUPS, prepared.warmup, run.NAMESPACE))
        run.wait_until_warm(Connection(Endpoint(dock.url, TOKEN)), 180, silent)
        yield harbour


def test_a_rotated_node_gets_its_shard_again_and_a_flipped_byte_is_found(harbour: Harbour):
    dock = harbour.dock
    before = {shard: job.metadata.uid for shard, job in harbour.jobs().items()}

    # A machine is replaced under the same name: new uid, cold disk.
    rotated = 3
    node = next(one["node"] for one in harbour.status()["shards"] if one["shard"] == rotated)
    cold = harbour.shard_folder(rotated)
    drift = Drift(dock.client, dock.sandbox.fleet, dock.clock, dock.entropy)
    dock.call(drift.replace(node, naming="same"))
    until(lambda: harbour.ready() and harbour.jobs()[rotated].metadata.uid != before[rotated], 240, "shard 3 again")
    after = {shard: job.metadata.uid for shard, job in harbour.jobs().items()}
    assert [shard for shard in before if after[shard] != before[shard]] == [rotated]
    assert _proves(harbour.shard_folder(rotated))
    assert cold.parts[-4:] == harbour.shard_folder(rotated).parts[-4:]

    # One byte of one shard flips on its disk; whoever looks again finds it.
    flipped = 5
    sequence = harbour.shard_folder(flipped) / "db.nsq"
    damaged = bytearray(sequence.read_bytes())
    damaged[200] ^= 1
    sequence.write_bytes(bytes(damaged))
    assert not _proves(harbour.shard_folder(flipped))
    job = harbour.jobs()[flipped]
    dock.call(
        dock.client.delete(JOBS, job.metadata.name, run.NAMESPACE, uid=job.metadata.uid, propagation="Background")
    )
    until(lambda: flipped in harbour.jobs() and harbour.jobs()[flipped].metadata.uid != job.metadata.uid, 60, "a Job")
    until(harbour.ready, 120, "shard 5 again")
    assert "the content is wrong" in harbour.log(flipped, "verify")
    assert _proves(harbour.shard_folder(flipped))


def _proves(folder: Path) -> bool:
    """Whether the example's own proof accepts a shard."""
    environment = {**os.environ, "MOORING_SHARD_PATH": str(folder)}
    command = [sys.executable, "-m", "mooring.demo", "verify-blast"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0
