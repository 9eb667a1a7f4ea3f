"""The first process of a node: it enters namespaces of the node's own, builds the node's files, and then supervises.

A node has its own processes, mounts, network, host name and IPC, as a machine has. All of them end with this process,
however it ends: the kernel kills the processes of a process namespace with its first one, and mounts and links go with
the last process that uses them. Runs in a program of its own; standard library only.

argument, JSON: {"namespaces": "network" | "machine", "root", "hostname", "binds": [[source, target, read-only]],
                 "sysctls": {name: value}, "facts": {path: text}}
"""

import codecs
import ctypes
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from drydock.processes import program

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWPID, _CLONE_NEWNET = 0x20000000, 0x40000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE, _MS_SHARED = 1, 32, 4096, 16384, 1 << 18, 1 << 20
_MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_SYSTEM_FOLDERS = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_OWN_FOLDERS = ("dev", "etc", "opt", "proc", "root", "run", "sys", "tmp", "var")
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Become the first process of what the argument describes, and serve commands on the standard streams."""
    spec = json.loads(sys.argv[3])
    if spec["namespaces"] == "machine":
        _check(_libc.unshare(_CLONE_NEWPID), "unshare")
        child = os.fork()
        if child:
            _guard(child)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWUTS | _CLONE_NEWIPC), "unshare")
        codecs.lookup("ascii")  # codecs are loaded on first use, and the files of this Python are out of sight below
        enter_root(spec["root"], spec["binds"], spec["facts"])
        name = spec["hostname"].encode()
        _check(_libc.sethostname(name, len(name)), "hostname")
    else:
        _check(_libc.unshare(_CLONE_NEWNET), "unshare")
    for name, value in spec["sysctls"].items():
        with open(f"/proc/sys/{name}", "w", encoding="ascii") as file:
            file.write(value)
    program.main()


def _guard(child: int) -> NoReturn:
    """Outside of the process namespace: live exactly as long as the first process inside."""
    for descriptor in (0, 1):
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def enter_root(root: str, binds: Sequence[tuple[str, str, bool]], facts: dict[str, str]) -> None:
    """Make the folder `root` the root of all files, with this machine's programs in it and nothing else of it."""
    _mount("none", "/", _MS_REC | _MS_PRIVATE)
    _mount(root, root, _MS_BIND)
    for name in _OWN_FOLDERS:
        os.makedirs(f"{root}/{name}", exist_ok=True)
    os.chmod(f"{root}/tmp", 0o1777)
    for name in _SYSTEM_FOLDERS:
        _show_system_folder(f"/{name}", f"{root}/{name}")
    _mount("/dev", f"{root}/dev", _MS_BIND | _MS_REC)
    _mount("proc", f"{root}/proc", 0, "proc")
    _mount("sysfs", f"{root}/sys", 0, "sysfs")
    _mount("/sys/fs/cgroup", f"{root}/sys/fs/cgroup", _MS_BIND | _MS_REC)
    _mount("tmpfs", f"{root}/run", 0, "tmpfs", "mode=0755")
    if not os.path.lexists(f"{root}/var/run"):
        os.symlink("/run", f"{root}/var/run")
    for source, target, read_only in binds:
        _bind(source, root + target, read_only)
    os.makedirs(f"{root}/run/drydock/facts", exist_ok=True)
    for number, (path, text) in enumerate(facts.items()):
        if os.path.exists(root + path):
            stored = f"{root}/run/drydock/facts/{number}"
            with open(stored, "w", encoding="utf-8") as file:
                file.write(text)
            _mount(stored, root + path, _MS_BIND)
    os.chdir(root)
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount")
    os.chdir("/")
    _mount("none", "/", _MS_REC | _MS_SHARED)  # volumes may ask for mounts that propagate


def _show_system_folder(source: str, target: str) -> None:
    if os.path.islink(source):
        if not os.path.lexists(target):
            os.symlink(os.readlink(source), target)
    elif os.path.isdir(source):
        _bind(source, target, read_only=True)


def _bind(source: str, target: str, read_only: bool) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(source, target, _MS_BIND | _MS_REC)
    if read_only:
        _mount("none", target, _MS_BIND | _MS_REMOUNT | _MS_RDONLY)


def _mount(source: str, target: str, flags: int, kind: str = "", options: str = "") -> None:
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None
    )
    _check(result, target)


def _check(result: Any, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
