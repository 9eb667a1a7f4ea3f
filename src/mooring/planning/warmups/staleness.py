"""Which warm Jobs are stale: their node is gone or another one, their order is old, or they failed for good.

A Job's pin is compared with the node's uid, not its name: a node can come back under its name with cold disks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mooring.model.warm_job import WarmJob
from mooring.planning.warmups.nodes import Ground

WARM_ON_LIVE_NODE = "warm-on-live-node"


class Staleness(StrEnum):
    """Why a Job is stale."""

    NODE_GONE = "node_gone"
    NODE_REPLACED = "node_replaced"
    NODE_LEFT = "node_left"  # NotReady or cordoned for long, and another node is free
    GENERATION_OLD = "generation_old"
    ORDER_OLD = "order_old"
    REWARM = "rewarm"
    FAILED = "failed"


ROLLED = frozenset({Staleness.GENERATION_OLD, Staleness.ORDER_OLD, Staleness.REWARM})


@dataclass(frozen=True, slots=True)
class Order:
    """What a Job has to carry to be of today."""

    warmup_uid: str
    generation: str
    spec_hash: str
    round: str
    names: Mapping[str, int]  # of Jobs that this order makes, each with its shard


@dataclass(frozen=True, slots=True)
class ReleaseJob:
    """Delete one stale Job with its pods. Passes the rails: proofs, age and evidence travel with it."""

    job: WarmJob
    staleness: Staleness
    reason: str
    proofs: tuple[str, str]
    age_seconds: float = 0.0
    floor_seconds: float = 0.0

    @property
    def key(self) -> str:
        """The same on both ticks."""
        return f"{WARM_ON_LIVE_NODE}/{self.job.uid}"

    @property
    def evidence(self) -> dict[str, Any]:
        """What the audit row keeps."""
        job = self.job
        return {
            "proofs": list(self.proofs),
            "staleness": self.staleness.value,
            "node": job.node or job.hostname,
            "nodeUID": job.node_uid,
            "generation": job.generation,
            "uid": job.uid,
            "resourceVersion": job.resource_version,
        }


@dataclass(frozen=True, slots=True)
class Sorted:
    """All Jobs of a dataset: what is stale, what stays, and what is none of ours to judge."""

    stale: tuple[ReleaseJob, ...]
    kept: tuple[WarmJob, ...]
    skipped: tuple[WarmJob, ...]


def plan_stale_release(jobs: Iterable[WarmJob], ground: Ground, order: Order) -> Sorted:
    """Sort the Jobs. One that is being deleted does not count as existing, and needs no release."""
    stale: list[ReleaseJob] = []
    kept: list[WarmJob] = []
    skipped: list[WarmJob] = []
    for job in jobs:
        if job.deleting:
            continue
        if not job.node and not job.hostname:
            skipped.append(job)
        elif (release := _judge(_resolve(job, ground), ground, order)) is not None:
            stale.append(release)
        else:
            kept.append(job)
    return Sorted(tuple(stale), tuple(kept), tuple(skipped))


def _resolve(job: WarmJob, ground: Ground) -> WarmJob:
    """A pin by hostname, as the name of the node that carries the label; without a name when none does."""
    if job.node:
        return job
    found = min((node.name for node in ground.nodes.values() if node.hostname == job.hostname), default="")
    return replace(job, node=found)


def _judge(job: WarmJob, ground: Ground, order: Order) -> ReleaseJob | None:
    if not job.node:
        proofs = (f"the Job is pinned to the hostname {job.hostname}", "no node carries that label")
        return ReleaseJob(job, Staleness.NODE_GONE, f"its node {job.hostname} is gone", proofs)
    node = ground.nodes.get(job.node)
    pinned = f"the Job is pinned to {job.node}" + (f" ({job.node_uid})" if job.node_uid else "")
    if node is None:
        return ReleaseJob(job, Staleness.NODE_GONE, f"its node {job.node} is gone", (pinned, "no node has that name"))
    if job.node_uid and job.node_uid != node.uid:
        reason = f"its node {job.node} is another one now, with cold disks"
        return ReleaseJob(job, Staleness.NODE_REPLACED, reason, (pinned, f"the node's uid is {node.uid}"))
    if not job.node_uid and job.finished_at and node.created_at and job.finished_at < node.created_at:
        reason = f"it ended before its node {job.node} was made"
        proofs = (f"it ended at {job.finished_at.isoformat()}", f"the node is of {node.created_at.isoformat()}")
        return ReleaseJob(job, Staleness.NODE_REPLACED, reason, proofs)
    ours = job.owner_uid == order.warmup_uid
    if not ours and job.name not in order.names:
        return None  # somebody else's, on a live node, and in nobody's way
    return _judge_order(job, order, pinned)


def _judge_order(job: WarmJob, order: Order, pinned: str) -> ReleaseJob | None:
    if job.generation != order.generation:
        reason = f"it holds generation {job.generation or 'unknown'}, {order.generation} is wanted"
        return ReleaseJob(job, Staleness.GENERATION_OLD, reason, (pinned, reason))
    if job.spec_hash != order.spec_hash or job.owner_uid != order.warmup_uid:
        reason = "it was made by an order that has changed since"
        return ReleaseJob(job, Staleness.ORDER_OLD, reason, (pinned, f"order {job.spec_hash} is not current"))
    if job.round != order.round:
        return ReleaseJob(job, Staleness.REWARM, "a re-warm was forced", (pinned, f"re-warm {order.round} fired"))
    if job.failed:
        reason = f"it failed for good on {job.node}: {job.failure or 'no reason given'}"
        return ReleaseJob(job, Staleness.FAILED, reason, (pinned, f"condition Failed: {job.failure}"))
    return None
