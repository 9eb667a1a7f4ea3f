"""The script of warm Jobs, run by a real shell: it resumes, proves, throws away what is wrong, switches at the end."""

import subprocess
from importlib import resources
from pathlib import Path

import pytest

SCRIPT = str(resources.files("mooring.controllers.warmups").joinpath("warm.sh"))
FETCH = ["sh", "-c", 'echo "$MOORING_SHARD part" >>"$MOORING_SHARD_PATH/data"; [ "$MOORING_ATTEMPT" -ge "$0" ]']
VERIFY = ["sh", "-c", 'grep -q good "$MOORING_SHARD_PATH/data"']


@pytest.fixture
def node(tmp_path: Path):
    """Run a step on a node whose disk is a temporary folder."""

    def run(step: str, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": "/usr/bin:/bin",
            "MOORING_LOCAL_PATH": str(tmp_path / "nt"),
            "MOORING_DATA_KEY": "1",
            "MOORING_ORDER": "order-1",
            "MOORING_SHARD_LIST": "3",
            "MOORING_ATTEMPTS": "3",
            "MOORING_ATTEMPT_DELAY_SECONDS": "0",
            **changes,
        }
        return subprocess.run(["sh", SCRIPT, step, *words], env=environment, capture_output=True, text=True, timeout=20)

    return run


def fetch(command: list[str], *verify: str) -> list[str]:
    return [str(len(command)), *command, *verify]


def data(tmp_path: Path, key: str = "1", shard: str = "03") -> Path:
    return tmp_path / "nt" / ".mooring" / key / shard / "data"


def test_a_fetch_is_tried_again_and_finds_what_the_attempt_before_left(node, tmp_path):
    done = node("fetch", *fetch([*FETCH, "3"]))
    assert done.returncode == 0 and "attempt 2 failed" in done.stdout
    assert data(tmp_path).read_text() == "3 part\n" * 3


def test_attempts_end_and_the_next_run_of_the_container_resumes(node, tmp_path):
    assert node("fetch", *fetch([*FETCH, "9"])).returncode == 1
    assert node("fetch", *fetch([*FETCH, "1"])).returncode == 0
    assert data(tmp_path).read_text() == "3 part\n" * 4


def test_what_is_there_is_not_fetched_again_unless_the_order_changed(node, tmp_path):
    node("fetch", *fetch([*FETCH, "1"]))
    assert "is here already" in node("fetch", *fetch([*FETCH, "1"])).stdout
    node("fetch", *fetch([*FETCH, "1"]), MOORING_ORDER="order-2")
    assert data(tmp_path).read_text() == "3 part\n" * 2


def test_words_reach_the_command_as_they_are(node, tmp_path):
    words = ["sh", "-c", 'printf "%s|" "$@" >"$MOORING_SHARD_PATH/data"', "x", "two words", "$HOME", "*", "--", ""]
    assert node("fetch", *fetch(words)).returncode == 0
    assert data(tmp_path).read_text() == "two words|$HOME|*|--||"


def test_wrong_content_is_thrown_away_and_fetched_from_nothing(node, tmp_path):
    good = ["sh", "-c", 'echo good >>"$MOORING_SHARD_PATH/data"']
    node("fetch", *fetch(good))
    data(tmp_path).write_text("bad\n")
    done = node("verify", *fetch(good, *VERIFY))
    assert done.returncode == 0 and "the content is wrong" in done.stdout
    assert data(tmp_path).read_text() == "good\n"


def test_content_that_stays_wrong_fails(node):
    bad = ["sh", "-c", 'echo bad >"$MOORING_SHARD_PATH/data"']
    node("fetch", *fetch(bad))
    assert node("verify", *fetch(bad, *VERIFY)).returncode == 1


def test_the_new_generation_takes_the_old_ones_place_only_when_it_is_proven(node, tmp_path):
    link = tmp_path / "nt" / "03" / "data"
    node("fetch", *fetch([*FETCH, "1"]))
    assert not link.exists()
    node("warm")
    assert link.read_text() == "3 part\n"
    second = ["sh", "-c", 'echo second >"$MOORING_SHARD_PATH/data"']
    node("fetch", *fetch(second), MOORING_DATA_KEY="2")
    assert link.read_text() == "3 part\n", "the old one is in use while the next is fetched"
    node("warm", MOORING_DATA_KEY="2")
    assert link.read_text() == "second\n"
    assert not data(tmp_path).exists()


def test_a_broadcast_fetches_every_shard_and_leaves_the_others_alone(node, tmp_path):
    node("fetch", *fetch([*FETCH, "1"]), MOORING_SHARD_LIST="0 1 2")
    assert node("warm", MOORING_SHARD_LIST="0 1").returncode == 0
    assert sorted(path.name for path in (tmp_path / "nt").iterdir()) == [".mooring", "00", "01"]
    assert data(tmp_path, shard="02").exists()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_an_older_tool_left_in_the_place_is_set_aside_and_not_served(node, tmp_path, kind):
    place = tmp_path / "nt" / "03"
    if kind == "folder":
        place.mkdir(parents=True)
        (place / "data").write_text("old")
    else:
        place.parent.mkdir()
        place.write_text("old")
    node("fetch", *fetch([*FETCH, "1"]))
    done = node("warm")
    assert done.returncode == 0 and "03.before-mooring" in done.stdout
    assert place.is_symlink() and (place / "data").read_text() == "3 part\n"
    aside = tmp_path / "nt" / "03.before-mooring"
    assert (aside / "data" if kind == "folder" else aside).read_text() == "old"
    assert node("warm").returncode == 0, "once more changes nothing"
    assert (place / "data").read_text() == "3 part\n"


def test_a_place_that_cannot_be_freed_fails_with_a_clear_line(node, tmp_path):
    for name in ("03", "03.before-mooring"):
        (tmp_path / "nt" / name).mkdir(parents=True)
    node("fetch", *fetch([*FETCH, "1"]))
    done = node("warm")
    assert done.returncode == 1 and "is warm" not in done.stdout
    assert f"move {tmp_path}/nt/03 away" in done.stdout
    assert list((tmp_path / "nt" / "03").iterdir()) == []


CLEAN = str(resources.files("mooring.controllers.warmups").joinpath("clean.sh"))


def clean(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "MOORING_LOCAL_PATH": str(folder)}
    return subprocess.run(["sh", CLEAN], env=environment, capture_output=True, text=True, timeout=20)


def test_a_cleanup_removes_the_data_of_every_generation_and_nothing_else(node, tmp_path):
    good = fetch(["sh", "-c", 'echo good >"$MOORING_SHARD_PATH/data"'])
    folder = tmp_path / "nt"
    (folder / "04").mkdir(parents=True)
    (folder / "04" / "of-another-tool").write_text("x")
    (folder / "notes.txt").write_text("x")
    (folder / "05").symlink_to("/etc")
    node("fetch", *good)
    node("warm")
    node("fetch", *good, MOORING_DATA_KEY="2")
    assert (folder / "03").is_symlink() and data(tmp_path, "2").exists()
    done = clean(folder)
    assert done.returncode == 0, done.stderr
    left = sorted(path.relative_to(folder).as_posix() for path in folder.iterdir())
    assert left == ["04", "05", "notes.txt"] and (folder / "04" / "of-another-tool").exists()


def test_a_cleanup_follows_no_link_out_of_its_folder(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    folder = tmp_path / "nt"
    folder.mkdir()
    (folder / ".mooring").symlink_to(outside)
    (folder / "00").symlink_to(".mooring/1/00")
    assert clean(folder).returncode == 0
    assert (outside / "file").exists() and list(folder.iterdir()) == []


def test_a_cleanup_of_a_folder_that_is_not_there_is_done(tmp_path):
    assert clean(tmp_path / "never").returncode == 0
