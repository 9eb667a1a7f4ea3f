"""The interface of the ledger: eleven parts, channels to listen on, and an incarnation.

Every write is fenced on epoch and state, returns its result, and may be repeated after a lost answer. Time is always a
parameter. Any call may raise `Unavailable`: then its outcome is unknown until it is repeated. There are two
implementations: PostgreSQL (`ledger/postgres`), and one in memory for virtual time (`ledger/twin`).
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Protocol

from mooring.ledger.demand import Demand
from mooring.ledger.history import History
from mooring.ledger.identity import Meta
from mooring.ledger.liveness import Liveness
from mooring.ledger.page_sessions import Sessions
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
    Revocation,
    Unlisten,
)
from mooring.ledger.usage import Usage
from mooring.ledger.waiting import Waiting
from mooring.model.audit import AuditEntry, AuditOutcome, AuditRecord
from mooring.model.claim import Admission, Claim, EndCause, NewClaim, Outcome, WorkerSlot
from mooring.model.seal import SealKey


class Claims(Waiting, Protocol):
    """Claims. Epochs come from one sequence and rise strictly per slot."""

    async def insert_claimed(
        self,
        new: NewClaim,
        where: WorkerSlot,
        *,
        now: datetime,
        owner_limit: int | None = None,
        overtake: bool = False,
        private: bool = False,
    ) -> Admission:
        """Create a live claim on a slot. `owner_limit` limits the owner's open claims in the pool, atomically.

        Unless `overtake` is set, the result is QUEUE_AHEAD while claims of the same or a higher priority wait. With
        `private`, others could not use the slot, so only the owner's own waiting claims count.
        """
        ...

    async def insert_queued(
        self,
        new: NewClaim,
        *,
        now: datetime,
        wait_until: datetime,
        owner_limit: int | None = None,
        queue_limit: int | None = None,
        by_owner: bool = False,
    ) -> Admission:
        """Create a waiting claim; the first 100 notify Channel.QUEUE. `queue_limit`: of the pool, or `by_owner`."""
        ...

    async def bind_next(
        self, namespace: str, pool: str, where: WorkerSlot, *, now: datetime, skip: Collection[str] = ()
    ) -> Outcome | None:
        """Bind the first claim of the queue (highest priority, then oldest) to a slot under a new epoch.

        None if no claim waits that may have it. SLOT_TAKEN carries the claim that holds the slot. Claims whose wait is
        over are skipped, and those with an id in `skip`.
        """
        ...

    async def bind(self, claim_id: str, epoch: int, where: WorkerSlot, *, now: datetime) -> Outcome:
        """Bind a queued claim, or move a claimed one to another slot. The claim gets a new epoch."""
        ...

    async def mark_running(
        self,
        claim_id: str,
        epoch: int,
        *,
        now: datetime,
        minted: dict[str, Any] | None = None,
        announce: bool = False,
    ) -> Outcome:
        """`claimed -> running`. `minted` is the mint's part of the payload; a requeue, a binding or the end removes it.

        `announce` notifies Channel.DISPATCH with the pod's uid, because its worker may poll at another replica.
        """
        ...

    async def deliver_next(self, pod_uid: str, *, now: datetime) -> Claim | None:
        """Deliver the oldest undelivered running claim of a pod to its worker. Each epoch is delivered at most once."""
        ...

    async def heartbeat(self, claim_id: str, epoch: int, *, now: datetime, last: datetime | None = None) -> Outcome:
        """Record that the holder is alive. With `last`, REFUSED unless that was its last heartbeat.

        `heartbeat_at` always changes and never goes back, also if the clock does.
        """
        ...

    async def end(self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str) -> Outcome:
        """End the claim with the state of the cause, without checking the heartbeat. The first cause is kept."""
        ...

    async def expire(
        self,
        claim_id: str,
        epoch: int,
        cause: EndCause = EndCause.EXPIRED,
        *,
        heartbeat_at: datetime | None,
        now: datetime,
        reason: str,
    ) -> Outcome:
        """`expired`, unless a heartbeat arrived that is newer than `heartbeat_at` (then REFUSED)."""
        ...

    async def requeue(
        self, claim_id: str, epoch: int, cause: EndCause, *, now: datetime, reason: str, wait_until: datetime | None
    ) -> Outcome:
        """Take the worker away and put the claim back at its old place in the queue, under a new epoch.

        A running claim only if it is `retryable`, otherwise REFUSED. Without `wait_until` it waits for ever.
        `running_at` is kept: the old worker may still carry the stamp, and the row must show that the claim ran there.
        """
        ...

    async def get(self, claim_id: str) -> Claim | None: ...

    async def find_by_prefix(self, prefix: str, *, limit: int = 10) -> tuple[Claim, ...]:
        """Claims whose id starts with this text, newest first."""
        ...

    async def find_by_key(self, namespace: str, pool: str, idempotency_key: str) -> Claim | None: ...

    async def live(self, namespace: str | None = None, pool: str | None = None) -> LiveClaims:
        """Every live claim, read in one statement with the incarnation."""
        ...

    async def holds(self) -> Holds:
        """The part of every live claim that protection needs, read in one statement with the incarnation."""
        ...

    async def occupancy(self, namespace: str, pool: str) -> Occupancy:
        """The live claims of a pool counted by pod, and its queue, read in one statement with the incarnation."""
        ...

    async def live_by_pods(self, pod_uids: Iterable[str]) -> tuple[Claim, ...]:
        """Live claims on these pods, ordered by pod and slot."""
        ...

    async def expired_on(self, pod_uid: str) -> tuple[Claim, ...]:
        """Claims on this pod that expired, the oldest first."""
        ...

    async def queue(self, namespace: str, pool: str) -> tuple[Claim, ...]:
        """Waiting claims in the order in which they will be served."""
        ...

    async def heads(self, namespace: str, pool: str, *, now: datetime, skip: Collection[str] = ()) -> tuple[Claim, ...]:
        """The first waiting claim of each owner, in the order of the queue.

        Claims whose wait is over are skipped, and those with an id in `skip`.
        """
        ...

    async def position(self, claim_id: str) -> int | None:
        """The place in the queue, beginning with 1; None if the claim does not wait."""
        ...

    async def count_open(self, namespace: str, pool: str, owner: str) -> int:
        """The number of claims that count against the owner's limit."""
        ...

    async def count_by_pool(self) -> tuple[PoolCount, ...]:
        """The number of open claims by pool, and since when the oldest of them waits."""
        ...

    async def list(self, which: ClaimFilter, *, limit: int = 100, before_ticket: int | None = None) -> ClaimPage: ...

    async def prune(self, *, ended_before: datetime, limit: int = 1000) -> int:
        """Delete ended claims and their idempotency keys; returns how many."""
        ...

    async def count_ended(self, *, ended_before: datetime, limit: int) -> int:
        """How many claims ended before; `limit` if there are more."""
        ...


class Audit(Protocol):
    """The audit trail. Rows are written before the act."""

    async def begin(self, entry: AuditEntry, *, epoch: int | None = None) -> AuditRecord:
        """Write a row durably before the act. The same id again returns the existing row.

        With `epoch`, the row is only written while the entry's replica is registered under it. Otherwise `StaleEpoch`
        is raised: another replica took over.
        """
        ...

    async def complete(
        self, entry_id: str, outcome: AuditOutcome, *, now: datetime, error: str = ""
    ) -> AuditRecord | None:
        """Record how the act ended; the first record is kept. None if there is no such row."""
        ...

    async def list(self, which: AuditFilter, *, limit: int = 100, before_sequence: int | None = None) -> AuditPage: ...

    async def prune(self, *, before: datetime, limit: int = 1000) -> int:
        """Delete old completed rows; pending rows are kept. Returns how many."""
        ...

    async def count_completed(self, *, before: datetime, limit: int) -> int:
        """How many completed rows are older; `limit` if there are more."""
        ...


class Revocations(Protocol):
    """Credentials to revoke. An intent is written before the mint is called, so that no crash can forget it."""

    async def intend(self, new: Revocation) -> None:
        """Remember to revoke when the claim has ended. Again for the same claim: only `mint` is replaced."""
        ...

    async def take(self, *, now: datetime, until: datetime, limit: int = 20) -> tuple[Revocation, ...]:
        """Take the revocations that are due and whose claim has ended. Each counts as a try, reserved until then."""
        ...

    async def postpone(self, claim_id: str, *, next_at: datetime) -> None:
        """The try failed; the next one is due then."""
        ...

    async def settle(self, claim_id: str) -> None:
        """It is revoked, or given up."""
        ...


class Invariants(Protocol):
    """Kill switches and counters of the invariants. An invariant without a row is not paused."""

    async def all(self) -> dict[str, InvariantState]: ...

    async def pause(self, invariant: str, *, actor: str, reason: str, now: datetime) -> InvariantState: ...

    async def resume(self, invariant: str, *, actor: str, now: datetime) -> InvariantState: ...

    async def record(self, checks: Iterable[InvariantCheck]) -> None:
        """Add the counts of a tick. They are no basis for decisions: after a lost answer a tick may count twice."""
        ...


class Replicas(Protocol):
    """The replicas of the control plane."""

    async def register(self, replica_id: str, *, address: str, version: str, now: datetime) -> Replica:
        """Register under a new epoch. The same id again replaces its predecessor and ends the predecessor's epoch."""
        ...

    async def heartbeat(self, replica_id: str, epoch: int, *, now: datetime) -> bool:
        """False if this epoch has ended or the row is gone: stop acting and register again."""
        ...

    async def leave(self, replica_id: str, epoch: int, *, now: datetime) -> bool:
        """Leave on a graceful stop, so that other replicas need not wait until this one counts as dead."""
        ...

    async def depose(self, replica_id: str, epoch: int, *, beats: int, now: datetime) -> bool:
        """End the epoch of a silent replica. False if it has sent a heartbeat since, or its epoch has ended already."""
        ...

    async def all(self) -> tuple[Replica, ...]:
        """Every replica by id, including those that left."""
        ...

    async def forget(self, *, silent_since: datetime) -> int:
        """Delete rows whose last heartbeat is older; returns how many."""
        ...


class Ledger(Protocol):
    """The whole interface."""

    @property
    def claims(self) -> Claims: ...

    @property
    def audit(self) -> Audit: ...

    @property
    def revocations(self) -> Revocations: ...

    @property
    def invariants(self) -> Invariants: ...

    @property
    def replicas(self) -> Replicas: ...

    @property
    def liveness(self) -> Liveness: ...

    @property
    def sessions(self) -> Sessions: ...

    @property
    def history(self) -> History: ...

    @property
    def demand(self) -> Demand: ...

    @property
    def usage(self) -> Usage: ...

    @property
    def meta(self) -> Meta: ...

    @property
    def incarnation(self) -> Incarnation:
        """The incarnation as last read, at the start and at every reconnect. Changes notify Channel.INCARNATION."""
        ...

    @property
    def seal_key(self) -> SealKey:
        """The key of the seals on stamps; a backup has the same. Read at start and at every reconnect."""
        ...

    def listen(self, channel: Channel, listener: Listener) -> Unlisten:
        """Call `listener` for every notification, and with `resync` after every reconnect. Never blocks."""
        ...

    async def notify(self, channel: Channel, payload: str) -> None:
        """Notify the listeners of all replicas, including this one."""
        ...

    async def close(self) -> None: ...
