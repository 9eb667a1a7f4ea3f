"""Recordings of replays for the pages of `mooring up`. Each is played once, by a process of its own."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from mooring.dashboard.replay_pages import ReplayEntry
from mooring.incidents.catalogue import INCIDENTS
from mooring.model.errors import Unavailable

MOST_SECONDS = 300.0  # that a replay may take: the longest needs 14 CPU-seconds
_LINES = 3  # of an error that are shown

RunReplay = Callable[[str, Path], Awaitable[None]]
"""Plays the replay of this name, and writes its recording to the file."""


class Recordings:
    """Plays a replay when it is asked for, one at a time, and keeps what it recorded."""

    def __init__(self, folder: Path, run: RunReplay) -> None:
        self._folder = folder
        self._run = run
        self._turn = asyncio.Lock()
        self._plays: dict[str, asyncio.Task[bytes]] = {}

    def entries(self) -> Sequence[ReplayEntry]:
        return [ReplayEntry(one.name, one.title, one.story, one.protections) for one in INCIDENTS]

    async def recording(self, name: str) -> bytes:
        """From the run that is under way or over, or from a new one; a run that failed is tried again."""
        play = self._plays.get(name)
        if play is None or _has_failed(play):
            play = self._plays[name] = asyncio.create_task(self._play(name))
        # A reader that leaves does not end the run for the others.
        return await asyncio.shield(play)

    async def close(self) -> None:
        """End the runs that are under way."""
        for play in self._plays.values():
            play.cancel()
        await asyncio.gather(*self._plays.values(), return_exceptions=True)

    async def _play(self, name: str) -> bytes:
        async with self._turn:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            file = self._folder / f"{name}.json"
            await self._run(name, file)
            recorded = file.read_bytes()
            file.unlink()
            return recorded


@contextlib.asynccontextmanager
async def open_recordings(folder: Path) -> AsyncIterator[Recordings]:
    """Recordings whose runs end with the block."""
    recordings = Recordings(folder, run_replay)
    try:
        yield recordings
    finally:
        await recordings.close()


def _has_failed(play: asyncio.Task[bytes]) -> bool:
    return play.done() and (play.cancelled() or play.exception() is not None)


async def run_replay(name: str, file: Path) -> None:
    """The command that a user would type."""
    command = (sys.executable, "-m", "mooring", "replay", name, "--record", str(file), "-o", "json")
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(MOST_SECONDS):
            _, errors = await process.communicate()
    except TimeoutError:
        raise Unavailable(
            f"the replay {name} did not end within {MOST_SECONDS:.0f} s", fix="load the page again"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        told = " ".join(errors.decode(errors="replace").splitlines()[-_LINES:])
        raise Unavailable(f"the replay {name} failed: {told}", fix=f"mooring replay {name}")
