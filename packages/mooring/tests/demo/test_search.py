"""The demo's search: real where BLAST is, plain elsewhere; both ask Mooring for the same things."""

import subprocess
from pathlib import Path

import msgspec
import pytest

from mooring.demo import blast
from mooring.demo.records import RECORDS
from mooring.demo.reports import MERGED
from mooring.demo.search import Search, prepare
from mooring.demo.shards import fetch, shard_folder
from mooring.model.submission import SubmissionSpec
from mooring.model.submission_checks import check_submission
from mooring.model.warmup import WarmupSpec, check_spec
from packages.mooring.tests.requirements import require_blast


def search_in(folder: Path) -> Search:
    return Search("search", "harbour-log", str(folder / "local"), folder, shards=3)


def test_without_blast_a_word_is_searched_in_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blast, "is_installed", lambda: False)
    search = search_in(tmp_path)
    prepared = prepare(search)
    for shard in range(3):
        fetch(shard_folder(tmp_path / "source", shard), Path(search.shard_path(shard)))
    spec = search.submission_spec("first", prepared.batches)
    for step in (*prepared.batches, spec["finalizer"]):
        subprocess.run([spec["program"], *step["args"]], check=True, capture_output=True)
    whole = [
        line for n in range(3) for line in (shard_folder(tmp_path / "source", n) / RECORDS).read_text().split("\n")
    ]
    expected = sorted(line for word in ("quay", "tide") for line in whole if word in line.split()[1:])
    assert (search.results / MERGED).read_text().splitlines() == expected
    assert expected


def test_with_blast_every_batch_searches_one_shard(tmp_path: Path) -> None:
    require_blast()
    prepared = prepare(search_in(tmp_path))
    assert [batch["shard"] for batch in prepared.batches] == [0, 1, 2, 0, 1, 2]
    assert all(batch["program"] == "blastn" for batch in prepared.batches)
    assert prepared.batches[0]["options"]["-outfmt"] == ["7", "std", "staxids", "ssciname"]


@pytest.mark.parametrize("installed", [True, False])
def test_what_is_asked_for_is_what_mooring_accepts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if installed:
        require_blast()
    monkeypatch.setattr(blast, "is_installed", lambda: installed)
    search = search_in(tmp_path)
    prepared = prepare(search)
    asked = search.submission_spec("first", prepared.batches)
    assert check_submission(msgspec.convert(asked, SubmissionSpec, strict=False)) == []
    assert check_spec(msgspec.convert(prepared.warmup["spec"], WarmupSpec, strict=False)) == []
