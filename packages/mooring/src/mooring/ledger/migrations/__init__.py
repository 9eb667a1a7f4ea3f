"""Migrations of the schema: numbered SQL files, each applied once, in order, by one process at a time."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mooring.model.errors import Misconfigured

SCHEMA = "mooring"
_FOLDER = Path(__file__).parent
_LOCK = 7021006512


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration. The database keeps its checksum: an applied migration must never change."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def known_migrations(folder: Path = _FOLDER) -> list[Migration]:
    """All migrations of this version, in order."""
    return [
        Migration(int(path.stem.split("_", 1)[0]), path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("[0-9]*_*.sql"))
    ]


async def migrate(connection: Any, known: list[Migration], now: datetime) -> list[Migration]:
    """Apply the missing migrations in one transaction; returns them."""
    async with connection.transaction():
        await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, name text NOT NULL,"
            " checksum text NOT NULL, applied_at timestamptz NOT NULL)"
        )
        rows = await connection.fetch("SELECT version, name, checksum FROM migrations ORDER BY version")
        _check_history({row["version"]: (row["name"], row["checksum"]) for row in rows}, known)
        missing = known[len(rows) :]
        for migration in missing:
            await connection.execute(migration.sql)
            await connection.execute(
                "INSERT INTO migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)",
                migration.version, migration.name, migration.checksum, now,
            )  # fmt: skip
        return missing


def _check_history(applied: dict[int, tuple[str, str]], known: list[Migration]) -> None:
    ours = {migration.version: migration for migration in known}
    newest = max(ours, default=0)
    if max(applied, default=0) > newest:
        raise Misconfigured(
            f"the database's schema is version {max(applied)}, newer than this Mooring knows ({newest})",
            fix="run the newer Mooring, or give another database",
        )
    for version, (name, checksum) in applied.items():
        if version not in ours or ours[version].checksum != checksum:
            raise Misconfigured(
                f"the database's schema step {name} differs from this Mooring's",
                fix="run the Mooring that made it, or give another database",
            )
