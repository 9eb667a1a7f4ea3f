"""The invariants between claims and workers: pure functions from a snapshot to acts that still have to pass the rails.

Learned the hard way (leaked-stamps): a claim can be released while its work still runs. So no worker is taken for a
leak before it is proven, independently, that nobody claims it and that it is not executing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from mooring.model.audit import Subject
from mooring.model.claim import Claim, ClaimState, EndCause
from mooring.model.health import WorkerHealth
from mooring.model.node import Node
from mooring.model.timeouts import Timeouts
from mooring.model.worker import Worker
from mooring.planning.health import prove_lost


class Remedy(StrEnum):
    """What to do about a broken rule."""

    UNSTAMP = "unstamp"
    DELETE_WORKER = "delete-worker"
    LOSE_CLAIM = "lose-claim"
    FAIL_CLAIM = "fail-claim"
    EXPIRE_CLAIM = "expire-claim"
    DELETE_ACCOUNT = "delete-account"


@dataclass(frozen=True, slots=True)
class Act:
    """One remedy for one object, with everything the rails and the audit trail want to know."""

    invariant: str
    remedy: Remedy
    subject: Subject
    reason: str
    proofs: tuple[str, str]
    age_seconds: float
    floor_seconds: float
    worker: Worker | None = None
    claim: Claim | None = None
    cause: EndCause | None = None  # what a claim that is lost was lost by
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same on both ticks."""
        return f"{self.invariant}/{self.subject.uid or self.subject.name}"

    @property
    def evidence(self) -> dict[str, Any]:
        """What the audit row keeps."""
        known: dict[str, Any] = {"proofs": list(self.proofs), "ageSeconds": round(self.age_seconds, 1)}
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
    """Workers first, then claims: a claim made in between is then seen, never missed."""

    now: datetime
    workers: tuple[Worker, ...]
    claims: tuple[Claim, ...]  # live ones
    timeouts: Timeouts
    executing: Mapping[str, bool | None] = field(default_factory=dict)  # by pod uid; None and absent are unknown
    stamped_claims: Mapping[str, Claim | None] = field(default_factory=dict)  # rows behind suspicious stamps, by id
    absent_pods: frozenset[str] = frozenset()  # uids proven gone by a live look
    departed_pods: Mapping[str, str] = field(default_factory=dict)  # uids that this replica saw leave -> why drained
    accounts: tuple[Account, ...] = ()
    nodes: Mapping[str, Node] = field(default_factory=dict)  # by name
    unhealthy: Mapping[str, WorkerHealth] = field(default_factory=dict)  # those whose checks failed, by pod uid
    push_pools: frozenset[str] = frozenset()  # keys of pools whose workers never speak: their holders do
    silent_seconds: Mapping[str, float] = field(default_factory=dict)  # by claim, measured while beats could be heard


def find_suspects(workers: Iterable[Worker], claims: Iterable[Claim]) -> list[Worker]:
    """Workers with a stamp and without a live claim."""
    held = {claim.pod_uid for claim in claims}
    return [
        worker
        for worker in workers
        if worker.stamp is not None and worker.uid not in held and worker.terminating_since is None
    ]


def plan_stamped_has_claim(snapshot: ClaimsSnapshot) -> list[Act]:
    """A stamped pod has a live claim or is executing; else it is un-stamped or deleted."""
    acts = []
    for worker in find_suspects(snapshot.workers, snapshot.claims):
        stamp = worker.stamp
        assert stamp is not None
        executing = snapshot.executing.get(worker.uid)
        idle = "the worker says that it is not executing" if executing is False else _prove_idle(worker, snapshot)
        unused = never_ran(snapshot.stamped_claims.get(stamp.claim), stamp.epoch)
        remedy = Remedy.UNSTAMP if worker.ready and unused else Remedy.DELETE_WORKER
        # A stamp without a readable time has no age: it is kept, and told.
        age = (snapshot.now - stamp.stamped_at).total_seconds() if stamp.stamped_at else 0.0
        acts.append(
            Act(
                invariant="stamped-has-claim",
                remedy=remedy,
                subject=_pod(worker),
                reason=f"stamped for {stamp.owner or 'nobody'}, but no live claim holds it",
                proofs=("the ledger has no live claim on this pod", idle),
                age_seconds=age,
                floor_seconds=snapshot.timeouts.reap_grace,
                worker=worker,
                facts={"claim": stamp.claim, "epoch": stamp.epoch, "executing": executing, "neverRan": unused},
            )
        )
    return acts


def _prove_idle(worker: Worker, snapshot: ClaimsSnapshot) -> str:
    """Without a word of the worker's own: where nobody listens, nobody executes, and where only its holder could know,
    the holder's word counts. Silence alone proves nothing."""
    if snapshot.executing.get(worker.uid) is not None:
        return ""
    health = snapshot.unhealthy.get(worker.uid)
    if health is not None and health.failed and health.last and health.last.refused:
        return health.summary
    if f"{worker.namespace}/{worker.pool}" in snapshot.push_pools and worker.stamp is not None:
        row = snapshot.stamped_claims.get(worker.stamp.claim)
        if row is not None and row.state is ClaimState.RELEASED and row.epoch == worker.stamp.epoch:
            return "its holder gave it back, and nobody else gives it work"
    return ""


def plan_claim_has_pod(snapshot: ClaimsSnapshot) -> list[Act]:
    """A live claim's pod exists with that uid and lives; else the claim is lost, or queued again if it may be."""
    present = {worker.uid: worker for worker in snapshot.workers}
    acts = []
    for claim in snapshot.claims:
        if claim.pod_uid is None:
            continue
        if (worker := present.get(claim.pod_uid)) is not None:
            acts += _lose_with(worker, claim, snapshot)
            continue
        proven = "a live look found no such pod" if claim.pod_uid in snapshot.absent_pods else ""
        drained = snapshot.departed_pods.get(claim.pod_uid)  # None: not seen; empty: its node was not drained
        acts.append(
            Act(
                invariant="claim-has-pod",
                remedy=Remedy.LOSE_CLAIM,
                subject=_claim(claim),
                reason=f"its worker {claim.pod_name} is gone" + (f": {drained}" if drained else ""),
                proofs=("no worker with that uid is watched", proven),
                age_seconds=_age(snapshot.now, claim.claimed_at),
                floor_seconds=0.0 if drained is not None else snapshot.timeouts.claim_lost_grace,
                claim=claim,
                cause=EndCause.DRAINED if drained else EndCause.WORKER_LOST,
                facts={"pod": claim.pod_name, "uid": claim.pod_uid, "retryable": claim.retryable},
            )
        )
    return acts


def _lose_with(worker: Worker, claim: Claim, snapshot: ClaimsSnapshot) -> list[Act]:
    """The claim of a worker that is there and dead."""
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
            reason=f"its worker {worker.name} is lost: {'; '.join(proofs)}",
            proofs=proofs,
            age_seconds=_age(snapshot.now, claim.claimed_at),
            floor_seconds=0.0,
            worker=worker,
            claim=claim,
            cause=EndCause.DRAINED if drained else EndCause.WORKER_LOST,
            facts={"pod": worker.name, "uid": worker.uid, "node": worker.node, "retryable": claim.retryable},
        )
    ]


def _prove_over(worker: Worker, snapshot: ClaimsSnapshot) -> tuple[str, str] | None:
    """Its program ended well. What it did may still be on its way to us, so this counts after a while only."""
    over = worker.phase == "Succeeded" and worker.ended and worker.terminating_since is None
    if not over or _age(snapshot.now, worker.unready_since) < snapshot.timeouts.worker_word:
        return None
    return "its pod has completed, and a completed pod never runs again", worker.ended


def plan_claim_progresses(snapshot: ClaimsSnapshot) -> list[Act]:
    """`claimed` becomes `running`; a claim that does not was left by a control plane that died."""
    return [
        Act(
            invariant="claim-progresses",
            remedy=Remedy.FAIL_CLAIM,
            subject=_claim(claim),
            reason="it was claimed and never ran",
            proofs=("its state is still 'claimed'", "it was never marked running"),
            age_seconds=_age(snapshot.now, claim.claimed_at),
            floor_seconds=snapshot.timeouts.claim_progress,
            claim=claim,
            facts={"pod": claim.pod_name, "epoch": claim.epoch},
        )
        for claim in snapshot.claims
        if claim.state is ClaimState.CLAIMED
        and _age(snapshot.now, claim.claimed_at) >= snapshot.timeouts.claim_progress
    ]


def plan_claim_alive(snapshot: ClaimsSnapshot) -> list[Act]:
    """The holder beats within its ttl; else the claim expires. Its worker is left until it proves idle."""
    acts = []
    for claim in snapshot.claims:
        if claim.state is not ClaimState.RUNNING:
            continue
        # Heartbeats carry the wall clock of whoever took them, which may be wrong: silence is measured.
        silent = snapshot.silent_seconds.get(claim.id, 0.0)
        if silent <= claim.ttl_seconds:
            continue
        acts.append(
            Act(
                invariant="claim-alive",
                remedy=Remedy.EXPIRE_CLAIM,
                subject=_claim(claim),
                reason=f"no heartbeat for {silent:.0f} s, its ttl is {claim.ttl_seconds} s",
                proofs=("the last heartbeat is older than the ttl", "no newer heartbeat at the moment of the write"),
                age_seconds=silent,
                floor_seconds=float(claim.ttl_seconds),
                claim=claim,
                facts={"pod": claim.pod_name, "epoch": claim.epoch},
            )
        )
    return acts


def plan_account_has_pod(snapshot: ClaimsSnapshot) -> list[Act]:
    """A per-worker ServiceAccount has its pod; else it is deleted."""
    present = {(worker.namespace, worker.name) for worker in snapshot.workers}
    return [
        Act(
            invariant="account-has-pod",
            remedy=Remedy.DELETE_ACCOUNT,
            subject=Subject("ServiceAccount", account.namespace, account.name, account.uid),
            reason="its worker is gone",
            proofs=("no worker of that name is watched", "a live look found no such pod" if account.pod_absent else ""),
            age_seconds=_age(snapshot.now, account.created_at),
            floor_seconds=snapshot.timeouts.reap_grace,
        )
        for account in snapshot.accounts
        if (account.namespace, account.name) not in present
    ]


def never_ran(row: Claim | None, epoch: int) -> bool:
    """Whether the row proves that no work began under that epoch. One that moved on, or is gone, proves nothing."""
    if row is None:
        return False
    if row.running_at is None:
        return True
    return row.epoch == epoch and row.claimed_at is not None and row.running_at < row.claimed_at


def _age(now: datetime, since: datetime | None) -> float:
    return (now - since).total_seconds() if since else 0.0


def _pod(worker: Worker) -> Subject:
    return Subject("Pod", worker.namespace, worker.name, worker.uid)


def _claim(claim: Claim) -> Subject:
    return Subject("Claim", claim.namespace, claim.id, claim.id)
