"""Removing the data of a deleted Warmup: one cleanup Job for each folder on a live node, within a bounded time.

The finalizer is always released in the end. Folders that could not be removed are named, with the reason.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from mooring.model.moments import later
from mooring.model.node import Node
from mooring.model.warm_data import SETTLED, CopyState, DataCopy, is_data_folder
from mooring.model.warm_job import WarmJob
from mooring.model.warmup import Phase, ShardStatus, Warmup, WarmupStatus
from mooring.planning.actions import earliest
from mooring.planning.warmups.jobs import cleanup_name, data_path
from mooring.planning.warmups.status import compute_conditions

PATIENCE = timedelta(seconds=900)  # from the deletion of the Warmup until the finalizer is released at the latest
LOOK_SECONDS = 5.0
MOST_CREATES = 50  # in one pass


@dataclass(frozen=True, slots=True)
class CleanupJob:
    """A cleanup Job as the cluster shows it."""

    name: str
    uid: str
    complete: bool = False
    failed: bool = False
    failure: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class ReclaimSnapshot:
    """Input of the plan."""

    now: datetime
    warmup: Warmup
    nodes: Mapping[str, Node]  # by name
    gone: Collection[str] = ()  # uids of nodes that a live look did not find
    jobs: tuple[WarmJob, ...] = ()  # warm Jobs that the Warmup owns
    writers: Collection[str] = ()  # names of nodes on which a warm pod has not ended
    cleanups: Mapping[str, CleanupJob] = field(default_factory=dict)  # by name
    shared: Mapping[str, str] = field(default_factory=dict)  # by path: the Warmup that uses the folder as well
    refused: Mapping[str, str] = field(default_factory=dict)  # by name of the cleanup Job: why it could not be made
    held_because: str = ""  # why nothing may be removed for now
    hopeless: str = ""  # why no Job can be made any more
    unaudited: str = ""  # why the audit row of an act could not be written: nothing is deleted without one


@dataclass(frozen=True, slots=True)
class CreateCleanup:
    """Create one cleanup Job."""

    name: str
    copy: DataCopy


@dataclass(frozen=True, slots=True)
class ReclaimPlan:
    """Actions in this order: write the status, stop warm Jobs, create cleanup Jobs, release the finalizer."""

    status: WarmupStatus
    stops: tuple[WarmJob, ...] = ()
    creates: tuple[CreateCleanup, ...] = ()
    release: bool = False
    wake_at: datetime | None = None

    def nodes_in(self, state: CopyState) -> list[str]:
        """Names of the nodes with a folder in that state."""
        return sorted({copy.node for copy in self.status.copies if copy.state == state})

    @property
    def report(self) -> str:
        """The result, for the Event and the audit row."""
        return self.status.reason


def record_copies(warmup: Warmup, shards: Sequence[ShardStatus], nodes: Mapping[str, Node]) -> tuple[DataCopy, ...]:
    """Folders that may hold data: those known before, and those of the shards as they are assigned now.

    A folder goes with its node. An empty list of nodes removes none.
    """
    path = data_path(warmup.spec)
    copies = {copy.key: copy for copy in warmup.status.copies}
    for shard in shards:
        for node, uid in ((shard.node, shard.node_uid), shard.holder):
            if uid:
                copies.setdefault((path, uid), DataCopy(path, node, uid))
    present = {node.uid for node in nodes.values()}
    kept = [copy for copy in copies.values() if not present or copy.node_uid in present]
    return tuple(sorted(kept, key=lambda copy: (copy.path, copy.node, copy.node_uid)))


def folders_of(warmup: Warmup) -> frozenset[str]:
    """Where a Warmup keeps data, or may."""
    return frozenset({data_path(warmup.spec), *(copy.path for copy in warmup.status.copies)})


def find_sharing(path: str, others: Mapping[str, Collection[str]]) -> str:
    """The first of other Warmups, with their folders, that keeps data where the cleanup of `path` removes some."""
    return next((key for key, paths in sorted(others.items()) if any(_overlaps(path, one) for one in paths)), "")


def _overlaps(path: str, other: str) -> bool:
    """Whether `other` is the folder itself, or is reached through a shard's link or the store in it."""
    if other == path:
        return True
    below = other.removeprefix(f"{path}/").split("/")[0] if other.startswith(f"{path}/") else ""
    return below == ".mooring" or below.isdecimal()


def plan_reclaim(snapshot: ReclaimSnapshot) -> ReclaimPlan:
    """Decide for every folder; release the finalizer when each one is removed, gone with its node, or given up."""
    warmup = snapshot.warmup
    known = record_copies(warmup, warmup.status.shards, {})
    copies = tuple(_judge(snapshot, copy) for copy in known)
    creates = tuple(
        CreateCleanup(name, copy)
        for copy in copies
        if (name := name_of(warmup, copy)) not in snapshot.cleanups and _may_create(snapshot, copy)
    )
    settled = all(copy.state in SETTLED for copy in copies)
    reason = _summarise(copies, snapshot.unaudited)
    now = snapshot.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    status = msgspec.structs.replace(
        warmup.status,
        observed_generation=warmup.generation,
        phase=Phase.PENDING.value,
        reason=reason,
        nodes_ready=0,
        nodes_total=0,
        shards=(),
        copies=copies,
        conditions=compute_conditions(warmup, Phase.PENDING, reason, (), now),
    )
    return ReclaimPlan(
        status=status,
        stops=tuple(job for job in snapshot.jobs if not job.deleting),
        creates=creates[:MOST_CREATES],
        release=settled,
        wake_at=None if settled else earliest(_deadline(warmup), snapshot.now + timedelta(seconds=LOOK_SECONDS)),
    )


def name_of(warmup: Warmup, copy: DataCopy) -> str:
    """The name of the cleanup Job of a folder."""
    return cleanup_name(warmup.spec.dataset, warmup.uid, copy.node_uid, copy.path)


def _deadline(warmup: Warmup) -> datetime | None:
    return later(warmup.terminating_since, PATIENCE.total_seconds()) if warmup.terminating_since is not None else None


def _judge(snapshot: ReclaimSnapshot, copy: DataCopy) -> DataCopy:
    if copy.state in SETTLED:
        return copy
    state, why = _settle(snapshot, copy) or _wait(snapshot, copy)
    deadline = _deadline(snapshot.warmup)
    if state not in SETTLED and (snapshot.hopeless or deadline is None or snapshot.now >= deadline):
        minutes = f"{PATIENCE.total_seconds() / 60:.0f} minutes"
        state, why = CopyState.LEFT, snapshot.hopeless or f"given up after {minutes}: {why}"
    return msgspec.structs.replace(copy, state=state.value, why=why)


def _settle(snapshot: ReclaimSnapshot, copy: DataCopy) -> tuple[CopyState, str] | None:
    """The end of the removal; None while it has not ended."""
    if copy.node_uid in snapshot.gone:
        return CopyState.GONE, "its node no longer exists"
    if not is_data_folder(copy.path):
        return CopyState.LEFT, "the path is not a folder below /"
    if other := snapshot.shared.get(copy.path, ""):
        return CopyState.LEFT, f"the Warmup {other} keeps data in the same folder"
    job = snapshot.cleanups.get(name_of(snapshot.warmup, copy))
    if job is not None and job.complete:
        return CopyState.REMOVED, ""
    if job is not None and job.failed:
        return CopyState.LEFT, f"its cleanup Job {job.name} failed: {job.failure or 'no reason given'}"
    return None


def _wait(snapshot: ReclaimSnapshot, copy: DataCopy) -> tuple[CopyState, str]:
    name = name_of(snapshot.warmup, copy)
    node = snapshot.nodes.get(copy.node)
    if node is None or node.uid != copy.node_uid:
        return CopyState.WAITING, "its node is not listed, but its absence is not proven"
    if not node.ready:
        return CopyState.WAITING, f"its node {copy.node} is not Ready"
    if name in snapshot.cleanups:
        return CopyState.REMOVING, f"its cleanup Job {name} has not ended"
    if snapshot.held_because:
        return CopyState.WAITING, snapshot.held_because
    if snapshot.jobs or copy.node in snapshot.writers:
        return CopyState.WAITING, "warm Jobs are being stopped"
    return CopyState.REMOVING, snapshot.refused.get(name, f"its cleanup Job {name} is about to be made")


def _may_create(snapshot: ReclaimSnapshot, copy: DataCopy) -> bool:
    return copy.state == CopyState.REMOVING and not snapshot.held_because


def _summarise(copies: Sequence[DataCopy], unaudited: str) -> str:
    """What was removed, and by name every node where data is left or still waits, with the reason."""
    done = sum(copy.state == CopyState.REMOVED for copy in copies)
    gone = sum(copy.state == CopyState.GONE for copy in copies)
    parts = [f"being deleted: data removed from {done} of {len(copies)} folder(s)"]
    if unaudited:
        parts.append(f"nothing is deleted before its audit row is written: {unaudited}")
    if gone:
        parts.append(f"{gone} gone with their nodes")
    for state, word in ((CopyState.WAITING, "waits"), (CopyState.LEFT, "left")):
        found = [copy for copy in copies if copy.state == state]
        if found:
            whys = "; ".join(f"{copy.path} on {copy.node} ({copy.why})" for copy in found[:5])
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            parts.append(f"{word}: {whys}{more}")
    return ", ".join(parts)
