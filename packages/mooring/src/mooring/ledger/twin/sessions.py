"""Sessions of pages in memory."""

from datetime import datetime

from mooring.ledger.page_sessions import PageSession
from mooring.ledger.twin.session import Session


class MemorySessions:
    """Implements `Sessions`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def create(self, new: PageSession) -> None:
        (await self._session.turn()).sessions.setdefault(new.id_hash, new)

    async def find(self, id_hash: str, *, now: datetime) -> PageSession | None:
        found = (await self._session.turn()).sessions.get(id_hash)
        return found if found is not None and found.expires_at > now else None

    async def delete(self, id_hash: str) -> None:
        (await self._session.turn()).sessions.pop(id_hash, None)

    async def prune(self, *, now: datetime, limit: int = 1000) -> int:
        sessions = (await self._session.turn()).sessions
        expired = sorted((one for one in sessions.values() if one.expires_at <= now), key=lambda one: one.expires_at)
        for one in expired[:limit]:
            del sessions[one.id_hash]
        return len(expired[:limit])
