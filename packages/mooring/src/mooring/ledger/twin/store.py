"""The durable state of the ledger in memory: rows, sequences and listeners."""

from collections.abc import Callable
from copy import copy
from datetime import date, datetime
from typing import Any, Self

import msgspec

from mooring.ledger.page_sessions import PageSession
from mooring.ledger.records import Channel, Incarnation, InvariantState, Replica, Revocation, Wake
from mooring.model.audit import AuditRecord
from mooring.model.claim import Claim
from mooring.model.pool_history import Sample
from mooring.model.seal import SealKey

EPOCH_MARGIN = 1_000_000


class MemoryStore:
    """All durable state. `place` stands for the server and files: a copy has another place.

    Claims are only written with `put` and `forget`, which maintain the indexes.
    """

    def __init__(self) -> None:
        self.place = 0
        self.claims: dict[str, Claim] = {}
        self.open: dict[str, Claim] = {}
        self.holders: dict[tuple[str | None, int | None], Claim] = {}
        self.keys: dict[tuple[str, str, str], str] = {}
        self.attendance: dict[str, datetime] = {}
        self.audit: dict[str, AuditRecord] = {}
        self.revocations: dict[str, Revocation] = {}
        self.invariants: dict[str, InvariantState] = {}
        self.replicas: dict[str, Replica] = {}
        self.liveness: dict[str, tuple[int, datetime]] = {}
        self.sessions: dict[str, PageSession] = {}
        self.history: dict[tuple[str, str, int, datetime], Sample] = {}
        self.demand: dict[tuple[str, str], tuple[datetime, Any]] = {}
        self.refusals: dict[tuple[str, str, datetime, str], datetime] = {}
        self.usage: dict[tuple[date, str, str, str, str], float] = {}
        self.incarnations: list[tuple[Incarnation, int]] = []
        self.seal_key: SealKey | None = None
        self.epoch = 0
        self.ticket = 0
        self.audit_sequence = 0
        self.replica_epoch = 0
        self._receivers: list[Callable[[Wake], None]] = []

    def put(self, claim: Claim) -> None:
        """Insert or replace a claim."""
        self.forget(claim.id)
        self.claims[claim.id] = claim
        if claim.open:
            self.open[claim.id] = claim
        if claim.live:
            self.holders[claim.pod_uid, claim.slot] = claim
        if claim.idempotency_key is not None:
            self.keys[claim.namespace, claim.pool, claim.idempotency_key] = claim.id

    def forget(self, claim_id: str) -> None:
        claim = self.claims.pop(claim_id, None)
        self.open.pop(claim_id, None)
        if claim is not None and claim.live:
            self.holders.pop((claim.pod_uid, claim.slot), None)
        if claim is not None and claim.idempotency_key is not None:
            self.keys.pop((claim.namespace, claim.pool, claim.idempotency_key), None)

    def draw_epoch(self) -> int:
        self.epoch += 1
        return self.epoch

    def draw_ticket(self) -> int:
        self.ticket += 1
        return self.ticket

    def draw_audit_sequence(self) -> int:
        self.audit_sequence += 1
        return self.audit_sequence

    def draw_replica_epoch(self) -> int:
        self.replica_epoch += 1
        return self.replica_epoch

    def subscribe(self, receiver: Callable[[Wake], None]) -> None:
        self._receivers.append(receiver)

    def unsubscribe(self, receiver: Callable[[Wake], None]) -> None:
        if receiver in self._receivers:
            self._receivers.remove(receiver)

    def notify(self, channel: Channel, payload: str) -> None:
        """Notify every client, in the order of commits."""
        for receiver in self._receivers:
            receiver(Wake(channel, payload))

    def backup(self) -> Self:
        """A copy of the rows as they are now."""
        saved = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list):
                setattr(saved, name, copy(value))
        return saved

    def restore(self, saved: Self, *, elsewhere: bool = True) -> None:
        """Load a backup.

        As a dump in another place or, with `elsewhere` False, as the same files at an earlier time.
        """
        place, receivers = self.place, self._receivers
        self.__dict__.update(saved.backup().__dict__)
        self.place = place + 1 if elsewhere else place
        self._receivers = receivers
        for channel in Channel:
            for receiver in receivers:
                receiver(Wake(channel, "", resync=True))


def as_json(value: Any) -> Any:
    """What jsonb stores of a value: a copy that only has JSON values."""
    return msgspec.json.decode(msgspec.json.encode(value))
