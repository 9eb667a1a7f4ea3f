"""Mounts for one process: a private view of the machine's files with the process's own folders bound into it.

Runs in the supervisor's forked child, before the command is executed. Standard library only.
"""

import contextlib
import ctypes
import os
from collections.abc import Sequence

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_MOVE, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 8192, 16384, 1 << 18
_KEPT_FLAGS = 0x2 | 0x4 | 0x8 | 0x400  # nosuid, nodev, noexec, noatime: a remount may not drop them
_libc = ctypes.CDLL(None, use_errno=True)


def can_mount() -> bool:
    """Whether this user may have a private view at all: tried in a child that ends at once."""
    pid = os.fork()
    if pid == 0:
        try:
            _separate()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def enter_view(mounts: Sequence[tuple[str, str, bool]], scratch: str) -> None:
    """Bind each (source, target, read-only); `scratch` is an existing folder of the process's own."""
    if mounts:
        _separate()
        view = _View(scratch)
        for source, target, read_only in sorted(mounts, key=lambda mount: mount[1].count("/")):
            view.bind(source, target, read_only)


def _separate() -> None:
    if _libc.unshare(_CLONE_NEWNS) != 0:
        uid, gid = os.getuid(), os.getgid()
        _check(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "unshare")
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    _mount("none", "/", _MS_REC | _MS_PRIVATE)


class _View:
    """The files as the process will see them."""

    def __init__(self, scratch: str) -> None:
        self._scratch = scratch
        self._ours: list[str] = []  # folders in which names may be made without anyone else seeing them

    def bind(self, source: str, target: str, read_only: bool) -> None:
        source_handle = os.open(source, os.O_PATH)  # still there when the root has changed
        is_folder = os.path.isdir(source)
        self._make_target(target, is_folder)
        target = os.path.realpath(target)
        _mount(f"/proc/self/fd/{source_handle}", target, _MS_BIND | _MS_REC)
        os.close(source_handle)
        if read_only:
            kept = os.statvfs(target).f_flag & _KEPT_FLAGS
            _mount("none", target, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | kept)
        elif is_folder:
            self._ours.append(target)

    def _make_target(self, target: str, is_folder: bool) -> None:
        if os.path.exists(target):
            return
        present = os.path.dirname(target)
        while not os.path.isdir(present):
            present = os.path.dirname(present)
        present = os.path.realpath(present)
        if not any(present == folder or present.startswith(f"{folder}/") for folder in self._ours):
            self._mirror(present)
        parent = target if is_folder else os.path.dirname(target)
        os.makedirs(parent, exist_ok=True)
        if not is_folder:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))

    def _mirror(self, folder: str) -> None:
        """Put a folder of our own in the place of `folder`, holding the same entries: names can be added to it."""
        _mount("tmpfs", self._scratch, 0, kind="tmpfs", options="mode=0755")
        for entry in os.scandir(folder):
            # What this user may not bind, such as a FUSE mount of somebody else, it could hardly read: it stays empty.
            with contextlib.suppress(OSError):
                self._bind_twin(entry)
        if folder == "/":
            os.chroot(self._scratch)
            os.chdir("/")
        else:
            _mount(self._scratch, folder, _MS_MOVE)
        self._ours.append(folder)

    def _bind_twin(self, entry: os.DirEntry[str]) -> None:
        twin = os.path.join(self._scratch, entry.name)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), twin)
            return
        if entry.is_dir():
            os.mkdir(twin)
        else:
            os.close(os.open(twin, os.O_CREAT | os.O_WRONLY, 0o644))
        _mount(entry.path, twin, _MS_BIND | _MS_REC)


def _mount(source: str, target: str, flags: int, kind: str = "", options: str = "") -> None:
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None
    )
    _check(result, target)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mounting: {os.strerror(number)}", what)
