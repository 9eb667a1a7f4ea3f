"""A container killed for its memory: the kernel's own OOM killer, in the container's own cgroup."""

import asyncio
import sys
from pathlib import Path

from drydock.nodes import cgroups
from drydock.nodes.node import NodeFailed
from hawser.clock import SystemClock

_HEADROOM_BYTES = 16 * 1024 * 1024
_WORST_SCORE = "1000"
# Joins the group and takes memory until the kernel ends somebody there. A file in memory counts for the group and not
# for the process that writes it, so the victim, with the worst score, is chosen first.
_HOG = """
import os, sys
open(sys.argv[1], "w").write("0")
taken = os.memfd_create("taken")
while True:
    os.write(taken, bytes(1 << 16))
"""


def memory_group(node_group: str, container_id: str) -> Path:
    """The folder of the container's memory cgroup."""
    hierarchy = cgroups.ROOT if (cgroups.ROOT / "cgroup.controllers").exists() else cgroups.ROOT / "memory"
    found = next((hierarchy / node_group).glob(f"**/{container_id}"), None)
    if found is None:
        raise NodeFailed(f"container {container_id} has no memory cgroup below {node_group}", fix="is it running?")
    return found


async def kill_by_oom(group: Path) -> None:
    """Fill the container's memory up to its limit; one without a limit gets one a little above what it uses."""
    _limit(group)
    victims = [int(line) for line in (group / "cgroup.procs").read_text().split()]
    _choose_victim(victims[:1])
    hog = await asyncio.create_subprocess_exec(sys.executable, "-ISc", _HOG, str(group / "cgroup.procs"))
    watch = asyncio.create_task(_until_gone(victims[:1]))
    await asyncio.wait([asyncio.ensure_future(hog.wait()), watch], return_when=asyncio.FIRST_COMPLETED)
    watch.cancel()
    if hog.returncode is None:
        hog.kill()
        await hog.wait()


def _limit(group: Path) -> None:
    version_2 = (group / "memory.max").exists()
    limit = group / ("memory.max" if version_2 else "memory.limit_in_bytes")
    used = int((group / ("memory.current" if version_2 else "memory.usage_in_bytes")).read_text())
    text = limit.read_text().strip()
    if text == "max" or int(text) > used + _HEADROOM_BYTES:
        limit.write_text(str(used + _HEADROOM_BYTES))


def _choose_victim(pids: list[int]) -> None:
    for pid in pids:
        Path(f"/proc/{pid}/oom_score_adj").write_text(_WORST_SCORE)


async def _until_gone(pids: list[int]) -> None:
    clock = SystemClock()
    while any(_alive(pid) for pid in pids):
        await clock.sleep(0.02)


def _alive(pid: int) -> bool:
    """A zombie has ended."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
