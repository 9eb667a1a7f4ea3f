"""What the ledger answers with, beyond the model's own words: notifications, pages, figures, its incarnation."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from mooring.model.audit import AuditOutcome, AuditRecord
from mooring.model.claim import Claim, ClaimState, Hold
from mooring.model.errors import StaleEpoch


class Channel(StrEnum):
    """What one replica tells the others. The payload is a hint where to look, never the truth itself."""

    QUEUE = "mooring_queue"  # payload `namespace/pool`: a claim began to wait
    CLAIM = "mooring_claim"  # payload: id of a claim that had waited and was bound, ran or ended, or lost its worker
    DISPATCH = "mooring_dispatch"  # payload: uid of a pod whose worker may poll: a claim on it began to run
    ACTIVITY = "mooring_activity"  # payload: uid of a stamped pod whose worker says that it is idle
    INVARIANT = "mooring_invariant"  # payload: id of a rule that was paused or resumed
    INCARNATION = "mooring_incarnation"  # payload: the incarnation that began, or was armed


class Wake(msgspec.Struct, frozen=True):
    """A notification. `resync` means: some may have been missed (the connection was lost), look at everything."""

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
    WENT_BACK = "went_back"  # the ledger never handed out an epoch that is in use: commits were lost


class Incarnation(msgspec.Struct, frozen=True):
    """The ledger's identity. Absence of a row proves nothing across incarnations.

    Unless `armed`, rules that take a missing row as proof must not act: rows may have been lost.
    """

    id: str
    since: datetime
    cause: Cause
    armed: bool


class LiveClaims(msgspec.Struct, frozen=True):
    """All live claims of one read, with the incarnation they were read from (in the same statement)."""

    incarnation: str
    armed: bool
    claims: tuple[Claim, ...]


class Holds(msgspec.Struct, frozen=True):
    """Who holds which pod, read like `LiveClaims` but with a fraction of the columns: it is read every 2 seconds."""

    incarnation: str
    armed: bool
    items: tuple[Hold, ...]


class Occupancy(msgspec.Struct, frozen=True):
    """What a pool's planner needs of one read: how many live claims each pod has, how many claims wait."""

    incarnation: str
    armed: bool
    held: Mapping[str, int]  # by pod uid
    queued: int


class ClaimFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which claims to list; None means any."""

    namespace: str | None = None
    pool: str | None = None
    owner: str | None = None
    states: frozenset[ClaimState] | None = None
    pod_uid: str | None = None


class ClaimPage(msgspec.Struct, frozen=True):
    """Newest first. `next_ticket` continues the list (as `before_ticket`); None at its end."""

    items: tuple[Claim, ...]
    total: int
    next_ticket: int | None


class PoolCount(msgspec.Struct, frozen=True):
    """How many open claims a pool has."""

    namespace: str
    pool: str
    queued: int
    claimed: int
    running: int


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which audit rows to list; None means any."""

    actor: str | None = None
    action: str | None = None
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    outcome: AuditOutcome | None = None
    since: datetime | None = None


class AuditPage(msgspec.Struct, frozen=True):
    """Newest first. `next_sequence` continues the list (as `before_sequence`); None at its end."""

    items: tuple[AuditRecord, ...]
    total: int
    next_sequence: int | None


class InvariantState(msgspec.Struct, frozen=True, kw_only=True):
    """The switch and the figures of one rule."""

    id: str
    paused: bool = False
    paused_by: str = ""  # who flipped the switch last, either way
    reason: str = ""
    paused_since: datetime | None = None
    checked_at: datetime | None = None
    broken: int = 0  # violations at the last check
    found: int = 0  # violations since the ledger was created
    healed: int = 0
    heal_seconds: float = 0.0  # time from first seen to healed, summed over `healed`
    last_heal_seconds: float | None = None
    evidence: dict[str, Any] | None = None  # of the last violation
    verdict_since: datetime | None = None  # since when every check found something broken, or none did


class InvariantCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What one tick of a rule saw and did; counts are those of this tick."""

    id: str
    at: datetime
    broken: int
    found: int = 0  # newly seen violations
    healed: tuple[float, ...] = ()  # seconds each healed violation lasted
    evidence: dict[str, Any] | None = None


def deposed(replica: str, epoch: int | None) -> StaleEpoch:
    """What a replica is told that acts under an epoch which is over."""
    return StaleEpoch(f"replica {replica} no longer acts under epoch {epoch}", fix="another one took over: do nothing")


class Replica(msgspec.Struct, frozen=True, kw_only=True):
    """A control plane process. `beats` only rises: watch it with your own monotonic clock, skewed ones don't matter."""

    id: str
    epoch: int
    address: str
    version: str
    started_at: datetime
    heartbeat_at: datetime
    beats: int
    left_at: datetime | None
