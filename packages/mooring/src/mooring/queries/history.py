"""What the ledger remembers of a worker: its sessions and what was done to it, newest first."""

from dataclasses import dataclass

from hawser.clock import Clock
from mooring.ledger.port import Ledger
from mooring.ledger.records import AuditFilter, ClaimFilter
from mooring.model.audit import AuditRecord
from mooring.model.claim import Claim
from mooring.queries.fleet import WorkerReading

HISTORY_ROWS = 50
KEPT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class History:
    """As read at a moment, when the worker was `seen` so."""

    claims: tuple[Claim, ...]
    acts: tuple[AuditRecord, ...]
    read_at: float
    seen: WorkerReading

    def holds_for(self, worker: WorkerReading) -> bool:
        """Whether the state and the claims of the worker are still those that were read."""
        return (self.seen.state, self.seen.claims) == (worker.state, worker.claims)


class Histories:
    """Reads them, and keeps the latest for those who look every second: ended claims are not indexed by their pod."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._kept: dict[str, History] = {}

    async def of(self, worker: WorkerReading, most_age: float) -> History:
        """At most so many seconds old, and never from before its sessions changed. `Unavailable` without the ledger."""
        now = self._clock.monotonic()
        kept = self._kept.get(worker.uid)
        if kept is not None and now - kept.read_at < most_age and kept.holds_for(worker):
            return kept
        claims = await self._ledger.claims.list(ClaimFilter(pod_uid=worker.uid), limit=HISTORY_ROWS)
        which = AuditFilter(namespace=worker.namespace, name=worker.name, uid=worker.uid)
        acts = await self._ledger.audit.list(which, limit=HISTORY_ROWS)
        fresh = History(claims.items, acts.items, now, worker)
        self._kept = {uid: old for uid, old in self._kept.items() if now - old.read_at < KEPT_SECONDS}
        self._kept[worker.uid] = fresh
        return fresh
