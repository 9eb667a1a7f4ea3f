"""Cgroups of nodes: a group for each node in every hierarchy of this machine (version 1), or in the one (version 2).

A process of their own removes them when their owner ends, however it ends. Their name has the owner, so that the next
start finds what is left if both are killed. Standard library only: `main` runs in a program of its own.
"""

import asyncio
import contextlib
import os
import re
import select
import sys
from collections.abc import AsyncIterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_NAME = re.compile(r"^drydock-[0-9a-f]+-(\d+)$")
_SOURCE_ROOT = str(Path(__file__).parents[2])
_KEEPER = "import sys; sys.path.insert(0, sys.argv[1]); from drydock.nodes.cgroups import main; main()"
_ATTEMPTS = 200
_PAUSE_SECONDS = 0.1
_WEIGHTS = {"cpu.shares": "10240", "cpu.weight": "1000"}  # ten times the weight of a new group
_INHERITED = ("cpuset.cpus", "cpuset.mems")  # empty in a new group of version 1, and then nothing may run there


def cluster_group(digest: str) -> str:
    """The name of the group of all nodes of a cluster of this process."""
    return f"drydock-{digest}-{os.getpid()}"


def hierarchies(root: Path = ROOT) -> list[Path]:
    """The folders in which groups are made."""
    if (root / "cgroup.controllers").exists():
        return [root]
    return sorted(folder for folder in root.iterdir() if folder.is_dir() and not folder.is_symlink())


def make_group(path: str, root: Path = ROOT) -> None:
    """Make the group and its parents in every hierarchy."""
    for hierarchy in hierarchies(root):
        folder = hierarchy
        for part in path.strip("/").split("/"):
            _share_controllers(folder)
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            for name in _INHERITED:
                if (folder / name).exists() and not (folder / name).read_text().strip():
                    (folder / name).write_text((parent / name).read_text())


def raise_weight(name: str, root: Path = ROOT) -> None:
    """The containers of a cluster count as ten busy processes of this machine, not as one, while others use it."""
    for hierarchy in hierarchies(root):
        for file, weight in _WEIGHTS.items():
            if (hierarchy / name / file).exists():
                (hierarchy / name / file).write_text(weight)


def _share_controllers(folder: Path) -> None:
    """Version 2: a group has the controllers that its parent passes on."""
    available = folder / "cgroup.controllers"
    if available.exists() and (words := available.read_text().split()):
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{word}" for word in words))


def remove_group(name: str, root: Path = ROOT) -> None:
    """Remove the group and all below it. Their processes have ended."""
    for hierarchy in hierarchies(root):
        top = hierarchy / name
        if not top.is_dir():
            continue
        for folder, _, _ in os.walk(top, topdown=False):
            os.rmdir(folder)


@contextlib.asynccontextmanager
async def keeping_group(name: str) -> AsyncIterator[None]:
    """The group is removed at the end of the block, or when this process is killed. Its processes have ended then."""
    command = [sys.executable, "-ISc", _KEEPER, _SOURCE_ROOT, name]
    keeper = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, start_new_session=True)
    assert keeper.stdin is not None
    try:
        yield
    finally:
        keeper.stdin.close()
        await keeper.wait()


def main() -> None:
    """Remove the group that the last argument names, once the standard input has ended: it ends with the owner."""
    sys.stdin.buffer.read()
    for _ in range(_ATTEMPTS):
        try:
            remove_group(sys.argv[2])
        except OSError:  # the kernel is still ending its processes
            select.select((), (), (), _PAUSE_SECONDS)
        else:
            return


def remove_stale_groups(root: Path = ROOT) -> list[str]:
    """Remove the groups of clusters whose process is gone; returns their names."""
    found = {folder.name for hierarchy in hierarchies(root) for folder in hierarchy.glob("drydock-*")}
    stale = sorted(name for name in found if (owner := _NAME.match(name)) and not Path(f"/proc/{owner[1]}").exists())
    for name in stale:
        remove_group(name, root)
    return stale
