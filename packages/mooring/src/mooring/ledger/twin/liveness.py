"""Signs of life of workers in memory."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from mooring.ledger.twin.session import Session


class MemoryLiveness:
    """Implements `Liveness`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def record(self, senders: Iterable[str], *, now: datetime) -> None:
        store = await self._session.turn()
        for sender in set(senders):
            count, heard_at = store.liveness.get(sender, (0, now))
            store.liveness[sender] = (count + 1, max(heard_at, now))

    async def counts(self, senders: Iterable[str]) -> Mapping[str, int]:
        store = await self._session.turn()
        return {sender: store.liveness[sender][0] for sender in senders if sender in store.liveness}

    async def forget(self, *, silent_since: datetime, limit: int = 1000) -> int:
        store = await self._session.turn()
        silent = [sender for sender, (_, heard_at) in store.liveness.items() if heard_at < silent_since][:limit]
        for sender in silent:
            del store.liveness[sender]
        return len(silent)
