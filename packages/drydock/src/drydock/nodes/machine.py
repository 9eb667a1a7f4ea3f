"""What this machine needs for real nodes, and what it lacks."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hawser.errors import HawserError

# The folders of a superuser's PATH: a plain user's PATH leaves them out.
_FOLDERS = os.pathsep.join(["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])
CNI_FOLDER = Path("/usr/lib/cni")
CNI_PLUGINS = ("ptp", "host-local", "loopback", "portmap")
PACKAGES = {
    "runc": "runc",
    "nft": "nftables",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "mount": "mount",
    "busybox": "busybox-static",
}


class NodesUnavailable(HawserError):
    """Real nodes cannot run on this machine."""

    code = "nodes_unavailable"


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """What was found on a machine."""

    linux: bool
    root: bool
    overlay: bool
    cgroups: bool
    programs: frozenset[str]
    plugins: frozenset[str]


def find_program(name: str) -> str | None:
    """The path of a program of this machine."""
    return shutil.which(name, path=_FOLDERS)


def read_machine() -> MachineFacts:
    """Look at this machine."""
    filesystems = Path("/proc/filesystems")
    return MachineFacts(
        linux=sys.platform == "linux",
        root=os.geteuid() == 0,
        overlay=filesystems.exists() and "overlay" in filesystems.read_text().split(),
        cgroups=Path("/sys/fs/cgroup").is_dir() and os.access("/sys/fs/cgroup", os.W_OK),
        programs=frozenset(name for name in PACKAGES if find_program(name)),
        plugins=frozenset(name for name in CNI_PLUGINS if (CNI_FOLDER / name).exists()),
    )


def compute_lacks(facts: MachineFacts) -> tuple[list[str], list[str]]:
    """What is missing, in words, and the Debian packages that bring it."""
    if not facts.linux:
        return ["Linux"], []
    lacks = []
    if not facts.root:
        lacks.append("root")
    if not facts.overlay:
        lacks.append("the file system overlay (modprobe overlay)")
    if facts.root and not facts.cgroups:
        lacks.append("writable cgroups in /sys/fs/cgroup")
    programs = [name for name in PACKAGES if name not in facts.programs]
    packages = [PACKAGES[name] for name in programs]
    plugins = [name for name in CNI_PLUGINS if name not in facts.plugins]
    if plugins:
        programs += [f"{CNI_FOLDER}/{name}" for name in plugins]
        packages.append("containernetworking-plugins")
    return lacks + programs, packages


def check_machine() -> None:
    """Raises `NodesUnavailable` with everything that is missing."""
    lacks, packages = compute_lacks(read_machine())
    if lacks:
        fix = f"apt-get install {' '.join(packages)}" if packages else "run it as root on Linux with overlayfs"
        raise NodesUnavailable(f"real nodes need {', '.join(lacks)}", fix=fix)
