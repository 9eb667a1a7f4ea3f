"""The use of workers in memory."""

from collections.abc import Sequence
from datetime import date

from mooring.ledger.twin.session import Session
from mooring.model.usage import UsageRow


class MemoryUsage:
    """Implements `Usage`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def read(self, *, since: date, until: date, namespaces: Sequence[str] | None = None) -> tuple[UsageRow, ...]:
        rows = sorted((await self._session.turn()).usage.items())
        return tuple(
            UsageRow(*key, seconds)
            for key, seconds in rows
            if since <= key[0] <= until and (not namespaces or key[1] in namespaces)
        )

    async def prune(self, *, before: date, limit: int = 1000) -> int:
        usage = (await self._session.turn()).usage
        old = [key for key in usage if key[0] < before][:limit]
        for key in old:
            del usage[key]
        return len(old)
