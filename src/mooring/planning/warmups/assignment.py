"""Shards to nodes: one shard a node, or every node; a shard stays where it is, and nothing moves without a reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mooring.model.node import Node
from mooring.model.warm_job import WarmJob
from mooring.model.warmup import NodesVerdict, Warmup
from mooring.planning.warmups.jobs import job_name
from mooring.planning.warmups.nodes import Ground

PATIENCE = timedelta(seconds=900)  # how long missing nodes are waited for, before the present ones are warmed


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where each shard belongs. `homeless` shards have no node; `moved` ones leave a node that left them, or that is
    outside the placement."""

    homes: Mapping[int, Node]
    wanted: int  # how many shards there are to place
    verdict: NodesVerdict
    message: str
    spare: int = 0  # how many nodes are left that could take a shard
    homeless: tuple[int, ...] = ()
    moved: frozenset[int] = field(default_factory=frozenset)
    waiting_since: datetime | None = None
    wake_at: datetime | None = None


def plan_assignment(warmup: Warmup, jobs: Sequence[WarmJob], ground: Ground, load: Mapping[str, int]) -> Assignment:
    """Decide where shards go. Too few or too small nodes are a verdict, never an error.

    `load` is how many shards of other datasets each node holds, by uid: new shards go where there are fewest.
    """
    if warmup.spec.mode == "Broadcast":
        return _broadcast(warmup, jobs, ground)
    return _spread(warmup, jobs, ground, load)


def _spread(warmup: Warmup, jobs: Sequence[WarmJob], ground: Ground, load: Mapping[str, int]) -> Assignment:
    spec = warmup.spec
    homes = _sticky(warmup, jobs, ground)
    taken = {node.uid for node in homes.values()}
    spare = len(ground.roomy_uids - taken)
    unplaced = [shard for shard in range(spec.shards) if shard not in homes]
    leaving = [shard for shard, node in sorted(homes.items()) if ground.left(node)]
    held = sum(not ground.left(node) for node in homes.values())
    verdict, message = _judge_room(spec.shards, held + spare, ground)
    missing = len(unplaced) > spare
    since = (warmup.status.waiting_since or ground.now) if missing else None
    waits = since is not None and ground.now < since + PATIENCE
    moved = set()
    if not waits and (unplaced or leaving):
        free = [node for node in ground.roomy if node.uid not in taken]
        free.sort(key=lambda node: (load.get(node.uid, 0), node.name))
        for shard in [*unplaced, *leaving]:
            if not free:
                break
            homes[shard] = free.pop(0)
            moved.add(shard)
    return Assignment(
        homes=homes,
        wanted=spec.shards,
        verdict=verdict,
        message=message,
        spare=len(ground.roomy_uids - {node.uid for node in homes.values()}),
        homeless=tuple(shard for shard in range(spec.shards) if shard not in homes),
        moved=frozenset(moved & set(leaving)),
        waiting_since=since,
        wake_at=since + PATIENCE if since is not None and waits else None,
    )


def _broadcast(warmup: Warmup, jobs: Sequence[WarmJob], ground: Ground) -> Assignment:
    """Every node gets everything; the number of a shard is then only a place in the list. Nodes outside the placement
    keep theirs until all others are warm."""
    homes = _sticky(warmup, jobs, ground)
    taken = {node.uid for node in homes.values()}
    numbers = (number for number in range(len(homes) + len(ground.roomy)) if number not in homes)
    for node in sorted((n for n in ground.roomy if n.uid not in taken), key=lambda n: n.name):
        homes[next(numbers)] = node
    leaving = {number for number, node in homes.items() if node.uid in ground.outside_uids and ground.left(node)}
    staying = homes.keys() - leaving
    warm = {job.shard for job in jobs if job.complete and not job.deleting}
    moved = frozenset(leaving if staying and staying <= warm else ())
    homes = {number: node for number, node in homes.items() if number not in moved}
    verdict, message = _judge_room(max(1, len(ground.open)), len(staying), ground)
    return Assignment(homes, len(homes), verdict, message, moved=moved)


def _sticky(warmup: Warmup, jobs: Sequence[WarmJob], ground: Ground) -> dict[int, Node]:
    """Where shards are, as their Jobs say; without a Job, where they were last, or where a copy of them is."""
    spec, known = warmup.spec, warmup.status.shards
    homes: dict[int, Node] = {}
    taken: set[str] = set()

    def settle(number: int, name: str, uid: str, *, has_job: bool) -> None:
        node = ground.nodes.get(name)
        if node is None or node.uid != uid or uid in taken or number in homes:
            return
        if (number < spec.shards or spec.mode == "Broadcast") and (has_job or ground.may_return(node)):
            homes[number] = node
            taken.add(uid)

    for job in jobs:
        if job.shard is not None and not job.deleting and job.name == job_name(spec.dataset, job.shard):
            settle(job.shard, job.node, job.node_uid, has_job=True)
    for shard in known:
        settle(shard.shard, shard.node, shard.node_uid, has_job=False)
    for shard in known:
        settle(shard.shard, *shard.holder, has_job=False)
    return homes


def _judge_room(wanted: int, have: int, ground: Ground) -> tuple[NodesVerdict, str]:
    if have >= wanted:
        return NodesVerdict.OK, f"{have} node(s) for {wanted}"
    if not ground.open and not have:
        why = ground.placed.problem or "no node is Ready, schedulable and of the placement"
        return NodesVerdict.NO_NODES, why
    small = len(ground.open) - len(ground.roomy)
    if have + small >= wanted:
        return NodesVerdict.NODE_TOO_SMALL, f"{small} node(s) have too little memory for a shard"
    return NodesVerdict.TOO_FEW_NODES, f"{wanted} node(s) are needed, {have} are there"
