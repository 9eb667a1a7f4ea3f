"""Users and databases, from a TOML file that is read again when it changes.

[users.ada]
verifier = "SCRAM-SHA-256$4096:...$...:..."   # as PostgreSQL stores it

[databases.sales]
pool = "queries/duck"        # the WorkerPool that serves it
owner = "acme"               # the organisation that its claims count against
users = ["ada"]
max_sessions = 100           # connections at a time
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mooring.model.errors import Misconfigured
from mooring_postgres_gateway.scram import Verifier, parse_verifier

log = logging.getLogger("mooring.postgres_gateway")


class User(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may log in."""

    verifier: str


class Database(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a name leads to. Seconds: of waiting for a worker, and of silence until a worker is given back."""

    pool: str
    owner: str
    users: tuple[str, ...] = ()
    max_sessions: int = 100
    worker_port: int = 5432
    ttl_seconds: int = 60
    wait_seconds: int = 60
    idle_seconds: float = 5.0
    transaction_idle_seconds: float = 300.0
    state_idle_seconds: float = 600.0

    def check(self, name: str) -> None:
        """Raise ValueError for a value that makes no sense."""
        if len([part for part in self.pool.split("/") if part]) != 2 or self.pool.count("/") != 1:
            raise ValueError(f"databases.{name}.pool: {self.pool!r} is not namespace/name")
        if not self.owner:
            raise ValueError(f"databases.{name}.owner: it is empty")
        if not 1 <= self.worker_port <= 65535:
            raise ValueError(f"databases.{name}.worker_port: {self.worker_port} is not a port")
        for field in ("max_sessions", "ttl_seconds", "wait_seconds", "idle_seconds"):
            if getattr(self, field) <= 0:
                raise ValueError(f"databases.{name}.{field}: {getattr(self, field)} is not above 0")
        for field in ("transaction_idle_seconds", "state_idle_seconds"):
            if getattr(self, field) <= 0:
                raise ValueError(f"databases.{name}.{field}: {getattr(self, field)} is not above 0")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    users: dict[str, User] = {}
    databases: dict[str, Database] = {}


@dataclass(frozen=True, slots=True)
class Entries:
    """The content of the file."""

    verifiers: Mapping[str, Verifier]
    databases: Mapping[str, Database]

    def permits(self, user: str, database: str) -> bool:
        """Whether the user may use the database."""
        found = self.databases.get(database)
        return found is not None and user in found.users


def parse_entries(text: bytes) -> Entries:
    """The content; ValueError names the field that is wrong."""
    found = msgspec.toml.decode(text, type=_File)
    verifiers: dict[str, Verifier] = {}
    for name, user in found.users.items():
        try:
            verifiers[name] = parse_verifier(user.verifier)
        except ValueError as error:
            raise ValueError(f"users.{name}.verifier: {error}") from error
    for name, database in found.databases.items():
        database.check(name)
        if unknown := [user for user in database.users if user not in verifiers]:
            raise ValueError(f"databases.{name}.users: there is no [users.{unknown[0]}]")
    return Entries(verifiers, found.databases)


class Directory:
    """The file, as it is now. A broken change is reported, and the last good content stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._mark()
        try:
            self._entries = parse_entries(path.read_bytes())
        except (OSError, ValueError) as error:
            raise Misconfigured(f"{path}: {error}", fix="correct the file; its form is in the README") from error

    def entries(self) -> Entries:
        """The content. It is looked at for each login, so a change counts from the next one."""
        mark = self._mark()
        if mark != self._seen:
            self._seen = mark
            try:
                self._entries = parse_entries(self._path.read_bytes())
                log.info("%s is read again", self._path)
            except (OSError, ValueError) as error:
                log.error("%s is wrong, its last content stays in force: %s", self._path, error)
        return self._entries

    def _mark(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
