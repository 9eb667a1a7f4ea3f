"""The use of workers as people see it: worker-hours by day, pool and owner, and what they cost."""

from __future__ import annotations

from datetime import date, timedelta

import msgspec

from hawser.clock import Clock
from mooring.ledger.port import Ledger
from mooring.model.errors import InvalidInput
from mooring.model.usage import BUSY, IDLE, STARTING, UsageRow
from mooring.queries.visibility import Visibility

USUAL_DAYS = 7
MOST_DAYS = 400


class UsageReading(msgspec.Struct, frozen=True, rename="camel"):
    """Worker-hours of one day (UTC), pool and owner. Workers that nobody holds have no owner."""

    day: date
    namespace: str
    pool: str
    owner: str
    idle_hours: float
    busy_hours: float
    starting_hours: float
    cost: float | None  # of all of them, if a price is given


class UsageReport(msgspec.Struct, frozen=True, rename="camel"):
    """Rows by day, pool and owner, and their sums."""

    items: list[UsageReading]
    total: int
    since: date
    until: date
    idle_hours: float
    busy_hours: float
    starting_hours: float
    cost: float | None


class UsageQueries:
    """Reads the ledger, within what a reader may see."""

    def __init__(self, ledger: Ledger, clock: Clock, visibility: Visibility) -> None:
        self._ledger = ledger
        self._clock = clock
        self._visibility = visibility

    async def report(self, days: int = USUAL_DAYS, price: float | None = None) -> UsageReport:
        """The last days, today included; `price` is for one worker-hour. May raise `InvalidInput`."""
        if not 1 <= days <= MOST_DAYS:
            raise InvalidInput("days", days, f"between 1 and {MOST_DAYS}")
        if price is not None and not 0 <= price < float("inf"):
            raise InvalidInput("price", price, "at least 0")
        until = self._clock.now().date()
        since = until - timedelta(days=days - 1)
        limit = self._visibility.workerpools.limit
        rows: tuple[UsageRow, ...] = ()
        if limit is None or limit:
            namespaces = None if limit is None else sorted(limit)
            rows = await self._ledger.usage.read(since=since, until=until, namespaces=namespaces)
        items = compute_readings(rows, price)
        idle, busy, starting = (
            round(sum(row.seconds for row in rows if row.state == state) / 3600, 3) for state in (IDLE, BUSY, STARTING)
        )
        return UsageReport(
            items=items,
            total=len(items),
            since=since,
            until=until,
            idle_hours=idle,
            busy_hours=busy,
            starting_hours=starting,
            cost=None if price is None else round((idle + busy + starting) * price, 2),
        )


def compute_readings(rows: tuple[UsageRow, ...], price: float | None) -> list[UsageReading]:
    """One row for each day, pool and owner."""
    by_key: dict[tuple[date, str, str, str], dict[str, float]] = {}
    for row in rows:
        by_key.setdefault((row.day, row.namespace, row.pool, row.owner), {})[row.state] = row.seconds / 3600
    return [
        UsageReading(
            *key,
            idle_hours=round(hours.get(IDLE, 0.0), 3),
            busy_hours=round(hours.get(BUSY, 0.0), 3),
            starting_hours=round(hours.get(STARTING, 0.0), 3),
            cost=None if price is None else round(sum(hours.values()) * price, 4),
        )
        for key, hours in sorted(by_key.items())
    ]
