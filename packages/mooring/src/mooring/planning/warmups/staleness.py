"""Which warm Jobs are stale: the node is gone or replaced, the order is outdated, or the Job failed for good.

A Job's pin is compared with the node's uid, not its name: a node can come back under the same name with empty disks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

from mooring.model.proof import Proof, Proofs, by_clock, by_cluster, by_holder
from mooring.model.warm_job import WarmJob
from mooring.planning.actions import JobDelete
from mooring.planning.warmups.nodes import NodeSurvey

WARM_ON_LIVE_NODE = "warm-on-live-node"


class Staleness(StrEnum):
    """Why a Job is stale."""

    NODE_GONE = "node_gone"
    NODE_REPLACED = "node_replaced"
    NODE_LEFT = "node_left"  # NotReady or cordoned for too long, and another node is free
    GENERATION_OLD = "generation_old"
    ORDER_OLD = "order_old"
    REWARM = "rewarm"
    TEMPLATE_OLD = "template_old"  # not finished, and its pods would have another shape now
    FAILED = "failed"


ROLLED = frozenset({Staleness.GENERATION_OLD, Staleness.ORDER_OLD, Staleness.REWARM})


@dataclass(frozen=True, slots=True)
class Order:
    """What a current Job carries."""

    warmup_uid: str
    generation: str
    spec_hash: str
    round: str
    names: Mapping[str, int]  # names of the Jobs of this order, with their shards
    template_hash: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseJob(JobDelete):
    """Delete one stale Job with its pods, after it passed the rails. It carries proofs, age and evidence."""

    invariant: ClassVar[str] = WARM_ON_LIVE_NODE

    job: WarmJob
    staleness: Staleness
    reason: str
    proofs: Proofs
    age_seconds: float = 0.0
    floor_seconds: float = 0.0

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence for the audit row."""
        job = self.job
        return {
            "proofs": [str(proof) for proof in self.proofs],
            "staleness": self.staleness.value,
            "node": job.node or job.hostname,
            "nodeUID": job.node_uid,
            "generation": job.generation,
            "uid": job.uid,
            "resourceVersion": job.resource_version,
            **({"adopted": job.adopted} if job.adopted else {}),
        }


@dataclass(frozen=True, slots=True)
class SortedJobs:
    """All Jobs of a dataset: stale ones, current ones, and those that are not judged."""

    stale: tuple[ReleaseJob, ...]
    kept: tuple[WarmJob, ...]
    skipped: tuple[WarmJob, ...]


def plan_stale_release(jobs: Iterable[WarmJob], survey: NodeSurvey, order: Order) -> SortedJobs:
    """Sort the Jobs. A terminating Job does not count as existing and needs no release."""
    stale: list[ReleaseJob] = []
    kept: list[WarmJob] = []
    skipped: list[WarmJob] = []
    for job in jobs:
        if job.deleting:
            continue
        if not job.node and not job.hostname:
            skipped.append(job)
        elif (release := judge_job(resolve_node(job, survey), survey, order)) is not None:
            stale.append(release)
        else:
            kept.append(job)
    return SortedJobs(tuple(stale), tuple(kept), tuple(skipped))


def resolve_node(job: WarmJob, survey: NodeSurvey) -> WarmJob:
    """The Job with the node's name, if it is pinned by hostname; without a name if no node has that label."""
    if job.node:
        return job
    found = min((node.name for node in survey.nodes.values() if node.hostname == job.hostname), default="")
    return replace(job, node=found)


def judge_job(job: WarmJob, survey: NodeSurvey, order: Order) -> ReleaseJob | None:
    """The release of a pinned Job; None if it is current, or not ours to judge."""
    if not job.node:
        proofs = (by_holder(f"pinned to the hostname {job.hostname}"), by_cluster("no node carries that label"))
        return ReleaseJob(job, Staleness.NODE_GONE, f"its node {job.hostname} is gone", proofs)
    node = survey.nodes.get(job.node)
    pinned = by_holder(f"pinned to {job.node}" + (f" ({job.node_uid})" if job.node_uid else ""))
    if node is None:
        gone = by_cluster("no node has that name")
        return ReleaseJob(job, Staleness.NODE_GONE, f"its node {job.node} is gone", (pinned, gone))
    if job.node_uid and job.node_uid != node.uid:
        reason = f"its node {job.node} is another one now, with cold disks"
        return ReleaseJob(job, Staleness.NODE_REPLACED, reason, (pinned, by_cluster(f"the node's uid is {node.uid}")))
    if not job.node_uid and job.finished_at and node.created_at and job.finished_at < node.created_at:
        reason = f"it ended before its node {job.node} was made"
        later = by_clock(f"it ended at {job.finished_at.isoformat()}, before its node was made")
        proofs = (later, by_cluster(f"the node is of {node.created_at.isoformat()}"))
        return ReleaseJob(job, Staleness.NODE_REPLACED, reason, proofs)
    ours = job.owner_uid == order.warmup_uid
    if not ours and job.name not in order.names:
        return None  # a foreign Job on a live node, whose name is not needed
    return _judge_order(job, order, pinned)


def _judge_order(job: WarmJob, order: Order, pinned: Proof) -> ReleaseJob | None:
    if job.generation != order.generation:
        reason = f"it holds generation {job.generation or 'unknown'}, {order.generation} is wanted"
        return ReleaseJob(job, Staleness.GENERATION_OLD, reason, (pinned, by_cluster(reason)))
    if job.spec_hash != order.spec_hash or job.owner_uid != order.warmup_uid:
        reason = "it was made by an order that has changed since"
        return ReleaseJob(
            job, Staleness.ORDER_OLD, reason, (pinned, by_cluster(f"order {job.spec_hash} is not current"))
        )
    if job.round != order.round:
        return ReleaseJob(
            job, Staleness.REWARM, "a re-warm was forced", (pinned, by_cluster(f"re-warm {order.round} fired"))
        )
    if not job.complete and job.template_hash != order.template_hash:
        reason = "it has not finished, and spec.podTemplate has changed since"
        known = by_cluster(f"template {job.template_hash or 'none'} is not current")
        return ReleaseJob(job, Staleness.TEMPLATE_OLD, reason, (pinned, known))
    if job.failed:
        reason = f"it failed for good on {job.node}: {job.failure or 'no reason given'}"
        return ReleaseJob(job, Staleness.FAILED, reason, (pinned, by_cluster(f"condition Failed: {job.failure}")))
    return None
