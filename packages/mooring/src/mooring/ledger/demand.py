"""The part of the ledger's interface that keeps what was learnt of the demand of pools."""

from datetime import datetime
from typing import Any, Protocol


class Demand(Protocol):
    """One model a pool, as JSON, and the claims that were refused because no worker was idle."""

    async def load(self, namespace: str, pool: str) -> dict[str, Any] | None:
        """The model of a pool; None if nothing was learnt."""
        ...

    async def save(self, namespace: str, pool: str, model: dict[str, Any], *, at: datetime) -> None:
        """Keep a model that has learnt everything until `at`. An older one does not replace a newer one."""
        ...

    async def refuse(self, namespace: str, pool: str, owner: str, *, now: datetime) -> None:
        """A claim was refused. Repeats of one owner within ten seconds count once: clients that do not wait repeat."""
        ...

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        """Delete refusals that no sample counts any more, and models that nobody updated for 60 days."""
        ...
