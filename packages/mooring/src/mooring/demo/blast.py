"""A BLAST nucleotide database in shards, and queries in batches: synthetic sequences from a seed."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hawser.clock import Entropy
from mooring.demo.shards import CHECKSUMS, seal, shard_folder
from mooring.demo.taxonomy import write_taxid_map, write_taxonomy

# A search in a shard must score hits like a search in the whole: with one search space the e-values are equal.
SEARCH_SPACE = 60_000_000
EVALUE = "1e-10"
OUTPUT_TOKENS = ("7", "std", "staxids", "ssciname")
DATABASE = "db"
_LETTERS = "ACGT"
_SEQUENCES = 200
_QUERY_LETTERS = 300
_MUTATIONS = 15


@dataclass(frozen=True, slots=True)
class Strand:
    """A named sequence."""

    name: str
    letters: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """The folders of a dataset."""

    root: Path
    shards: int
    batches: int

    @property
    def source(self) -> Path:
        """The shards, as a storage would hold them."""
        return self.root / "source"

    @property
    def whole(self) -> Path:
        """The unsharded database, for comparison."""
        return self.root / "whole" / DATABASE

    def queries(self, batch: int) -> Path:
        """The queries of one batch."""
        return self.root / "queries" / f"batch-{batch:02}.fa"


def is_installed() -> bool:
    """Whether this machine has the programs of BLAST."""
    return all(shutil.which(program) for program in ("blastn", "makeblastdb", "blastdbcheck"))


def check_database(folder: Path, name: str = DATABASE) -> str:
    """What BLAST finds wrong with a shard; empty if nothing."""
    environment = {**os.environ, "BLASTDB": str(folder)}
    command = ["blastdbcheck", "-db", str(folder / name)]
    checked = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    return "" if checked.returncode == 0 else checked.stdout + checked.stderr


def make_dataset(root: Path, shards: int = 10, batches: int = 2, seed: int = 7) -> Dataset:
    """Create everything that does not exist yet."""
    dataset = Dataset(root, shards, batches)
    chance = Entropy(seed)
    everything = [_sequence(f"seq{number:04}", chance) for number in range(_SEQUENCES)]
    for shard in range(shards):
        folder = shard_folder(dataset.source, shard)
        if not (folder / CHECKSUMS).exists():
            _make_database(folder / DATABASE, everything[shard::shards])
            seal(folder)
    if not dataset.whole.with_suffix(".nin").exists():
        _make_database(dataset.whole, everything)
    queries = [_query(f"query{number:03}", everything, chance) for number in range(10 * batches)]
    for batch in range(batches):
        dataset.queries(batch).parent.mkdir(parents=True, exist_ok=True)
        dataset.queries(batch).write_text(_fasta(queries[batch::batches]))
    return dataset


def _make_database(path: Path, sequences: Sequence[Strand]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fasta = path.with_suffix(".fa")
    fasta.write_text(_fasta(sequences))
    taxa = path.with_suffix(".taxids")
    write_taxid_map(taxa, [sequence.name for sequence in sequences])
    write_taxonomy(path.parent)
    command = ["makeblastdb", "-in", str(fasta), "-dbtype", "nucl", "-parse_seqids", "-title", "synthetic"]
    subprocess.run([*command, "-taxid_map", str(taxa), "-out", str(path)], check=True, capture_output=True)


def _sequence(name: str, chance: Entropy) -> Strand:
    return Strand(name, "".join(_letter(chance) for _ in range(800 + chance.below(700))))


def _query(name: str, sequences: Sequence[Strand], chance: Entropy) -> Strand:
    """A part of some sequence with a few letters changed: it has a hit, but not a perfect one."""
    letters = sequences[chance.below(len(sequences))].letters
    start = chance.below(len(letters) - _QUERY_LETTERS)
    piece = list(letters[start : start + _QUERY_LETTERS])
    for _ in range(_MUTATIONS):
        piece[chance.below(_QUERY_LETTERS)] = _letter(chance)
    return Strand(name, "".join(piece))


def _letter(chance: Entropy) -> str:
    return _LETTERS[chance.below(len(_LETTERS))]


def _fasta(sequences: Sequence[Strand]) -> str:
    return "".join(f">{sequence.name}\n{sequence.letters}\n" for sequence in sequences)
