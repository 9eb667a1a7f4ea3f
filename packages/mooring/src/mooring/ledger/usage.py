"""The part of the ledger's interface that keeps the use of workers. The history writes it, with each sample."""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from mooring.model.usage import UsageRow


class Usage(Protocol):
    """Worker-seconds by day, pool, owner and state."""

    async def read(self, *, since: date, until: date, namespaces: Sequence[str] | None = None) -> tuple[UsageRow, ...]:
        """All rows of these days, both included; `namespaces` limits them."""
        ...

    async def prune(self, *, before: date, limit: int = 1000) -> int:
        """Delete rows of earlier days; returns how many."""
        ...
