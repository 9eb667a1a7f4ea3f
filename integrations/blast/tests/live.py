"""The demo beside a `mooring up`, as its users start it, and one search in the database that is not cut into shards."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mooring.demo.blast import Dataset
from mooring_blast.databases.manifest import Catalogue
from mooring_blast.searches.hits import format_hits, merge, read_hits
from mooring_blast.searches.plan import make_plan
from mooring_blast.searches.query import parse_fasta
from mooring_blast.searches.steps import blastn_command
from packages.mooring.tests.acceptance.world import Up, until

PROGRAM = str(Path(sys.executable).with_name("mooring-blast"))
SHARDS = 4
WITHIN = 240.0


class Demo:
    """The running demo."""

    def __init__(self, up: Up) -> None:
        self.up = up
        self.log = up.home / "demo.log"
        self.dataset = Dataset(up.state / "blast", SHARDS, 2)

    @contextmanager
    def running(self) -> Iterator[None]:
        with open(self.log, "wb") as log:
            command = [PROGRAM, "demo", "--state", str(self.up.state), "--listen", "127.0.0.1:0"]
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            until(lambda: self.page or process.poll() is not None, WITHIN, f"the page, see {self.log}")
            assert process.poll() is None, self.log.read_text()
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)

    @property
    def page(self) -> str:
        """The address; empty before it is served."""
        found = re.search(r"^page: (\S+)$", self.log.read_text(), re.MULTILINE)
        return found[1] if found else ""

    def query(self, batch: int) -> str:
        return self.dataset.queries(batch).read_text()

    def warm_jobs(self, shard: int) -> list[dict[str, Any]]:
        """The Jobs that fetch a shard."""
        return self.up.objects("jobs", "-n", "blast", "-l", f"mooring.dev/shard={shard},mooring.dev/dataset")

    def local_shard(self, shard: int) -> Path:
        """Where its files are on the disk of the node that has it."""
        node = self.shard_node(shard)
        [link] = self.up.state.glob(f"**/nodes/{node}/disk/var/lib/blast/{shard:02}")
        return link.resolve()

    def shard_node(self, shard: int) -> str:
        """The node that has a shard."""
        shards = self.up.get("/v1/warmups/blast/nt")["status"]["shards"]
        return str(next(one["node"] for one in shards if one["shard"] == shard))


def search_whole(dataset: Dataset, text: str, folder: Path) -> str:
    """The hits of one unsharded search, as a table. The number of its letters is counted in its FASTA."""
    fasta = dataset.whole.with_suffix(".fa").read_text().splitlines()
    letters = sum(len(line) for line in fasta if not line.startswith(">"))
    plan, [batch] = make_plan("whole", Catalogue("whole", "g1", ("",), letters, 200), parse_fasta(text))
    query, report = folder / "whole.fa", folder / "whole.tsv"
    query.write_text(batch)
    environment = {**os.environ, "BLASTDB": str(dataset.whole.parent)}
    subprocess.run(blastn_command(plan, dataset.whole, query, report), check=True, env=environment)
    return format_hits(merge(read_hits(report.read_text(), "whole"), plan.queries, plan.targets)).decode()
