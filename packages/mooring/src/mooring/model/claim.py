"""A claim: one session on one slot of one worker, and its states.

The state machine is data and pure functions. The ledger repeats it in the WHERE clause of every write; its contract
tests check that both agree.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from mooring.model.errors import Conflict, NotFound, Refused, StaleEpoch


class ClaimState(StrEnum):
    """The state of a claim. Only `claimed` and `running` hold a slot."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    RELEASED = "released"
    EXPIRED = "expired"
    LOST = "lost"
    FAILED = "failed"


class EndCause(StrEnum):
    """Why a claim ended or lost its worker, for programs. Its `reason` is text for users and may change."""

    RELEASED = "released"  # the holder released it, or its worker finished
    REVOKED = "revoked"  # released without its epoch, by an operator
    EXPIRED = "expired"  # no heartbeat within its ttl
    WAIT_OVER = "wait_over"  # no worker became free in time
    ABANDONED = "abandoned"  # its client was gone while it waited, or did not take the worker
    DRAINED = "drained"  # its worker was on a node that was drained
    WORKER_LOST = "worker_lost"  # its worker died or vanished
    FORGOTTEN = "forgotten"  # its worker runs and does not know the claim
    NOT_STARTED = "not_started"  # the work never began: no worker, no credentials, or its control plane died

    @property
    def state(self) -> ClaimState:
        """The state of a claim that ended for this cause."""
        return _STATE_AFTER[self]


_STATE_AFTER: Mapping[EndCause, ClaimState] = {
    EndCause.RELEASED: ClaimState.RELEASED,
    EndCause.REVOKED: ClaimState.RELEASED,
    EndCause.EXPIRED: ClaimState.EXPIRED,
    EndCause.WAIT_OVER: ClaimState.EXPIRED,
    EndCause.ABANDONED: ClaimState.EXPIRED,
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
    """The slot that a claim is bound to. Only one live claim may hold a combination of `pod_uid` and `slot`.

    With `one_owner`, no claim is bound to the pod while another owner's live claim is.
    """

    pod_name: str
    pod_uid: str
    slot: int = 0
    address: str = ""
    protected_until: datetime | None = None
    one_owner: bool = False


class NewClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a claim. The client chooses `id`, so that a repeated insert is recognised."""

    id: str
    namespace: str
    pool: str
    owner: str
    ttl_seconds: int
    priority: int = 0  # higher values are served first
    idempotency_key: str | None = None
    request_hash: str = ""
    retryable: bool = False
    payload: dict[str, Any] | None = None
    detached: bool = False  # it waits without its client


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
    ticket: int  # place in the queue; kept when the claim is requeued
    retryable: bool
    rebinds: int  # how often it was requeued
    payload: dict[str, Any] | None  # the client's; removed when the claim ends, because it may contain secrets
    delivered_epoch: int | None
    ttl_seconds: int
    wait_until: datetime | None
    created_at: datetime
    queued_at: datetime | None  # None if it never waited
    claimed_at: datetime | None
    running_at: datetime | None
    heartbeat_at: datetime | None
    ended_at: datetime | None
    reason: str
    cause: EndCause | None = None  # of its end, or of the loss of its last worker; a new worker does not clear it
    minted: dict[str, Any] | None = None  # made by the mint for its present worker, and for no other
    attempt: int = 0  # how often it was bound to a worker
    detached: bool = False  # it waits without its client

    @property
    def live(self) -> bool:
        """Whether it holds a slot."""
        return self.state in LIVE

    @property
    def session_payload(self) -> dict[str, Any] | None:
        """What the worker gets: the client's payload and the mint's, which wins for equal keys."""
        return self.payload if self.minted is None else {**(self.payload or {}), **self.minted}

    @property
    def open(self) -> bool:
        """Whether it holds a slot or waits for one."""
        return self.state in OPEN

    @property
    def untaken(self) -> bool:
        """Whether it waited and runs, and neither its client nor its worker was heard of since."""
        return (
            self.state is ClaimState.RUNNING
            and self.queued_at is not None
            and self.rebinds == 0
            and not self.detached
            and self.heartbeat_at == self.running_at
        )


class Hold(msgspec.Struct, frozen=True, gc=False):
    """The part of a live claim that the protection of its worker needs."""

    pod_uid: str
    claim: str
    epoch: int
    owner: str
    claimed_at: datetime
    protected_until: datetime | None


class Verdict(StrEnum):
    """The result of a fenced write."""

    DONE = "done"  # the row changed
    ALREADY = "already"  # the same write took effect before, and its answer was lost
    STALE = "stale"  # the claim has another epoch now
    ENDED = "ended"  # the claim has ended in another way
    REFUSED = "refused"  # the claim's state does not allow it
    MISSING = "missing"  # there is no such claim
    SLOT_TAKEN = "slot_taken"  # another live claim holds the slot asked for
    WORKER_TAKEN = "worker_taken"  # the slot is for one owner's claims, and another owner's run on its worker


class Outcome(msgspec.Struct, frozen=True):
    """The result of a write, and the claim after it (None only if it is missing)."""

    verdict: Verdict
    claim: Claim | None

    @property
    def applied(self) -> bool:
        """Whether the claim is now as the caller wanted, by this call or an earlier one."""
        return self.verdict in (Verdict.DONE, Verdict.ALREADY)

    def require(self) -> Claim:
        """The claim, or the error that says why the write had no effect."""
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
            case Verdict.SLOT_TAKEN | Verdict.WORKER_TAKEN:
                raise SlotTaken("another claim holds that slot", fix="choose another worker", detail=detail)
        return claim


class AdmissionVerdict(StrEnum):
    """The result of a request for a claim."""

    CREATED = "created"
    EXISTING = "existing"  # the same request was made before: the same claim
    QUEUE_AHEAD = "queue_ahead"  # other claims wait for this pool: join the queue
    SLOT_TAKEN = "slot_taken"
    WORKER_TAKEN = "worker_taken"  # the slot is for one owner's claims, and another owner's run on its worker
    KEY_REUSED = "key_reused"
    LIMIT_REACHED = "limit_reached"
    QUEUE_FULL = "queue_full"


class Admission(msgspec.Struct, frozen=True):
    """The result of a request for a claim. `claim` is set if it was created, existed, or its key was reused."""

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
            case AdmissionVerdict.LIMIT_REACHED | AdmissionVerdict.QUEUE_FULL:
                raise LimitReached("a limit of the pool is reached", fix="release a claim, or raise the pool's limits")
            case AdmissionVerdict.QUEUE_AHEAD:
                raise Conflict("earlier claims wait for this pool", fix="join the queue")
        raise SlotTaken("another claim holds that slot", fix="choose another worker")


def may_follow(state: ClaimState, goal: ClaimState) -> bool:
    """Whether the state machine allows this transition."""
    return goal in TRANSITIONS[state]


def judge_write(claim: Claim | None, epoch: int, goal: ClaimState) -> Verdict:
    """Whether a write under `epoch` that leads to `goal` would take effect on this claim; DONE means yes.

    Writes that replace the epoch have their own functions, which recognise a repeat by `previous_epoch`.
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
    """Whether binding the claim to `where` would take effect.

    The caller checks whether another claim holds the slot.
    """
    if claim is not None and claim.previous_epoch == epoch and claim.live and _is_at(claim, where):
        return Verdict.ALREADY
    if claim is not None and claim.epoch == epoch and claim.state in (ClaimState.QUEUED, ClaimState.CLAIMED):
        return Verdict.DONE
    verdict = judge_write(claim, epoch, ClaimState.CLAIMED)
    return Verdict.REFUSED if verdict is Verdict.ALREADY else verdict


def judge_requeue(claim: Claim | None, epoch: int) -> Verdict:
    """Whether requeueing the claim would take effect. A claim that ran is requeued only if it is `retryable`."""
    if claim is not None and claim.previous_epoch == epoch and claim.state is ClaimState.QUEUED:
        return Verdict.ALREADY
    verdict = judge_write(claim, epoch, ClaimState.QUEUED)
    if verdict is Verdict.ALREADY:
        return Verdict.REFUSED
    if verdict is Verdict.DONE and claim is not None and claim.state is ClaimState.RUNNING and not claim.retryable:
        return Verdict.REFUSED
    return verdict


def judge_heartbeat(claim: Claim | None, epoch: int) -> Verdict:
    """Whether a heartbeat would be accepted. Only live claims have heartbeats."""
    verdict = judge_write(claim, epoch, ClaimState.RUNNING)
    if verdict is Verdict.ALREADY:
        return Verdict.DONE
    return verdict


def _is_at(claim: Claim, where: WorkerSlot) -> bool:
    return claim.pod_uid == where.pod_uid and claim.slot == where.slot


def frees_key(claim: Claim, cause: EndCause) -> bool:
    """Whether its idempotency key may be used again: no worker was handed out, so a repeat is a new request."""
    if cause is EndCause.ABANDONED:
        return True
    return claim.running_at is None and cause in (EndCause.NOT_STARTED, EndCause.WAIT_OVER)


def judge_repeat(new: NewClaim, found: Claim) -> Admission:
    """Whether the found claim was made by an earlier copy of this request."""
    same = found.id == new.id or found.request_hash == new.request_hash
    return Admission(AdmissionVerdict.EXISTING if same else AdmissionVerdict.KEY_REUSED, found)
