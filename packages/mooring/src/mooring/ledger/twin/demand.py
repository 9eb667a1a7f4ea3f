"""What was learnt of demand, in memory."""

from datetime import datetime
from typing import Any

from mooring.ledger.twin.session import Session
from mooring.ledger.twin.store import as_json
from mooring.model.pool_history import FINE_KEPT, FINE_SECONDS, MODELS_KEPT, end_of_step


class MemoryDemand:
    """Implements `Demand`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def load(self, namespace: str, pool: str) -> dict[str, Any] | None:
        found = (await self._session.turn()).demand.get((namespace, pool))
        return as_json(found[1]) if found is not None else None

    async def save(self, namespace: str, pool: str, model: dict[str, Any], *, at: datetime) -> None:
        store = await self._session.turn()
        known = store.demand.get((namespace, pool))
        if known is None or known[0] <= at:
            store.demand[namespace, pool] = (at, as_json(model))

    async def refuse(self, namespace: str, pool: str, owner: str, *, now: datetime) -> None:
        store = await self._session.turn()
        store.refusals.setdefault((namespace, pool, end_of_step(now, FINE_SECONDS), owner), now)

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        store = await self._session.turn()
        old = [key for key, at in store.refusals.items() if at < now - FINE_KEPT][:limit]
        for refusal in old:
            del store.refusals[refusal]
        for pool in [pool for pool, (at, _) in store.demand.items() if at < now - MODELS_KEPT]:
            del store.demand[pool]
        return len(old)
