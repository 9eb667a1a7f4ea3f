"""What the example asks of Mooring, as data: a Warmup of the shards, and a Submission that searches them."""

import sys
from pathlib import Path
from typing import Any

from dataset import DATABASE, EVALUE, OUTPUT_TOKENS, SEARCH_SPACE, Dataset

from mooring.model.names import API_VERSION

Body = dict[str, Any]

HERE = Path(__file__).resolve().parent
NAMESPACE = "blast"
WARMUP = "synthetic-nt"
LOCAL_PATH = "/var/lib/blast"
IMAGE = "example/blast"


def warmup_manifest(dataset: Dataset, generation: str = "1") -> Body:
    """A shard on each node of the pool, fetched with resume and proven by checksums and blastdbcheck."""
    spec = {
        "dataset": WARMUP,
        "generation": generation,
        "shards": dataset.shards,
        "placement": {"nodePool": "blast"},
        "image": IMAGE,
        "command": [sys.executable, "-m", "mooring.demo", "fetch", "--source", str(dataset.source)],
        "verify": [sys.executable, str(HERE / "verify.py")],
        "localPath": LOCAL_PATH,
        "attempts": 3,
        "attemptDelaySeconds": 1,
        "propagationSeconds": 0,
    }
    metadata = {"name": WARMUP, "namespace": NAMESPACE}
    return {"apiVersion": API_VERSION, "kind": "Warmup", "metadata": metadata, "spec": spec}


def submission_spec(dataset: Dataset, key: str, results: Path) -> Body:
    """A Job for every batch of queries and every shard, where that shard is warm; then one that merges."""
    batches = [
        _batch(dataset, batch, shard, results) for batch in range(dataset.batches) for shard in range(dataset.shards)
    ]
    return {
        "key": key,
        "program": "blastn",
        "image": IMAGE,
        "requires": {"warmups": [WARMUP]},
        "placement": {"nodePool": "blast", "warmup": WARMUP},
        "volumes": [{"name": "shards", "hostPath": {"path": LOCAL_PATH}}],
        "volumeMounts": [{"name": "shards", "mountPath": LOCAL_PATH, "readOnly": True}],
        "batches": batches,
        "finalizer": {"program": sys.executable, "args": [str(HERE / "merge.py"), str(results)]},
    }


def _batch(dataset: Dataset, batch: int, shard: int, results: Path) -> Body:
    folder = f"{LOCAL_PATH}/{shard:02}"
    return {
        "name": f"q{batch:02}-s{shard:02}",
        "shard": shard,
        "env": [{"name": "BLASTDB", "value": folder}],
        "options": {
            "-db": f"{folder}/{DATABASE}",
            "-query": str(dataset.queries(batch)),
            "-out": str(results / f"q{batch:02}-s{shard:02}.report"),
            "-evalue": EVALUE,
            "-searchsp": str(SEARCH_SPACE),
            "-outfmt": list(OUTPUT_TOKENS),
        },
    }
