"""A search over warm shards, as data: the Warmup that fetches them, and the Submission that searches next to them.

With BLAST on the machine it is a real search, otherwise a search for a word in text.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mooring.demo import blast
from mooring.demo.records import make_records
from mooring.demo.reports import report_path
from mooring.model.names import API_VERSION

Body = dict[str, Any]

PROGRAM = (sys.executable, "-m", "mooring.demo")
IMAGE = "mooring/search"
_RECORDS = 2_000
_WORDS = ("quay", "tide")


@dataclass(frozen=True, slots=True)
class Search:
    """Names, folders and sizes."""

    namespace: str
    warmup: str
    local_path: str
    folder: Path
    shards: int = 10
    node_pool: str = "blast"
    seed: int = 7

    @property
    def results(self) -> Path:
        """The folder of the reports."""
        return self.folder / "results"

    def warmup_body(self, source: Path, *, proof: str) -> Body:
        """A shard on each node, fetched with resume and verified by its content."""
        spec = {
            "dataset": self.warmup,
            "shards": self.shards,
            "placement": {"nodePool": self.node_pool},
            "image": IMAGE,
            "command": [*PROGRAM, "fetch", "--source", str(source)],
            "verify": [*PROGRAM, proof],
            "localPath": self.local_path,
            "attempts": 3,
            "attemptDelaySeconds": 1,
            "propagationSeconds": 0,
        }
        metadata = {"name": self.warmup, "namespace": self.namespace}
        return {"apiVersion": API_VERSION, "kind": "Warmup", "metadata": metadata, "spec": spec}

    def submission_spec(self, key: str, batches: list[Body]) -> Body:
        """Every batch runs where its shard is warm; then one Job merges."""
        return {
            "key": key,
            "program": sys.executable,
            "image": IMAGE,
            "requires": {"warmups": [self.warmup]},
            "placement": {"nodePool": self.node_pool, "warmup": self.warmup},
            "volumes": [{"name": "shards", "hostPath": {"path": self.local_path}}],
            "volumeMounts": [{"name": "shards", "mountPath": self.local_path, "readOnly": True}],
            "batches": batches,
            "finalizer": {"args": ["-m", "mooring.demo", "merge", "--results", str(self.results)]},
        }

    def shard_path(self, shard: int) -> str:
        """The path of a warm shard for the Jobs on its node."""
        return f"{self.local_path}/{shard:02}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """The Warmup and the Submission."""

    warmup: Body
    batches: list[Body]


def prepare_blast(search: Search, dataset: blast.Dataset) -> Prepared:
    """A Job of blastn for every batch of queries and every shard. Options are lists of tokens, so nothing is quoted."""
    batches: list[Body] = []
    for batch in range(dataset.batches):
        for shard in range(search.shards):
            name, folder = f"q{batch:02}-s{shard:02}", search.shard_path(shard)
            options = {
                "-db": f"{folder}/{blast.DATABASE}",
                "-query": str(dataset.queries(batch)),
                "-out": str(report_path(search.results, name)),
                "-evalue": blast.EVALUE,
                "-searchsp": str(blast.SEARCH_SPACE),
                "-outfmt": list(blast.OUTPUT_TOKENS),
            }
            environment = [{"name": "BLASTDB", "value": folder}]
            batches.append({"name": name, "shard": shard, "program": "blastn", "env": environment, "options": options})
    return Prepared(search.warmup_body(dataset.source, proof="verify-blast"), batches)


def prepare_text(search: Search) -> Prepared:
    """A Job for every word and every shard."""
    source = search.folder / "source"
    make_records(source, search.shards, _RECORDS, search.seed)
    batches: list[Body] = []
    for word in _WORDS:
        for shard in range(search.shards):
            name = f"{word}-s{shard:02}"
            place = ["--target", search.shard_path(shard), "--results", str(search.results)]
            arguments = ["-m", "mooring.demo", "search", "--word", word, "--name", name, *place]
            batches.append({"name": name, "shard": shard, "args": arguments})
    return Prepared(search.warmup_body(source, proof="verify"), batches)


def prepare(search: Search) -> Prepared:
    """The BLAST search if its programs are installed, otherwise the text search."""
    if not blast.is_installed():
        return prepare_text(search)
    return prepare_blast(search, blast.make_dataset(search.folder, search.shards, seed=search.seed))
