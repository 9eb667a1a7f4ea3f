"""What would happen if a node were drained now: which sessions delay the drain, which finish, and which are lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import msgspec

from mooring.model.claim import Claim
from mooring.model.moments import later
from mooring.model.node import Node
from mooring.model.pool import Pool
from mooring.model.worker import ClassifiedWorker, WorkerState
from mooring.planning.actions import earliest
from mooring.planning.workers import STAMPED


class Fate(StrEnum):
    """What would happen to a session."""

    WAITS = "waits"  # its worker may not be evicted: the drain waits for it
    FINISHES = "finishes"  # its worker is asked to stop and has enough time to finish
    REBOUND = "rebound"  # it starts again on another worker
    LOST = "lost"


class DrainVerdict(StrEnum):
    """The result for the whole node."""

    SAFE = "safe"  # no session runs on the node
    WAITS = "waits"  # the drain takes a while, and no session is lost
    LOSES = "loses"
    UNKNOWN = "unknown"  # the claims could not be read


class ClaimAtStake(msgspec.Struct, frozen=True, rename="camel"):
    """One session on the node."""

    claim: str
    owner: str
    pool: str
    worker: str
    state: str
    running_seconds: int
    protected_until: datetime | None
    retryable: bool
    would_be: Fate
    because: str


class WorkerAtStake(msgspec.Struct, frozen=True, rename="camel"):
    """One worker on the node without a claim."""

    namespace: str
    name: str
    pool: str
    state: str
    would_be: str


class QueueAtStake(msgspec.Struct, frozen=True, rename="camel"):
    """The queue of a pool that has workers on the node."""

    pool: str
    waiting: int
    idle_elsewhere: int


class Sudden(msgspec.Struct, frozen=True):
    """What would happen if the node vanished without a drain."""

    lost: int
    rebound: int


class DrainCheck(msgspec.Struct, frozen=True, rename="camel"):
    """The result, as the API, the pages and the terminal show it."""

    node: str
    uid: str
    verdict: DrainVerdict
    message: str
    fix: str
    draining: str  # why it is draining already; empty if it is not
    held_until: datetime | None  # the drain waits at most until then
    claims: tuple[ClaimAtStake, ...]
    idle: tuple[WorkerAtStake, ...]
    queues: tuple[QueueAtStake, ...]
    suddenly: Sudden


@dataclass(frozen=True, slots=True)
class DrainSnapshot:
    """Input of the check. `claims` is None if the ledger could not be read."""

    now: datetime
    node: Node
    workers: tuple[ClassifiedWorker, ...]  # on that node
    claims: Mapping[str, tuple[Claim, ...]] | None  # live claims by pod uid
    pools: Mapping[str, Pool] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)  # by pool key
    idle_elsewhere: Mapping[str, int] = field(default_factory=dict)  # by pool key


def plan_drain_check(snapshot: DrainSnapshot) -> DrainCheck:
    """Compute what the invariants and the cluster would do. Nothing is changed."""
    known = snapshot.claims or {}
    claims = tuple(
        _claim(snapshot, item, claim) for item in snapshot.workers for claim in known.get(item.worker.uid, ())
    )
    waits = [claim for claim in claims if claim.would_be is Fate.WAITS]
    verdict = _verdict(snapshot, claims)
    ends = [earliest(claim.protected_until, _forced_at(snapshot)) for claim in waits]
    held_until = max((end for end in ends if end is not None), default=None)
    message, fix = _tell(snapshot, verdict, claims, held_until)
    return DrainCheck(
        node=snapshot.node.name,
        uid=snapshot.node.uid,
        verdict=verdict,
        message=message,
        fix=fix,
        draining=snapshot.node.draining_because,
        held_until=held_until,
        claims=claims,
        idle=tuple(_worker(item) for item in snapshot.workers if not known.get(item.worker.uid)),
        queues=_queues(snapshot),
        suddenly=Sudden(
            lost=sum(not claim.retryable for claim in claims), rebound=sum(claim.retryable for claim in claims)
        ),
    )


def _verdict(snapshot: DrainSnapshot, claims: tuple[ClaimAtStake, ...]) -> DrainVerdict:
    if snapshot.claims is None:
        return DrainVerdict.UNKNOWN
    if Fate.LOST not in {claim.would_be for claim in claims} and _unproven(snapshot):
        return DrainVerdict.UNKNOWN
    fates = {claim.would_be for claim in claims}
    if Fate.LOST in fates:
        return DrainVerdict.LOSES
    return DrainVerdict.WAITS if fates & {Fate.WAITS, Fate.FINISHES} else DrainVerdict.SAFE


def _unproven(snapshot: DrainSnapshot) -> list[str]:
    """Workers on which a session may run that no live claim covers: adopted ones, and those that are still stamped."""
    return sorted(
        item.worker.name
        for item in snapshot.workers
        if (item.worker.unproven_since or item.why.code == STAMPED) and not item.live_claims
    )


def _claim(snapshot: DrainSnapshot, item: ClassifiedWorker, claim: Claim) -> ClaimAtStake:
    since = claim.running_at or claim.claimed_at or claim.created_at
    seconds = max(0, int((snapshot.now - since).total_seconds()))
    fate, because = _fate(snapshot, item, claim, seconds)
    return ClaimAtStake(
        claim=claim.id,
        owner=claim.owner,
        pool=f"{claim.namespace}/{claim.pool}",
        worker=item.worker.name,
        state=claim.state.value,
        running_seconds=seconds,
        protected_until=claim.protected_until,
        retryable=claim.retryable,
        would_be=fate,
        because=because,
    )


def _fate(snapshot: DrainSnapshot, item: ClassifiedWorker, claim: Claim, seconds: int) -> tuple[Fate, str]:
    worker, otherwise = item.worker, Fate.REBOUND if claim.retryable else Fate.LOST
    if item.state is WorkerState.LOST:
        return otherwise, f"its worker is lost: {item.why.message}"
    if not snapshot.node.ready:
        return otherwise, "its node is not Ready: nothing on it can end well"
    if worker.terminating_since is not None:
        left = (worker.deletion_due - snapshot.now).total_seconds() if worker.deletion_due else 0.0
        message = f"its worker is already ending and has {max(left, 0):.0f} s left"
        return (Fate.FINISHES if left >= seconds else otherwise), message
    pool = snapshot.pools.get(f"{worker.namespace}/{worker.pool}")
    until = claim.protected_until
    budget = pool is not None and pool.spec.protection.budget
    if worker.marks.complete and budget and until is not None and snapshot.now < until:
        return _protected_fate(snapshot, until, seconds, otherwise)
    grace = pool.spec.protection.grace_seconds if pool is not None else 0
    lacks = "not protected any more" if budget else "its pool has no budget"
    # The remaining run time is unknown. A session that has run for longer than the grace is not expected to end within
    # it.
    if grace >= seconds:
        return Fate.FINISHES, f"{lacks}: its worker has {grace} s to finish"
    return otherwise, f"{lacks}, and it runs for longer than the {grace} s its worker would have"


def _protected_fate(snapshot: DrainSnapshot, until: datetime, seconds: int, otherwise: Fate) -> tuple[Fate, str]:
    """Karpenter ends a node at the bound of its NodeClaim, whatever protects the pods on it."""
    forced, bound = _forced_at(snapshot), snapshot.node.drain_bound
    if forced is None or bound is None or forced >= until:
        return Fate.WAITS, f"protected until {until:%H:%M:%SZ}"
    left = max(0.0, (forced - snapshot.now).total_seconds())
    if left >= seconds and left > 0:
        return Fate.WAITS, f"protected until {forced:%H:%M:%SZ}: NodeClaim {bound.node_claim} ends the drain then"
    message = f"protected, but NodeClaim {bound.node_claim} ends the drain in {left:.0f} s, and it runs for longer"
    return otherwise, message


def _forced_at(snapshot: DrainSnapshot) -> datetime | None:
    """When Karpenter would end the node although pods are left; None if it never does, or does not manage it."""
    bound = snapshot.node.drain_bound
    if bound is None or bound.seconds is None:
        return None
    return later(bound.began_at or snapshot.now, bound.seconds)


def _worker(item: ClassifiedWorker) -> WorkerAtStake:
    replaced = item.state in (WorkerState.IDLE, WorkerState.STARTING)
    worker = item.worker
    return WorkerAtStake(
        namespace=worker.namespace,
        name=worker.name,
        pool=f"{worker.namespace}/{worker.pool}",
        state=item.state.value,
        would_be="replaced elsewhere, before the floor is broken" if replaced else item.why.message,
    )


def _queues(snapshot: DrainSnapshot) -> tuple[QueueAtStake, ...]:
    keys = sorted({f"{item.worker.namespace}/{item.worker.pool}" for item in snapshot.workers})
    return tuple(
        QueueAtStake(key, snapshot.waiting.get(key, 0), snapshot.idle_elsewhere.get(key, 0))
        for key in keys
        if snapshot.waiting.get(key, 0)
    )


def _tell(
    snapshot: DrainSnapshot, verdict: DrainVerdict, claims: tuple[ClaimAtStake, ...], held_until: datetime | None
) -> tuple[str, str]:
    name = snapshot.node.name
    drain = f"kubectl drain {name} --ignore-daemonsets --delete-emptydir-data"
    counts = ", ".join(
        f"{count} {fate.value}" for fate in Fate if (count := sum(claim.would_be is fate for claim in claims))
    )
    match verdict:
        case DrainVerdict.UNKNOWN if snapshot.claims is not None:
            workers = ", ".join(_unproven(snapshot))
            message = f"workers that no live claim holds may still run a session: {workers}"
            return message, f"mooring workers --node {name} -o wide  # the fix of each, or wait until they are idle"
        case DrainVerdict.UNKNOWN:
            return "who holds the workers of this node cannot be read: the ledger is away", "look at /readyz, ask again"
        case DrainVerdict.SAFE if claims:
            return f"nothing is lost: {counts}", drain
        case DrainVerdict.SAFE:
            return "no session runs here: the node can be drained", drain
        case DrainVerdict.WAITS:
            until = f", until {held_until:%H:%M:%SZ} at the latest" if held_until else ""
            return f"nothing is lost, the drain takes a while: {counts}{until}", drain
    return f"work would be lost: {counts}", f"kubectl cordon {name}  # and drain it when these sessions have ended"
