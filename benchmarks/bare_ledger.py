"""The two statements of a claim without Mooring: what a claim costs at least, for the floors of `claims.py`."""

import itertools
from typing import Any

import asyncpg

_CONNECTIONS = 10  # as many as a replica has
_TABLE = """
DROP TABLE IF EXISTS bare_claims;
CREATE TABLE bare_claims (
    id text PRIMARY KEY, pod text NOT NULL, state text NOT NULL, owner text NOT NULL, epoch bigserial,
    claimed_at timestamptz NOT NULL DEFAULT now(), running_at timestamptz
)
"""
_BEGIN = "INSERT INTO bare_claims (id, pod, state, owner) VALUES ($1, $2, 'claimed', 'bench') RETURNING *"
_START = "UPDATE bare_claims SET state = 'running', running_at = now() WHERE id = $1 RETURNING *"


class BareLedger:
    """A table of its own in the database of Mooring."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._ids = itertools.count(1)

    @classmethod
    async def open(cls, url: str) -> "BareLedger":
        pool = await asyncpg.create_pool(url, min_size=_CONNECTIONS, max_size=_CONNECTIONS)
        await pool.execute(_TABLE)
        return cls(pool)

    async def begin(self, pod: str) -> str:
        """Write the row; its id."""
        claim = f"{next(self._ids):036}"
        await self._pool.fetchrow(_BEGIN, claim, pod)
        return claim

    async def start(self, claim: str) -> None:
        """Write that it runs."""
        await self._pool.fetchrow(_START, claim)
