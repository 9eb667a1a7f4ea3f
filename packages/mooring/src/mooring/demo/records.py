"""Synthetic text records from a seed, in shards: used where no BLAST is installed."""

from pathlib import Path

from hawser.clock import Entropy
from mooring.demo.shards import CHECKSUMS, seal, shard_folder

RECORDS = "records.txt"
_VOCABULARY = (
    "anchor ballast beacon bow buoy cable capstan cleat compass crew dock fender fathom galley harbour hawser "
    "helm hull jetty keel knot lantern mast mooring pier port quay reef rigging rudder sail shoal stern tide wake"
)
_WORDS = _VOCABULARY.split()
_RECORD_WORDS = 12


def make_records(root: Path, shards: int, records: int, seed: int) -> None:
    """Write every missing shard; the same seed gives the same text."""
    for shard in range(shards):
        folder = shard_folder(root, shard)
        if (folder / CHECKSUMS).exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        entropy = Entropy(seed * 1_000 + shard)
        lines = [f"{shard:02}-{number:05} {_record(entropy)}\n" for number in range(records)]
        (folder / RECORDS).write_text("".join(lines))
        seal(folder)


def search(folder: Path, word: str) -> list[str]:
    """The records of a shard that contain a word."""
    lines = (folder / RECORDS).read_text().splitlines()
    return [line for line in lines if word in line.split()[1:]]


def _record(entropy: Entropy) -> str:
    return " ".join(_WORDS[entropy.below(len(_WORDS))] for _ in range(_RECORD_WORDS))
