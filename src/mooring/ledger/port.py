"""The ledger as the rest of Mooring sees it: five small nouns, channels to listen on, and an incarnation.

Every write is fenced on epoch and state, answers what became of it, and may be repeated after a lost answer.
Time is always a parameter. Any call may raise `Unavailable`: then its outcome is unknown until it is repeated.
Two things stand behind it: PostgreSQL (`postgres.py`), and an in-memory twin for virtual time (`twin.py`).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

from mooring.ledger.records import (
    AuditFilter,
    AuditPage,
    Channel,
    ClaimFilter,
    ClaimPage,
    Holds,
    Incarnation,
    InvariantCheck,
    InvariantState,
    Listener,
    LiveClaims,
    Occupancy,
    PoolCount,
    Replica,
    Unlisten,
)
from mooring.model.audit import AuditEntry, AuditOutcome, AuditRecord
from mooring.model.claim import Admission, Claim, EndCause, NewClaim, Outcome, WorkerSlot


class Claims(Protocol):
    """Who holds what. Epochs come from one sequence and rise strictly per slot."""

    async def insert_claimed(
        self,
        new: NewClaim,
        where: WorkerSlot,
        *,
        now: datetime,
        owner_limit: int | None = None,
        overtake: bool = False,
    ) -> Admission:
        """Create a live claim on a slot. `owner_limit` counts the owner's open claims in the pool, atomically.

        Unless `overtake`, QUEUE_AHEAD is answered while claims of the same or a higher priority wait.
        """
        ...

    async def insert_queued(
        self, new: NewClaim, *, now: datetime, wait_until: datetime, owner_limit: int | None = None
    ) -> Admission:
        """Create a waiting claim; wakes Channel.QUEUE."""
        ...

    async def bind_next(self, namespace: str, pool: str, where: WorkerSlot, *, now: datetime) -> Outcome | None:
        """Bind the head of the queue (highest priority, then first come) to a slot under a new epoch.

        None: nobody waits. SLOT_TAKEN carries the claim that holds the slot. Claims whose wait is over are passed by.
        """
        ...

    async def bind(self, claim_id: str, epoch: int, where: WorkerSlot, *, now: datetime) -> Outcome:
        """Bind a queued claim, or move a claimed one to another slot; the claim gets a new epoch."""
        ...

    async def mark_running(
        self,
        claim_id: str,
        epoch: int,
        *,
        now: datetime,
        payload: dict[str, Any] | None = None,
        announce: bool = False,
    ) -> Outcome:
        """`claimed -> running`; a payload given here (from the mint) joins the claim's, and wins where both have a key.

        `announce` wakes Channel.DISPATCH with the pod's uid: its worker may poll at another replica.
        """
        ...

    async def deliver_next(self, pod_uid: str, *, now: datetime) -> Claim | None:
        """Hand the oldest undelivered running claim of a pod to its worker: each epoch at most once, ever."""
        ...

    async def heartbeat(self, claim_id: str, epoch: int, *, now: datetime) -> Outcome:
        """The holder is alive. Always moves `heartbeat_at`, and never back, whatever the clock says."""
        ...

    async def end(self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str) -> Outcome:
        """The state that the cause leads to (`expired` without looking at the heartbeat). The first cause stays."""
        ...

    async def expire(
        self, claim_id: str, epoch: int, *, heartbeat_at: datetime | None, now: datetime, reason: str
    ) -> Outcome:
        """`expired`, unless a heartbeat newer than the one the decision was based on came in (REFUSED)."""
        ...

    async def expire_waiting(self, *, now: datetime, limit: int = 100) -> tuple[Claim, ...]:
        """End the queued claims whose wait is over."""
        ...

    async def requeue(
        self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str, wait_until: datetime | None
    ) -> Outcome:
        """Take the worker away and wait for another, at the old place in the queue, under a new epoch.

        A running claim only when it is `retryable` (else REFUSED). `wait_until` None waits without end.
        `running_at` stays: its old worker may carry the stamp still, and has to be known as one that ran.
        """
        ...

    async def get(self, claim_id: str) -> Claim | None: ...

    async def find_by_key(self, namespace: str, pool: str, idempotency_key: str) -> Claim | None: ...

    async def live(self, namespace: str | None = None, pool: str | None = None) -> LiveClaims:
        """Every live claim, in one statement with the incarnation."""
        ...

    async def holds(self) -> Holds:
        """What protection needs of every live claim, in one statement with the incarnation."""
        ...

    async def occupancy(self, namespace: str, pool: str) -> Occupancy:
        """A pool's live claims counted by pod, and its queue, in one statement with the incarnation."""
        ...

    async def live_by_pods(self, pod_uids: Iterable[str]) -> tuple[Claim, ...]:
        """Live claims on these pods, by pod and slot."""
        ...

    async def queue(self, namespace: str, pool: str) -> tuple[Claim, ...]:
        """Who waits, in the order in which they will be served."""
        ...

    async def position(self, claim_id: str) -> int | None:
        """1 is the head of its queue; None when it does not wait."""
        ...

    async def count_open(self, namespace: str, pool: str, owner: str) -> int:
        """What counts against the owner's limit."""
        ...

    async def count_by_pool(self) -> tuple[PoolCount, ...]:
        """Pools with open claims."""
        ...

    async def list(self, which: ClaimFilter, *, limit: int = 100, before_ticket: int | None = None) -> ClaimPage: ...

    async def prune(self, *, ended_before: datetime, limit: int = 1000) -> int:
        """Forget ended claims (and their idempotency keys); answers how many."""
        ...


class Audit(Protocol):
    """What was done, written down before it was done."""

    async def begin(self, entry: AuditEntry, *, epoch: int | None = None) -> AuditRecord:
        """Durable before the act. The same id again answers the row as it is.

        With `epoch` only while the entry's replica is registered under it; else `StaleEpoch`: another one took over.
        """
        ...

    async def complete(
        self, entry_id: str, outcome: AuditOutcome, *, now: datetime, error: str = ""
    ) -> AuditRecord | None:
        """How the act ended: the first answer stays. None when there is no such row."""
        ...

    async def record(self, entry: AuditEntry, outcome: AuditOutcome, *, error: str = "") -> AuditRecord:
        """Begin and complete at once, for what needs no row beforehand."""
        ...

    async def list(self, which: AuditFilter, *, limit: int = 100, before_sequence: int | None = None) -> AuditPage: ...

    async def prune(self, *, before: datetime, limit: int = 1000) -> int:
        """Forget old completed rows; pending ones stay. Answers how many."""
        ...


class Invariants(Protocol):
    """Kill switches and figures of the rules. A rule nobody paused or checked has no row and is not paused."""

    async def all(self) -> dict[str, InvariantState]: ...

    async def pause(self, rule: str, *, actor: str, reason: str, now: datetime) -> InvariantState: ...

    async def resume(self, rule: str, *, actor: str, now: datetime) -> InvariantState: ...

    async def record(self, checks: Iterable[InvariantCheck]) -> None:
        """Add the figures of a tick. Not for decisions: a lost answer may count a tick twice."""
        ...


class Replicas(Protocol):
    """Who runs the control plane."""

    async def register(self, replica_id: str, *, address: str, version: str, now: datetime) -> Replica:
        """Join under a new epoch. The same id again takes over from its predecessor, whose epoch is then over."""
        ...

    async def heartbeat(self, replica_id: str, epoch: int, *, now: datetime) -> bool:
        """False: this epoch is over (or the row is gone), stop acting and register again."""
        ...

    async def leave(self, replica_id: str, epoch: int, *, now: datetime) -> bool:
        """A graceful stop: others need not wait for the silence."""
        ...

    async def depose(self, replica_id: str, epoch: int, *, beats: int, now: datetime) -> bool:
        """End the epoch of a replica that fell silent. False: it has beaten since, or its epoch is over already."""
        ...

    async def all(self) -> tuple[Replica, ...]:
        """Every replica, those that left too, by id."""
        ...

    async def forget(self, *, silent_since: datetime) -> int:
        """Drop rows whose last heartbeat is older; answers how many."""
        ...


class Meta(Protocol):
    """The ledger about itself."""

    async def incarnation(self) -> Incarnation:
        """As it is in the database now."""
        ...

    async def observe_epoch(self, epoch: int, *, now: datetime) -> Incarnation:
        """The cluster carries this epoch on a pod.

        If the ledger never handed it out, the ledger has lost commits: a new, unarmed incarnation begins
        and later epochs are greater than this one. Otherwise nothing happens.
        """
        ...

    async def arm(self, incarnation_id: str, *, actor: str, now: datetime) -> Incarnation:
        """Declare the rows complete again (nothing happens unless that incarnation is the present one)."""
        ...

    async def ping(self) -> None:
        """Raises Unavailable when the ledger does not answer."""
        ...

    async def time(self) -> datetime:
        """What time it is there: to compare clocks, never to decide anything."""
        ...


class Ledger(Protocol):
    """The whole of it."""

    @property
    def claims(self) -> Claims: ...

    @property
    def audit(self) -> Audit: ...

    @property
    def invariants(self) -> Invariants: ...

    @property
    def replicas(self) -> Replicas: ...

    @property
    def meta(self) -> Meta: ...

    @property
    def incarnation(self) -> Incarnation:
        """As last seen: verified at start and at every reconnect; changes wake Channel.INCARNATION."""
        ...

    def listen(self, channel: Channel, listener: Listener) -> Unlisten:
        """Call `listener` for every notification, and with `resync` after every reconnect. Never blocks."""
        ...

    async def notify(self, channel: Channel, payload: str) -> None:
        """Wake the listeners of all replicas, this one too."""
        ...

    async def close(self) -> None: ...
