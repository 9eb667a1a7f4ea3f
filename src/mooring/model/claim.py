"""A claim: one session on one slot of one worker, and the states it passes through.

The state machine is data and pure functions; the ledger repeats its rules in the WHERE of every write,
and its contract suite holds the two together.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from mooring.model.errors import Conflict, NotFound, Refused, StaleEpoch


class ClaimState(StrEnum):
    """Where a claim is. Only `claimed` and `running` hold a slot."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    RELEASED = "released"
    EXPIRED = "expired"
    LOST = "lost"
    FAILED = "failed"


class EndCause(StrEnum):
    """Why a claim ended or lost its worker, for programs; its `reason` says it to people, in words that may change."""

    RELEASED = "released"  # whoever held it gave it back, or its worker finished
    REVOKED = "revoked"  # somebody released it without naming its epoch: an operator
    EXPIRED = "expired"  # no heartbeat within its ttl
    WAIT_OVER = "wait_over"  # nobody became free in time
    DRAINED = "drained"  # its worker left a node that was being drained
    WORKER_LOST = "worker_lost"  # its worker died, or vanished in any other way
    FORGOTTEN = "forgotten"  # its worker lives and knows nothing of it
    NOT_STARTED = "not_started"  # its work never began: no worker, no credentials, or nobody to set it up

    @property
    def state(self) -> ClaimState:
        """What a claim is that ended for this."""
        return _STATE_AFTER[self]


_STATE_AFTER: Mapping[EndCause, ClaimState] = {
    EndCause.RELEASED: ClaimState.RELEASED,
    EndCause.REVOKED: ClaimState.RELEASED,
    EndCause.EXPIRED: ClaimState.EXPIRED,
    EndCause.WAIT_OVER: ClaimState.EXPIRED,
    EndCause.DRAINED: ClaimState.LOST,
    EndCause.WORKER_LOST: ClaimState.LOST,
    EndCause.FORGOTTEN: ClaimState.LOST,
    EndCause.NOT_STARTED: ClaimState.FAILED,
}

LIVE = frozenset({ClaimState.CLAIMED, ClaimState.RUNNING})
OPEN = LIVE | {ClaimState.QUEUED}
ENDED = frozenset(ClaimState) - OPEN

TRANSITIONS: Mapping[ClaimState, frozenset[ClaimState]] = {
    ClaimState.QUEUED: ENDED | {ClaimState.CLAIMED},
    ClaimState.CLAIMED: ENDED | {ClaimState.CLAIMED, ClaimState.RUNNING, ClaimState.QUEUED},
    ClaimState.RUNNING: ENDED | {ClaimState.QUEUED},
    **{state: frozenset() for state in ENDED},
}
"""What may follow. `claimed -> claimed` is the move to another worker before the work began."""


class KeyReused(Conflict):
    """The idempotency key belongs to a different request."""

    code = "key_reused"


class SlotTaken(Conflict):
    """Another live claim holds that slot."""

    code = "slot_taken"


class LimitReached(Refused):
    """The owner holds as many claims as the pool allows."""

    code = "limit_reached"


class WorkerSlot(msgspec.Struct, frozen=True):
    """The slot a claim is bound to. `pod_uid` + `slot` is what only one live claim may hold."""

    pod_name: str
    pod_uid: str
    slot: int = 0
    address: str = ""
    protected_until: datetime | None = None


class NewClaim(msgspec.Struct, frozen=True, kw_only=True):
    """What a claimer asks for. `id` is chosen by the asker, so that a repeated insert is recognised."""

    id: str
    namespace: str
    pool: str
    owner: str
    ttl_seconds: int
    priority: int = 0  # higher is served first
    idempotency_key: str | None = None
    request_hash: str = ""
    retryable: bool = False
    payload: dict[str, Any] | None = None


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the ledger. `epoch` is the fencing token: it rises with every binding and never falls."""

    id: str
    namespace: str
    pool: str
    owner: str
    state: ClaimState
    priority: int
    idempotency_key: str | None
    request_hash: str
    epoch: int
    previous_epoch: int | None  # the epoch that the last bind or requeue replaced
    pod_name: str | None
    pod_uid: str | None
    slot: int | None
    address: str
    protected_until: datetime | None
    ticket: int  # place in the queue; kept when requeued
    retryable: bool
    rebinds: int  # how often it went back to the queue
    payload: dict[str, Any] | None  # cleared when the claim ends: it may carry secrets
    delivered_epoch: int | None
    ttl_seconds: int
    wait_until: datetime | None
    created_at: datetime
    queued_at: datetime | None  # None: it never had to wait
    claimed_at: datetime | None
    running_at: datetime | None
    heartbeat_at: datetime | None
    ended_at: datetime | None
    reason: str
    cause: EndCause | None = None  # of its end, or of losing its last worker: a new worker does not clear it

    @property
    def live(self) -> bool:
        """Does it hold a slot?"""
        return self.state in LIVE

    @property
    def open(self) -> bool:
        """Does it hold a slot or wait for one?"""
        return self.state in OPEN


class Hold(msgspec.Struct, frozen=True, gc=False):
    """The little of a live claim that protecting its worker needs."""

    pod_uid: str
    claim: str
    epoch: int
    owner: str
    claimed_at: datetime
    protected_until: datetime | None


class Verdict(StrEnum):
    """What became of a fenced write."""

    DONE = "done"  # the row changed
    ALREADY = "already"  # this very write took effect before: the repeat of a lost answer
    STALE = "stale"  # the claim lives on under another epoch
    ENDED = "ended"  # the claim is over, in another way than asked
    REFUSED = "refused"  # the claim's state does not allow it
    MISSING = "missing"  # there is no such claim
    SLOT_TAKEN = "slot_taken"  # another live claim holds the slot asked for


class Outcome(msgspec.Struct, frozen=True):
    """A verdict, and the claim as it is after the write (None only when missing)."""

    verdict: Verdict
    claim: Claim | None

    @property
    def applied(self) -> bool:
        """Is the claim now as the caller wanted it, through this call or an earlier one?"""
        return self.verdict in (Verdict.DONE, Verdict.ALREADY)

    def require(self) -> Claim:
        """The claim, or the error that says why the write took no effect."""
        claim = self.claim
        if claim is None:
            raise NotFound("the claim does not exist", fix="claim a worker again")
        detail = {"claim": claim.id, "state": claim.state.value, "epoch": claim.epoch}
        match self.verdict:
            case Verdict.STALE:
                raise StaleEpoch(
                    f"claim {claim.id} is under epoch {claim.epoch} now",
                    fix="stop the work done under the old epoch",
                    detail=detail,
                )
            case Verdict.ENDED | Verdict.REFUSED:
                why = f" ({claim.reason})" if claim.reason else ""
                raise Conflict(f"claim {claim.id} is {claim.state}{why}", fix="claim a worker again", detail=detail)
            case Verdict.SLOT_TAKEN:
                raise SlotTaken("another claim holds that slot", fix="choose another worker", detail=detail)
        return claim


class AdmissionVerdict(StrEnum):
    """What became of a request for a claim."""

    CREATED = "created"
    EXISTING = "existing"  # the same request came before: the same claim
    QUEUE_AHEAD = "queue_ahead"  # others wait for this pool: join the queue instead of overtaking
    SLOT_TAKEN = "slot_taken"
    KEY_REUSED = "key_reused"
    LIMIT_REACHED = "limit_reached"


class Admission(msgspec.Struct, frozen=True):
    """The verdict on a request for a claim; `claim` is set when it was created, existed, or its key was reused."""

    verdict: AdmissionVerdict
    claim: Claim | None = None

    def require(self) -> Claim:
        """The claim, or the error that says why there is none."""
        match self.verdict:
            case AdmissionVerdict.CREATED | AdmissionVerdict.EXISTING if self.claim is not None:
                return self.claim
            case AdmissionVerdict.KEY_REUSED:
                raise KeyReused(
                    "the idempotency key was used for a different request",
                    fix="use a new idempotencyKey, or repeat the request unchanged",
                    detail={"claim": self.claim.id} if self.claim else {},
                )
            case AdmissionVerdict.LIMIT_REACHED:
                raise LimitReached("the owner's limit is reached", fix="release a claim, or raise limits.perOwner")
            case AdmissionVerdict.QUEUE_AHEAD:
                raise Conflict("earlier claims wait for this pool", fix="join the queue")
        raise SlotTaken("another claim holds that slot", fix="choose another worker")


def may_follow(state: ClaimState, goal: ClaimState) -> bool:
    """Does the state machine allow this step?"""
    return goal in TRANSITIONS[state]


def judge_write(claim: Claim | None, epoch: int, goal: ClaimState) -> Verdict:
    """Would a write under `epoch` that leads to `goal` take effect on this claim?

    DONE means yes. Writes that replace the epoch have judges of their own, which know a repeat by `previous_epoch`.
    """
    if claim is None:
        return Verdict.MISSING
    if claim.epoch != epoch:
        return Verdict.STALE
    if claim.state is goal:
        return Verdict.ALREADY
    if claim.state in ENDED:
        return Verdict.ENDED
    return Verdict.DONE if may_follow(claim.state, goal) else Verdict.REFUSED


def judge_bind(claim: Claim | None, epoch: int, where: WorkerSlot) -> Verdict:
    """Would binding the claim to `where` take effect? SLOT_TAKEN is for whoever sees the other claims."""
    if claim is not None and claim.previous_epoch == epoch and claim.live and _is_at(claim, where):
        return Verdict.ALREADY
    if claim is not None and claim.epoch == epoch and claim.state in (ClaimState.QUEUED, ClaimState.CLAIMED):
        return Verdict.DONE
    verdict = judge_write(claim, epoch, ClaimState.CLAIMED)
    return Verdict.REFUSED if verdict is Verdict.ALREADY else verdict


def judge_requeue(claim: Claim | None, epoch: int) -> Verdict:
    """Would putting the claim back into the queue take effect? Work that ran is repeated only when `retryable`."""
    if claim is not None and claim.previous_epoch == epoch and claim.state is ClaimState.QUEUED:
        return Verdict.ALREADY
    verdict = judge_write(claim, epoch, ClaimState.QUEUED)
    if verdict is Verdict.ALREADY:
        return Verdict.REFUSED
    if verdict is Verdict.DONE and claim is not None and claim.state is ClaimState.RUNNING and not claim.retryable:
        return Verdict.REFUSED
    return verdict


def judge_heartbeat(claim: Claim | None, epoch: int) -> Verdict:
    """Would a heartbeat be accepted? Only a live claim has one."""
    verdict = judge_write(claim, epoch, ClaimState.RUNNING)
    if verdict is Verdict.ALREADY:
        return Verdict.DONE
    return verdict


def _is_at(claim: Claim, where: WorkerSlot) -> bool:
    return claim.pod_uid == where.pod_uid and claim.slot == where.slot


def frees_key(claim: Claim, cause: EndCause) -> bool:
    """Whether its idempotency key may be used again: no worker was handed out, so a repeat is a new try."""
    return claim.running_at is None and cause in (EndCause.NOT_STARTED, EndCause.WAIT_OVER)


def judge_repeat(new: NewClaim, found: Claim) -> Admission:
    """The claim made by what looks like an earlier copy of this request: is it one?"""
    same = found.id == new.id or found.request_hash == new.request_hash
    return Admission(AdmissionVerdict.EXISTING if same else AdmissionVerdict.KEY_REUSED, found)
