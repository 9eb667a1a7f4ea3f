"""The folder of an embedded server: its data, socket, password and log, and its lock."""

import fcntl
import hashlib
import os
import tempfile
from pathlib import Path
from typing import IO
from urllib.parse import quote

from hawser.clock import Entropy
from mooring.ledger.embedded.account import Account
from mooring.model.errors import Misconfigured

USER = "mooring"
DATABASE = "mooring"
SOCKET_NAME = ".s.PGSQL.5432"
_LONGEST_SOCKET_PATH = 103  # macOS; Linux takes 107
_LARGEST_LOG_BYTES = 4 * 1024 * 1024


class ServerFolder:
    """Paths under `root`, and the lock that keeps another Mooring out."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.unfinished = root / "data.new"
        self.log = root / "postgres.log"
        self._password = root / "password"
        self._lock: IO[str] | None = None

    @property
    def sockets(self) -> Path:
        """Beside the data, or in the temporary folder if that path is too long for a socket."""
        beside = self.root / "run"
        if len(os.fsencode(beside / SOCKET_NAME)) <= _LONGEST_SOCKET_PATH:
            return beside
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"mooring-{digest}"

    def lock(self) -> None:
        """Lock the folder until this process ends or unlocks it."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock = (self.root / "lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise Misconfigured(
                f"the folder {self.root} cannot be written: {error.strerror}", fix="choose another one with --state"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise Misconfigured(
                f"the folder {self.root} is in use by another Mooring (process {holder})",
                fix="stop it, or choose another folder with --state",
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def prepare(self, account: Account) -> None:
        """Correct owners and modes before a start."""
        sockets = self.sockets
        sockets.mkdir(mode=0o700, exist_ok=True)
        if sockets.is_symlink() or sockets.stat().st_uid not in (os.geteuid(), account.uid):
            raise Misconfigured(
                f"the folder {sockets} belongs to someone else", fix="remove it, or choose another --state"
            )
        sockets.chmod(0o700)
        account.own(sockets)
        if self.data.exists():
            account.own(self.data)
        if self.log.exists() and self.log.stat().st_size > _LARGEST_LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))

    def password(self, entropy: Entropy) -> str:
        """The generated password; only readable by the account that runs Mooring."""
        if not self._password.exists():
            unfinished = self._password.with_suffix(".new")
            unfinished.unlink(missing_ok=True)
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(entropy.token(24))
            unfinished.replace(self._password)
        return self._password.read_text()

    def url(self, entropy: Entropy, database: str = DATABASE) -> str:
        return f"postgresql://{USER}:{self.password(entropy)}@/{database}?host={quote(str(self.sockets), safe='')}"

    def last_log_line(self) -> str:
        """The last line of the server's log, for an error message."""
        if not self.log.exists():
            return ""
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""
