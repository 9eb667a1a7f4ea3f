"""Recordings for the pages of `up`: each replay runs once, for all readers."""

import asyncio
from pathlib import Path

import pytest

from mooring.cli.launch.recordings import Recordings, open_recordings
from mooring.incidents.catalogue import INCIDENTS
from mooring.model.errors import Unavailable


class Runs:
    """Plays what it is told to, when it is told to."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.may_end = asyncio.Event()
        self.failing = False
        self.cancelled = 0

    async def __call__(self, name: str, file: Path) -> None:
        self.names.append(name)
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failing:
            raise Unavailable("it broke", fix="again")
        file.write_text(f'"{name}"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "replays"


async def test_readers_share_one_run_and_nothing_is_left_in_the_folder(folder):
    runs = Runs()
    recordings = Recordings(folder, runs)
    readers = [asyncio.create_task(recordings.recording("drift-roll")) for _ in range(3)]
    await asyncio.sleep(1)
    runs.may_end.set()
    assert await asyncio.gather(*readers) == [b'"drift-roll"'] * 3
    assert await recordings.recording("drift-roll") == b'"drift-roll"'
    assert runs.names == ["drift-roll"]
    assert list(folder.iterdir()) == []


async def test_a_reader_who_leaves_does_not_end_the_run_of_the_others(folder):
    runs = Runs()
    recordings = Recordings(folder, runs)
    leaving, staying = (asyncio.create_task(recordings.recording("drift-roll")) for _ in range(2))
    await asyncio.sleep(1)
    leaving.cancel()
    await asyncio.sleep(1)
    runs.may_end.set()
    assert await staying == b'"drift-roll"'
    assert runs.cancelled == 0


async def test_one_replay_runs_at_a_time(folder):
    runs = Runs()
    recordings = Recordings(folder, runs)
    readers = [asyncio.create_task(recordings.recording(name)) for name in ("drift-roll", "leaked-stamps")]
    await asyncio.sleep(1)
    assert len(runs.names) == 1
    runs.may_end.set()
    await asyncio.gather(*readers)
    assert sorted(runs.names) == ["drift-roll", "leaked-stamps"]


async def test_a_run_that_failed_is_tried_again_by_the_next_reader(folder):
    runs = Runs()
    runs.may_end.set()
    runs.failing = True
    recordings = Recordings(folder, runs)
    with pytest.raises(Unavailable, match="it broke"):
        await recordings.recording("drift-roll")
    runs.failing = False
    assert await recordings.recording("drift-roll") == b'"drift-roll"'


async def test_closing_ends_what_runs(folder):
    runs = Runs()
    recordings = Recordings(folder, runs)
    reader = asyncio.create_task(recordings.recording("drift-roll"))
    await asyncio.sleep(1)
    await recordings.close()
    assert runs.cancelled == 1
    with pytest.raises(asyncio.CancelledError):
        await reader


@pytest.mark.realtime
async def test_a_replay_that_the_command_refuses_is_an_error_in_its_words(folder):
    async with open_recordings(folder) as recordings:
        with pytest.raises(Unavailable, match="there is no replay 'drift-rol'"):
            await recordings.recording("drift-rol")


def test_all_replays_are_offered(folder):
    assert [entry.name for entry in Recordings(folder, Runs()).entries()] == [one.name for one in INCIDENTS]
