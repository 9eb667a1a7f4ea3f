"""Ending what an earlier life left: processes that carry our mark though their parent is gone."""

import os
import signal
from pathlib import Path

VARIABLE = "DRYDOCK_SUPERVISOR"


def end_leftovers(mark: str) -> list[int]:
    """Kill every process with that mark in its environment; returns their pids.

    Needed only when a supervisor was itself killed: it ends everything it started in all other cases. One look may miss
    a process that is just being made, or whose environment is just being replaced, so it looks until nobody is left.
    """
    ended: set[int] = set()
    while found := _end_marked(mark) - ended:
        ended |= found
    return sorted(ended)


def _end_marked(mark: str) -> set[int]:
    wanted = f"{VARIABLE}={mark}".encode()
    ended = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
                ended.add(int(entry.name))
        except (PermissionError, ProcessLookupError, FileNotFoundError):
            continue
    return ended
