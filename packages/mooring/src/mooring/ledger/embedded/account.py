"""The account that PostgreSQL runs as. PostgreSQL refuses root, so root starts it under another account."""

import os
import pwd
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from mooring.model.errors import Misconfigured

_ACCOUNTS = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """The account; `uid` -1 means the account of this process."""

    uid: int
    gid: int

    @property
    def borrowed(self) -> bool:
        return self.uid >= 0

    def own(self, path: Path) -> None:
        """Give a file, or a folder with its contents, to the account."""
        if not self.borrowed or path.stat().st_uid == self.uid:
            return
        for folder, _, files in os.walk(path):
            for name in files:
                shutil.chown(Path(folder) / name, self.uid, self.gid)
            shutil.chown(folder, self.uid, self.gid)
        if path.is_file():
            shutil.chown(path, self.uid, self.gid)

    def reaches(self, path: Path) -> bool:
        """Whether the account can reach `path`, by mode bits alone. Access lists are not considered."""
        return not self.borrowed or all(self._may_enter(folder) for folder in path.resolve().parents)

    def _may_enter(self, folder: Path) -> bool:
        status = folder.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


def server_account() -> Account:
    """The account for the server of this process."""
    if os.geteuid() != 0:
        return Account(-1, -1)
    for name in _ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise Misconfigured(
        f"PostgreSQL does not run as root, and there is no account {' or '.join(_ACCOUNTS)} to run it",
        fix="run Mooring as an ordinary user, or give an external database with --database",
    )
