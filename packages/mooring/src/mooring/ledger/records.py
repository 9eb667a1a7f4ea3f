"""Results of the ledger that are not part of the model: notifications, pages, counters, its incarnation."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from mooring.model.audit import AuditOutcome, AuditRecord
from mooring.model.claim import Claim, ClaimState, Hold
from mooring.model.errors import StaleEpoch


class Channel(StrEnum):
    """Notifications between replicas. The payload is a hint where to look; the rows are authoritative."""

    QUEUE = "mooring_queue"  # payload `namespace/pool`: a claim began to wait
    CLAIM = "mooring_claim"  # payload: id of a claim that waited and was bound, ran or ended, or lost its worker
    DISPATCH = "mooring_dispatch"  # payload: uid of a pod whose worker may poll, because a claim on it began to run
    ACTIVITY = "mooring_activity"  # payload: uid of a stamped pod whose worker reports that it is idle
    POLL = "mooring_poll"  # payload `namespace/pool/uid`: a worker polls that was silent before
    REPLICA = "mooring_replica"  # payload: id of a replica that stopped leading, or will not lead
    INVARIANT = "mooring_invariant"  # payload: id of an invariant that was paused or resumed
    INCARNATION = "mooring_incarnation"  # payload: the incarnation that began or was armed


class Wake(msgspec.Struct, frozen=True):
    """A notification. `resync` means that the connection was lost and notifications may be missing: read everything."""

    channel: Channel
    payload: str
    resync: bool = False


Listener = Callable[[Wake], None]
Unlisten = Callable[[], None]


class Cause(StrEnum):
    """Why an incarnation began."""

    CREATED = "created"
    RESTORED = "restored"  # the same rows in another database or server: a dump was loaded
    FAILED_OVER = "failed_over"  # the server's timeline changed: a standby was promoted, or recovery to a point in time
    WENT_BACK = "went_back"  # the ledger never issued an epoch that is in use: commits were lost


class Incarnation(msgspec.Struct, frozen=True):
    """The identity of the ledger. A missing row proves nothing across incarnations.

    Unless it is `armed`, invariants that use a missing row as proof must not act, because rows may be lost.
    """

    id: str
    since: datetime
    cause: Cause
    armed: bool


class Link(msgspec.Struct, frozen=True):
    """How the ledger is reached. No hosts: within this machine."""

    hosts: tuple[str, ...] = ()
    sslmode: str = ""
    encrypted: bool = False


class LiveClaims(msgspec.Struct, frozen=True):
    """All live claims, and the incarnation from the same statement."""

    incarnation: str
    armed: bool
    claims: tuple[Claim, ...]


class Holds(msgspec.Struct, frozen=True):
    """The holds of all live claims. Read every 2 seconds, so it has only a few of their columns."""

    incarnation: str
    armed: bool
    items: tuple[Hold, ...]


class Occupancy(msgspec.Struct, frozen=True):
    """The counts that a pool's plan needs: live claims by pod, and waiting claims."""

    incarnation: str
    armed: bool
    held: Mapping[str, int]  # by pod uid
    queued: int


class ClaimFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filter for claims; None means any."""

    namespace: str | None = None
    pool: str | None = None
    owner: str | None = None
    states: frozenset[ClaimState] | None = None
    pod_uid: str | None = None
    within: frozenset[str] | None = None  # only these namespaces


class ClaimPage(msgspec.Struct, frozen=True):
    """Claims, newest first. `next_ticket` continues the list (as `before_ticket`); None at its end."""

    items: tuple[Claim, ...]
    total: int
    next_ticket: int | None


class PoolCount(msgspec.Struct, frozen=True):
    """The number of open claims of a pool by state."""

    namespace: str
    pool: str
    queued: int
    claimed: int
    running: int
    oldest_queued_at: datetime | None = None  # since when the first of the waiting claims waits


class Revocation(msgspec.Struct, frozen=True, kw_only=True):
    """The intent to revoke what a mint made for a claim, once the claim has ended."""

    claim_id: str
    namespace: str
    pool: str
    mint: dict[str, Any]  # `spec.mint` of the pool when the mint was called: the pool may be gone by the end
    next_at: datetime
    tries: int = 0


class WaitingSign(msgspec.Struct, frozen=True):
    """A queued claim that needs its client, and the last sign of life of that client; None before the first."""

    claim: str
    epoch: int
    seen_at: datetime | None


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filter for audit rows; None means any."""

    id: str | None = None
    actor: str | None = None
    action: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    outcome: AuditOutcome | None = None
    since: datetime | None = None
    within: frozenset[str] | None = None  # only these namespaces
    namespaced: bool = False  # only rows about something in a namespace


class AuditPage(msgspec.Struct, frozen=True):
    """Audit rows, newest first. `next_sequence` continues the list (as `before_sequence`); None at its end."""

    items: tuple[AuditRecord, ...]
    total: int
    next_sequence: int | None


class InvariantState(msgspec.Struct, frozen=True, kw_only=True):
    """The kill switch and the counters of one invariant."""

    id: str
    paused: bool = False
    paused_by: str = ""  # who paused or resumed it last
    reason: str = ""
    paused_since: datetime | None = None
    checked_at: datetime | None = None
    broken: int = 0  # violations at the last check
    found: int = 0  # violations since the ledger was created
    healed: int = 0
    heal_seconds: float = 0.0  # time from first seen to healed, summed over `healed`
    last_heal_seconds: float | None = None
    evidence: dict[str, Any] | None = None  # of the last violation
    verdict_since: datetime | None = None  # since when every check found violations, or since when none did


class InvariantCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check of an invariant; the counts are those of this check."""

    id: str
    at: datetime
    broken: int
    found: int = 0  # newly seen violations
    healed: tuple[float, ...] = ()  # how long each healed violation lasted, in seconds
    evidence: dict[str, Any] | None = None


def deposed(replica: str, epoch: int | None) -> StaleEpoch:
    """The error for a replica that acts under an epoch that has ended."""
    return StaleEpoch(f"replica {replica} no longer acts under epoch {epoch}", fix="another one took over: do nothing")


class Replica(msgspec.Struct, frozen=True, kw_only=True):
    """A control plane process.

    `beats` only rises. Other replicas watch it with their own monotonic clock, so skewed clocks do not matter.
    """

    id: str
    epoch: int
    address: str
    version: str
    started_at: datetime
    heartbeat_at: datetime
    beats: int
    left_at: datetime | None
