"""Cgroups of nodes: a group for each node in every hierarchy of this machine (version 1), or in the one (version 2).

Their name has the process that owns them, so that what a killed one left is found and removed.
"""

import os
import re
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_NAME = re.compile(r"^drydock-[0-9a-f]+-(\d+)$")
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


def remove_stale_groups(root: Path = ROOT) -> list[str]:
    """Remove the groups of clusters whose process is gone; returns their names."""
    found = {folder.name for hierarchy in hierarchies(root) for folder in hierarchy.glob("drydock-*")}
    stale = sorted(name for name in found if (owner := _NAME.match(name)) and not Path(f"/proc/{owner[1]}").exists())
    for name in stale:
        remove_group(name, root)
    return stale
