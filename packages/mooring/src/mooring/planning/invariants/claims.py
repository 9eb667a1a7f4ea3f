"""The invariants between claims and workers: snapshot in, acts out. Every act still has to pass the rails.

Stamps without a claim are in `leaks.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from mooring.model.audit import Subject
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.proof import Proofs, by_clock, by_cluster, by_holder, by_ledger, by_worker
from mooring.model.reclaim import EffectiveReclaim
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker
from mooring.planning.health import prove_lost


class Remedy(StrEnum):
    """What to do about a broken invariant."""

    UNSTAMP = "unstamp"
    DELETE_WORKER = "delete-worker"
    LOSE_CLAIM = "lose-claim"
    FAIL_CLAIM = "fail-claim"
    EXPIRE_CLAIM = "expire-claim"
    DELETE_ACCOUNT = "delete-account"


@dataclass(frozen=True, slots=True)
class Act:
    """One remedy for one object, with everything that the rails and the audit row need."""

    invariant: str
    remedy: Remedy
    subject: Subject
    reason: str
    proofs: Proofs
    age_seconds: float
    floor_seconds: float
    worker: Worker | None = None
    claim: Claim | None = None
    cause: EndCause | None = None  # why a lost claim was lost
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Identifies the act; equal on both ticks."""
        return f"{self.invariant}/{self.subject.uid or self.subject.name}"

    @property
    def action(self) -> str:
        return self.remedy.value

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence for the audit row."""
        known: dict[str, Any] = {
            "proofs": [str(proof) for proof in self.proofs],
            "ageSeconds": round(self.age_seconds, 1),
        }
        return {**known, "floorSeconds": self.floor_seconds, "remedy": self.remedy.value, **self.facts}


@dataclass(frozen=True, slots=True)
class Account:
    """A per-worker ServiceAccount, and whether its pod is proven absent."""

    namespace: str
    name: str
    uid: str
    created_at: datetime
    pod_absent: bool


@dataclass(frozen=True, slots=True)
class ClaimsSnapshot:
    """Input of the invariants. Workers are read before claims, so a claim made in between is seen."""

    now: datetime
    workers: tuple[Worker, ...]
    claims: tuple[Claim, ...]  # live claims
    timeouts: Timeouts
    executing: Mapping[str, bool | None] = field(default_factory=dict)  # by pod uid; None or absent: unknown
    # the rows behind suspicious stamps, by claim id
    stamped_claims: Mapping[str, Claim | None] = field(default_factory=dict)
    absent_pods: frozenset[str] = frozenset()  # uids whose absence a live read has proven
    # uids of pods that this replica saw leave -> why they were drained
    departed_pods: Mapping[str, str] = field(default_factory=dict)
    accounts: tuple[Account, ...] = ()
    nodes: Mapping[str, Node] = field(default_factory=dict)  # by name
    unhealthy: Mapping[str, WorkerHealth] = field(default_factory=dict)  # workers with failed checks, by pod uid
    # keys of pools with push dispatch: only the holder knows whether a worker executes
    push_pools: frozenset[str] = frozenset()
    # seconds since the last heartbeat, by claim id, measured while heartbeats could arrive
    silent_seconds: Mapping[str, float] = field(default_factory=dict)
    # seconds without a sign of life of a stamped worker that no live claim holds, by pod uid; absent: not measured
    worker_silent_seconds: Mapping[str, float] = field(default_factory=dict)
    reclaims: Mapping[str, EffectiveReclaim] = field(default_factory=dict)  # by pool key
    # expired claims of the suspicious stamps' pods, by pod uid: nobody gave those pods back
    expired: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)


def plan_claim_has_pod(snapshot: ClaimsSnapshot) -> list[Act]:
    """The pod of a live claim exists with the same uid and runs.

    Otherwise the claim is lost, or requeued if allowed.
    """
    present = {worker.uid: worker for worker in snapshot.workers}
    acts = []
    for claim in snapshot.claims:
        if claim.pod_uid is None:
            continue
        if (worker := present.get(claim.pod_uid)) is not None:
            acts += _lose_with(worker, claim, snapshot)
            continue
        proven = "not watched, and a live look found no such pod" if claim.pod_uid in snapshot.absent_pods else ""
        drained = snapshot.departed_pods.get(claim.pod_uid)  # None: not seen; empty: its node was not draining
        acts.append(
            Act(
                invariant="claim-has-pod",
                remedy=Remedy.LOSE_CLAIM,
                subject=_claim(claim),
                reason=f"its worker {claim.pod_name} is gone" + (f": {drained}" if drained else ""),
                proofs=(by_ledger(f"it is on the pod with uid {claim.pod_uid}"), by_cluster(proven)),
                age_seconds=_age(snapshot.now, claim.claimed_at),
                floor_seconds=0.0 if drained is not None else snapshot.timeouts.claim_lost_grace,
                claim=claim,
                cause=EndCause.DRAINED if drained else EndCause.WORKER_LOST,
                facts={"pod": claim.pod_name, "uid": claim.pod_uid, "retryable": claim.retryable},
            )
        )
    return acts


def _lose_with(worker: Worker, claim: Claim, snapshot: ClaimsSnapshot) -> list[Act]:
    """Lose the claim of a worker that exists and is dead."""
    node = snapshot.nodes.get(worker.node)
    proofs = prove_lost(worker, node, snapshot.unhealthy.get(worker.uid)) or _prove_over(worker, snapshot)
    if proofs is None:
        return []
    drained = worker.terminating_since is not None and node is not None and bool(node.draining_because)
    return [
        Act(
            invariant="claim-has-pod",
            remedy=Remedy.LOSE_CLAIM,
            subject=_claim(claim),
            reason=f"its worker {worker.name} is lost: {'; '.join(proof.statement for proof in proofs)}",
            proofs=proofs,
            age_seconds=_age(snapshot.now, claim.claimed_at),
            floor_seconds=0.0,
            worker=worker,
            claim=claim,
            cause=EndCause.DRAINED if drained else EndCause.WORKER_LOST,
            facts={"pod": worker.name, "uid": worker.uid, "node": worker.node, "retryable": claim.retryable},
        )
    ]


def _prove_over(worker: Worker, snapshot: ClaimsSnapshot) -> Proofs | None:
    """The worker's program ended normally. Its result may still arrive, so this counts only after a while."""
    over = worker.phase == "Succeeded" and worker.ended and worker.terminating_since is None
    if not over or _age(snapshot.now, worker.unready_since) < snapshot.timeouts.worker_report:
        return None
    return by_cluster("its pod has completed, and a completed pod never runs again"), by_worker(worker.ended)


def plan_claim_progresses(snapshot: ClaimsSnapshot) -> list[Act]:
    """A claim in `claimed` becomes `running`. One that does not was left behind by a control plane that died."""
    return [
        Act(
            invariant="claim-progresses",
            remedy=Remedy.FAIL_CLAIM,
            subject=_claim(claim),
            reason="it was claimed and never ran",
            proofs=(
                by_ledger("its state is still 'claimed', and it was never marked running"),
                by_clock(f"{_age(snapshot.now, claim.claimed_at):.0f} s since it was claimed"),
            ),
            age_seconds=_age(snapshot.now, claim.claimed_at),
            floor_seconds=snapshot.timeouts.claim_progress,
            claim=claim,
            facts={"pod": claim.pod_name, "attempt": claim.attempt},
        )
        for claim in snapshot.claims
        if claim.state is ClaimState.CLAIMED
        and _age(snapshot.now, claim.claimed_at) >= snapshot.timeouts.claim_progress
    ]


def plan_claim_alive(snapshot: ClaimsSnapshot) -> list[Act]:
    """The holder sends a heartbeat within its ttl.

    Otherwise the claim expires. Its worker stays until it is proven idle.
    """
    acts = []
    for claim in snapshot.claims:
        if claim.state is not ClaimState.RUNNING:
            continue
        # Heartbeats carry the wall clock of the replica that received them, which may be wrong. Silence is measured
        # instead.
        silent = snapshot.silent_seconds.get(claim.id, 0.0)
        if silent <= claim.ttl_seconds:
            continue
        acts.append(
            Act(
                invariant="claim-alive",
                remedy=Remedy.EXPIRE_CLAIM,
                subject=_claim(claim),
                reason=f"no heartbeat for {silent:.0f} s, its ttl is {claim.ttl_seconds} s",
                proofs=(
                    by_holder(f"silent for {silent:.0f} s"),
                    by_ledger("no newer heartbeat at the moment of the write"),
                ),
                age_seconds=silent,
                floor_seconds=float(claim.ttl_seconds),
                claim=claim,
                facts={"pod": claim.pod_name, "attempt": claim.attempt},
            )
        )
    return acts


def plan_account_has_pod(snapshot: ClaimsSnapshot) -> list[Act]:
    """A per-worker ServiceAccount has its pod; otherwise it is deleted."""
    present = {(worker.namespace, worker.name) for worker in snapshot.workers}
    claimed = {(claim.namespace, claim.pod_name) for claim in snapshot.claims}
    return [
        Act(
            invariant="account-has-pod",
            remedy=Remedy.DELETE_ACCOUNT,
            subject=Subject("ServiceAccount", account.namespace, account.name, account.uid),
            reason="its worker is gone",
            proofs=(
                by_cluster("not watched, and a live look found no such pod" if account.pod_absent else ""),
                by_ledger("" if (account.namespace, account.name) in claimed else "no live claim is on that worker"),
            ),
            age_seconds=_age(snapshot.now, account.created_at),
            floor_seconds=snapshot.timeouts.reap_grace,
        )
        for account in snapshot.accounts
        if (account.namespace, account.name) not in present
    ]


def never_ran(row: Claim | None, epoch: int) -> bool:
    """Whether the row proves that no work began under this epoch. No row proves nothing."""
    if row is None:
        return False
    if row.running_at is None:
        return True
    if row.epoch == epoch:
        return row.claimed_at is not None and row.running_at < row.claimed_at
    # Only a claim that does not run is bound anew; a running one is requeued first, which the row counts.
    return row.epoch > epoch and row.rebinds == 0


def never_given(row: Claim | None, epoch: int) -> bool:
    """Whether the row proves that nobody was given the worker under this epoch: it never ran, or was not taken."""
    if row is not None and row.epoch == epoch and row.cause is EndCause.ABANDONED:
        return True
    return never_ran(row, epoch)


def worked_later(row: Claim | None, epoch: int, pod_uid: str) -> bool:
    """Whether a later epoch of the same claim ran on this pod."""
    return row is not None and row.epoch > epoch and row.pod_uid == pod_uid and row.running_at is not None


def _age(now: datetime, since: datetime | None) -> float:
    return (now - since).total_seconds() if since else 0.0


def _claim(claim: Claim) -> Subject:
    return Subject("Claim", claim.namespace, claim.id, claim.id)
