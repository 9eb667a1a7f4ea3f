"""Searches on a real `mooring up`: the README as written, a node that is replaced, a control plane that is killed."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from hawser.clock import SystemClock
from integrations.blast.tests.requirements import require_object_store
from integrations.blast.tests.worlds import silent
from mooring.demo.blast import Dataset
from mooring_blast.databases.manifest import Catalogue
from mooring_blast.page.client import PageClient
from mooring_blast.searches.hits import format_hits, merge, read_hits
from mooring_blast.searches.plan import make_plan
from mooring_blast.searches.query import parse_fasta
from mooring_blast.searches.steps import blastn_command
from packages.mooring.tests.acceptance.world import Up, processes_of, running_up, until
from packages.mooring.tests.requirements import require_blast, require_kubectl

pytestmark = [pytest.mark.realtime, pytest.mark.slow]

README = Path(__file__).parents[1] / "README.md"
PROGRAM = str(Path(sys.executable).with_name("mooring-blast"))
WITHIN = 240.0


def search_whole(dataset: Dataset, text: str, folder: Path) -> str:
    """The hits of one search in the database that is not cut into shards."""
    letters = sum(len(query) for query in _sequences(dataset))
    catalogue = Catalogue("whole", "g1", ("",), letters, 200)
    plan, [batch] = make_plan("whole", catalogue, parse_fasta(text))
    query, report = folder / "whole.fa", folder / "whole.tsv"
    query.write_text(batch)
    environment = {**os.environ, "BLASTDB": str(dataset.whole.parent)}
    subprocess.run(blastn_command(plan, dataset.whole, query, report), check=True, env=environment)
    return format_hits(merge(read_hits(report.read_text(), "whole"), plan.queries, plan.targets)).decode()


def _sequences(dataset: Dataset) -> list[str]:
    return [line for line in dataset.whole.with_suffix(".fa").read_text().splitlines() if not line.startswith(">")]


class Demo:
    """The demo beside a `mooring up`, as its users start it."""

    def __init__(self, up: Up) -> None:
        self.up = up
        self.folder = up.home / "blast"
        self.log = up.home / "demo.log"
        self.dataset = Dataset(self.folder, 10, 2)

    @contextmanager
    def running(self) -> Iterator[None]:
        arguments = ("demo", "--state", str(self.up.state), "--folder", str(self.folder), "--listen", "127.0.0.1:0")
        with open(self.log, "wb") as log:
            process = subprocess.Popen([PROGRAM, *arguments], stdout=log, stderr=log)
        try:
            until(lambda: self.page() or process.poll() is not None, WITHIN, "the page")
            assert process.poll() is None, self.log.read_text()
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)

    def page(self) -> str:
        found = re.search(r"^page: (\S+)$", self.log.read_text(), re.MULTILINE)
        return found[1] if found else ""

    def query(self, batch: int) -> str:
        return self.dataset.queries(batch).read_text()


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    require_blast()
    require_kubectl()
    require_object_store()
    with running_up("--no-demo") as up:
        demo = Demo(up)
        with demo.running():
            yield demo


async def search(demo: Demo, name: str, text: str) -> str:
    async with aiohttp.ClientSession() as session:
        return await PageClient(session, demo.page(), SystemClock()).search(name, text, silent, WITHIN)


async def test_the_hits_are_those_of_one_search_over_the_whole(demo: Demo, tmp_path: Path) -> None:
    text = demo.query(0) + demo.query(1)
    found = await search(demo, "first", text)
    assert found == search_whole(demo.dataset, text, tmp_path)
    assert len(found.splitlines()) > 20
    jobs = demo.up.objects("jobs", "-n", "blast", "-l", "mooring.dev/submission")
    assert len(jobs) == 10 + 1


async def test_a_search_survives_a_replaced_node_and_a_killed_control_plane(demo: Demo, tmp_path: Path) -> None:
    text = demo.query(1)
    running = asyncio.create_task(search(demo, "moved", text))
    shards = demo.up.get("/v1/warmups/blast/nt")["status"]["shards"]
    node = next(one["node"] for one in shards if one["shard"] == 3)
    drained = await asyncio.to_thread(
        demo.up.kubectl, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", check=False
    )
    assert drained.code == 0, drained.err
    await asyncio.to_thread(demo.up.kubectl, "delete", "node", node)
    assert await running == search_whole(demo.dataset, text, tmp_path)


def test_keys_of_the_store_are_in_the_secret_and_nowhere_else(demo: Demo) -> None:
    import base64
    import json

    secret = json.loads(demo.up.kubectl("get", "secret", "blast-store", "-n", "blast", "-o", "json").out)
    keys = [base64.b64decode(value).decode() for value in secret["data"].values()]
    assert len(keys) == 2
    kinds = "pods,jobs,warmups,submissions,events,configmaps"
    everything = demo.up.kubectl("get", kinds, "-A", "-o", "json").out + demo.log.read_text() + demo.up.err()
    commands = "\n".join(processes_of(demo.up.home).values())
    assert "fetch" in everything
    assert not any(key in everything or key in commands for key in keys)
