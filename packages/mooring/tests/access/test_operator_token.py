"""The operator's token: never empty, whatever happens to its file."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from hawser.clock import Entropy
from mooring.api.access.control import AccessOptions
from mooring.api.access.operator_token import load_token
from mooring.model.errors import Misconfigured


def test_a_token_is_made_once_and_read_by_its_owner_only(tmp_path: Path) -> None:
    token = load_token(tmp_path, "", Entropy())
    assert len(token) == 48 and load_token(tmp_path, "", Entropy()) == token
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_a_configured_token_wins_and_nothing_is_written(tmp_path: Path) -> None:
    assert load_token(tmp_path, " given\n", Entropy()) == "given"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "\n", "  \n\t"])
def test_an_empty_file_is_made_again(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    token = load_token(tmp_path, "", Entropy())
    assert len(token) == 48 and (tmp_path / "token").read_text().strip() == token


def test_a_file_that_cannot_be_read_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "token").mkdir()
    with pytest.raises(Misconfigured, match="token"):
        load_token(tmp_path, "", Entropy())


def test_a_write_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Misconfigured, match="No space left"):
        load_token(tmp_path, "", Entropy())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("token", ["", "   "])
def test_without_a_token_nothing_is_served(token: str, tmp_path: Path) -> None:
    with pytest.raises(Misconfigured):
        AccessOptions(load_token(tmp_path, token, Entropy()) if token else token)


@pytest.mark.realtime
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_at_the_first_start_leaves_the_api_closed(tmp_path: Path) -> None:
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=10", "tmpfs", str(tmp_path)], check=False)
    if mount.returncode != 0:
        pytest.skip("this machine does not mount a tmpfs")
    try:
        filler = tmp_path / "filler"
        with filler.open("wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(b"x" * 512)
        with pytest.raises(Misconfigured, match="No space left"):
            load_token(tmp_path, "", Entropy())
        assert [path.name for path in tmp_path.iterdir()] == ["filler"]
        filler.unlink()
        assert load_token(tmp_path, "", Entropy())
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
