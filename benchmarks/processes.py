"""CPU time of running processes and of all their children, from /proc."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """CPU seconds used so far by each process and its children, ended ones included."""
    families = _children()
    return {name: sum(map(_used, _family(pid, families))) for name, pid in pids.items()}


def _used(pid: int) -> float:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS  # its own, and that of its ended children
    return 0.0


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found.setdefault(parent, []).append(int(folder.name))
    return found


def _family(pid: int, families: dict[int, list[int]]) -> list[int]:
    return [pid, *(one for child in families.get(pid, ()) for one in _family(child, families))]
