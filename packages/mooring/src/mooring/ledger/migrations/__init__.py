"""Migrations of the schema: numbered SQL files, each applied once, in order, by one process at a time.

A migration only expands the schema, so that replicas of the version before it still run during an upgrade and after a
rollback. The last line of its opening comment says how far back that holds: `-- works with: 8` means that code whose
newest migration is 8 may run on the schema. The database keeps this number for each migration, because older code does
not have the file.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mooring import __version__
from mooring.model.errors import Misconfigured

SCHEMA = "mooring"
_FOLDER = Path(__file__).parent
_LOCK = 7021006512
_WORKS_WITH = re.compile(r"^-- works with: (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration. The database keeps its checksum: an applied migration must never change."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def works_with(self) -> int:
        """The oldest schema version whose code may run after this migration; its own version if it does not say."""
        found = _WORKS_WITH.search(self.sql)
        return int(found[1]) if found else self.version


@dataclass(frozen=True, slots=True)
class _Applied:
    """A row of the table `migrations`."""

    version: int
    name: str
    checksum: str
    works_with: int
    code: str  # the version of Mooring that applied it; empty if that was not recorded


def known_migrations() -> list[Migration]:
    """All migrations of this version, in order."""
    return [
        Migration(int(path.stem.split("_", 1)[0]), path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(_FOLDER.glob("[0-9]*_*.sql"))
    ]


async def migrate(connection: Any, known: list[Migration], now: datetime) -> list[Migration]:
    """Apply the missing migrations in one transaction; returns them."""
    async with connection.transaction():
        await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        applied = await _read_history(connection)
        _check_history(applied, known)
        missing = known[len(applied) :]
        for migration in missing:
            await connection.execute(migration.sql)
            await connection.execute(
                "INSERT INTO migrations (version, name, checksum, applied_at, works_with, code)"
                " VALUES ($1, $2, $3, $4, $5, $6)",
                migration.version, migration.name, migration.checksum, now, migration.works_with, __version__,
            )  # fmt: skip
        return missing


async def _read_history(connection: Any) -> list[_Applied]:
    await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, name text NOT NULL,"
        " checksum text NOT NULL, applied_at timestamptz NOT NULL)"
    )
    await connection.execute(
        "ALTER TABLE migrations ADD COLUMN IF NOT EXISTS works_with integer, ADD COLUMN IF NOT EXISTS code text"
    )
    rows = await connection.fetch(
        "SELECT version, name, checksum, coalesce(works_with, version) AS works_with, coalesce(code, '') AS code"
        " FROM migrations ORDER BY version"
    )
    return [_Applied(**dict(row)) for row in rows]


def _check_history(applied: list[_Applied], known: list[Migration]) -> None:
    ours = {migration.version: migration for migration in known}
    newest = max(ours, default=0)
    for one in applied:
        if one.version > newest:
            _check_newer(one, applied[-1], newest)
        elif one.version not in ours or ours[one.version].checksum != one.checksum:
            raise Misconfigured(
                f"the database's schema step {one.name} differs from this Mooring's",
                fix="run the Mooring that made it, or give another database",
            )


def _check_newer(one: _Applied, last: _Applied, newest: int) -> None:
    """A newer Mooring has added a migration. Refuse it unless it left everything that this code uses."""
    if one.works_with > newest:
        raise Misconfigured(
            f"the database's schema is version {last.version}, newer than this Mooring knows ({newest}),"
            f" and {one.name} needs code that knows version {one.works_with}",
            fix=f"run Mooring {last.code or 'in the version that made it'}, or give another database",
        )
