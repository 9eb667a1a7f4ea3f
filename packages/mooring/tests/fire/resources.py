"""What a run uses, sample after sample: memory, file handles and connections of replicas, sizes of the ledger."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median

import asyncpg

from packages.mooring.tests.fire.parts import Parts

_MIB = 1024 * 1024


@dataclass(frozen=True)
class Sample:
    """One moment. Of the replicas, the one that uses most."""

    seconds: float
    memory_mib: float
    file_handles: float
    connections: float  # of PostgreSQL
    tables_mib: float
    indexes_mib: float
    claims: float  # rows


_SIZES = """
SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())::float AS connections,
       (SELECT coalesce(sum(pg_table_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname !~ '^(pg_|information_schema)' AND c.relkind = 'r')::float AS tables,
       (SELECT coalesce(sum(pg_indexes_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname !~ '^(pg_|information_schema)' AND c.relkind = 'r')::float AS indexes,
       (SELECT count(*) FROM claims)::float AS claims
"""


async def take_sample(parts: Parts, seconds: float) -> Sample:
    """The use of now."""
    connection = await asyncpg.connect(parts.database.url)
    try:
        row = await connection.fetchrow(_SIZES)
    finally:
        await connection.close()
    pids = [replica.pid for replica in parts.replicas]
    return Sample(
        seconds=round(seconds, 1),
        memory_mib=round(max(map(_resident_mib, pids)), 1),
        file_handles=float(max(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids)),
        connections=row["connections"] - 1,
        tables_mib=round(row["tables"] / _MIB, 2),
        indexes_mib=round(row["indexes"] / _MIB, 2),
        claims=row["claims"],
    )


def _resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / _MIB


BOUNDED = ("memory_mib", "file_handles", "connections")
GROWTH_ALLOWED = 1.15


def find_growth(samples: Sequence[Sample]) -> list[str]:
    """What grew from the second quarter of the run to the last one, beyond 15 %."""
    quarter = len(samples) // 4
    if quarter < 2:
        return ["the run is too short to judge"]
    found = []
    for name in BOUNDED:
        early = median(getattr(one, name) for one in samples[quarter : 2 * quarter])
        late = median(getattr(one, name) for one in samples[-quarter:])
        if late > early * GROWTH_ALLOWED:
            found.append(f"{name} grew from {early:g} to {late:g}")
    return found


def write_samples(samples: Sequence[Sample], path: Path) -> None:
    """As CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Sample)])
        writer.writeheader()
        writer.writerows(asdict(one) for one in samples)
