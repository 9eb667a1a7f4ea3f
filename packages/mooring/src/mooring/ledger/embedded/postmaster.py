"""A running PostgreSQL server process: found by its data folder, and stopped in steps."""

import contextlib
import os
import platform
import signal
import subprocess
from pathlib import Path

from hawser.clock import Clock

_POLL_SECONDS = 0.02
_STEPS = ((signal.SIGINT, 15.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
"""Fast shutdown, then without a checkpoint (it recovers at the next start), then by force."""


def recorded_pid(data: Path) -> int | None:
    """The process id in the folder's pid file; the process may have ended."""
    try:
        return int((data / "postmaster.pid").read_text().splitlines()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None


def is_ready(data: Path, pid: int) -> bool:
    """Whether the server with this `pid` accepts connections."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def serves(pid: int, data: Path) -> bool:
    """Whether `pid` is a server of this folder. Process ids are reused by unrelated processes."""
    return str(data) in _command_line(pid)


def _command_line(pid: int) -> list[str]:
    if platform.system() == "Linux":
        try:
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
        except OSError:
            return []
    shown = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.split()


async def stop(pid: int, data: Path, clock: Clock) -> bool:
    """Stop the server with increasing force; True if it has ended."""
    for sign, patience_seconds in _STEPS:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
        deadline = clock.monotonic() + patience_seconds
        while clock.monotonic() < deadline:
            if not serves(pid, data):
                return True
            await clock.sleep(_POLL_SECONDS)
    return False
