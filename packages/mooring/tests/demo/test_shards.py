"""A dataset's shards are fetched with resume and believed only by their content."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.demo.records import RECORDS, make_records, search
from mooring.demo.shards import CHECKSUMS, DatasetDamaged, fetch, shard_folder, verify


@pytest.fixture
def source(tmp_path: Path) -> Path:
    make_records(tmp_path / "source", shards=3, records=200, seed=7)
    return tmp_path / "source"


def test_the_same_seed_makes_the_same_records(source: Path, tmp_path: Path) -> None:
    make_records(tmp_path / "again", shards=3, records=200, seed=7)
    for shard in range(3):
        first, second = (shard_folder(root, shard) / RECORDS for root in (source, tmp_path / "again"))
        assert first.read_text() == second.read_text()
    assert (shard_folder(source, 0) / RECORDS).read_text() != (shard_folder(source, 1) / RECORDS).read_text()


def test_a_fetched_shard_verifies_and_is_not_fetched_again(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "local"
    assert fetch(shard_folder(source, 1), target) > 0
    assert verify(target) == 1
    assert fetch(shard_folder(source, 1), target) == 0


def test_a_fetch_that_was_cut_off_goes_on_where_it_was(source: Path, tmp_path: Path) -> None:
    original = (shard_folder(source, 1) / RECORDS).read_bytes()
    target = tmp_path / "local"
    target.mkdir()
    (target / f"{RECORDS}.part").write_bytes(original[:1000])
    assert fetch(shard_folder(source, 1), target) == len(original) - 1000
    verify(target)


def test_a_damaged_beginning_is_thrown_away_and_fetched_anew(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "local"
    target.mkdir()
    (target / f"{RECORDS}.part").write_bytes(b"not the beginning")
    with pytest.raises(DatasetDamaged):
        fetch(shard_folder(source, 1), target)
    fetch(shard_folder(source, 1), target)
    verify(target)


def test_a_flipped_byte_is_found_and_healed_by_the_next_fetch(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "local"
    fetch(shard_folder(source, 1), target)
    damaged = bytearray((target / RECORDS).read_bytes())
    damaged[17] ^= 1
    (target / RECORDS).write_bytes(bytes(damaged))
    with pytest.raises(DatasetDamaged, match=RECORDS):
        verify(target)
    fetch(shard_folder(source, 1), target)
    verify(target)


def test_a_folder_without_checksums_is_not_a_shard(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "local"
    fetch(shard_folder(source, 1), target)
    (target / CHECKSUMS).unlink()
    with pytest.raises(DatasetDamaged, match=CHECKSUMS):
        verify(target)


def test_a_search_over_all_shards_finds_what_one_over_the_whole_text_finds(source: Path) -> None:
    whole = [line for shard in range(3) for line in (shard_folder(source, shard) / RECORDS).read_text().splitlines()]
    found = [line for shard in range(3) for line in search(shard_folder(source, shard), "quay")]
    assert found == [line for line in whole if "quay" in line.split()[1:]]
    assert 0 < len(found) < len(whole)


def test_the_program_takes_shard_and_folder_from_a_warmups_variables(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "local"
    environment = {**os.environ, "MOORING_SHARD": "2", "MOORING_SHARD_PATH": str(target)}
    program = [sys.executable, "-m", "mooring.demo"]
    subprocess.run([*program, "fetch", "--source", str(source)], env=environment, check=True)
    assert (target / RECORDS).read_text() == (shard_folder(source, 2) / RECORDS).read_text()
    subprocess.run([*program, "verify"], env=environment, check=True)
    (target / RECORDS).write_text("damaged")
    assert subprocess.run([*program, "verify"], env=environment, check=False, capture_output=True).returncode == 1
