"""Assignment of shards to nodes: one shard a node, or all data on every node. A shard moves only for a reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mooring.model.moments import later
from mooring.model.node import Node
from mooring.model.warm_job import WarmJob
from mooring.model.warmup import MOST_SHARDS, NodesVerdict, Warmup
from mooring.planning.warmups.jobs import job_name
from mooring.planning.warmups.nodes import NodeSurvey

PATIENCE = timedelta(seconds=900)  # how long to wait for missing nodes before the present ones are used


@dataclass(frozen=True, slots=True)
class Assignment:
    """The node of each shard.

    `homeless` shards have no node; `moved` shards leave a node that is away or does not match.
    """

    homes: Mapping[int, Node]
    wanted: int  # the number of shards to place
    verdict: NodesVerdict
    message: str
    spare: int = 0  # the number of further nodes that could take a shard
    homeless: tuple[int, ...] = ()
    moved: frozenset[int] = field(default_factory=frozenset)
    waiting_since: datetime | None = None
    wake_at: datetime | None = None


def plan_assignment(warmup: Warmup, jobs: Sequence[WarmJob], survey: NodeSurvey, load: Mapping[str, int]) -> Assignment:
    """Assign shards to nodes. Too few or too small nodes are a result, not an error.

    `load` has the number of shards of other datasets by node uid: new shards go to the nodes with the fewest.
    """
    if warmup.spec.mode == "Broadcast":
        return _broadcast(warmup, jobs, survey)
    return _spread(warmup, jobs, survey, load)


def _spread(warmup: Warmup, jobs: Sequence[WarmJob], survey: NodeSurvey, load: Mapping[str, int]) -> Assignment:
    wanted = min(warmup.spec.shards, MOST_SHARDS)  # a stored object may ask for more than its CRD allows
    homes = _sticky(warmup, jobs, survey)
    taken = {node.uid for node in homes.values()}
    spare = len(survey.roomy_uids - taken)
    unplaced = [shard for shard in range(wanted) if shard not in homes]
    leaving = [shard for shard, node in sorted(homes.items()) if survey.left(node)]
    held = sum(not survey.left(node) for node in homes.values())
    verdict, message = _judge_room(wanted, held + spare, survey)
    missing = len(unplaced) > spare
    since = (warmup.status.waiting_since or survey.now) if missing else None
    waits = since is not None and survey.now < later(since, PATIENCE.total_seconds())
    moved = set()
    if not waits and (unplaced or leaving):
        free = [node for node in survey.roomy if node.uid not in taken]
        free.sort(key=lambda node: (load.get(node.uid, 0), node.name))
        for shard in [*unplaced, *leaving]:
            if not free:
                break
            homes[shard] = free.pop(0)
            moved.add(shard)
    return Assignment(
        homes=homes,
        wanted=wanted,
        verdict=verdict,
        message=message,
        spare=len(survey.roomy_uids - {node.uid for node in homes.values()}),
        homeless=tuple(shard for shard in range(wanted) if shard not in homes),
        moved=frozenset(moved & set(leaving)),
        waiting_since=since,
        wake_at=later(since, PATIENCE.total_seconds()) if since is not None and waits else None,
    )


def _broadcast(warmup: Warmup, jobs: Sequence[WarmJob], survey: NodeSurvey) -> Assignment:
    """Every node gets all data; the shard number is only an index.

    Nodes that no longer match the placement keep their copy until all others are warm.
    """
    homes = _sticky(warmup, jobs, survey)
    taken = {node.uid for node in homes.values()}
    numbers = (number for number in range(len(homes) + len(survey.roomy)) if number not in homes)
    for node in sorted((n for n in survey.roomy if n.uid not in taken), key=lambda n: n.name):
        homes[next(numbers)] = node
    leaving = {number for number, node in homes.items() if node.uid in survey.outside_uids and survey.left(node)}
    staying = homes.keys() - leaving
    warm = {job.shard for job in jobs if job.complete and not job.deleting}
    moved = frozenset(leaving if staying and staying <= warm else ())
    homes = {number: node for number, node in homes.items() if number not in moved}
    verdict, message = _judge_room(max(1, len(survey.open)), len(staying), survey)
    return Assignment(homes, len(homes), verdict, message, moved=moved)


def _sticky(warmup: Warmup, jobs: Sequence[WarmJob], survey: NodeSurvey) -> dict[int, Node]:
    """Where shards are: from their Jobs, or else from the last status, or from a remaining copy."""
    spec, known = warmup.spec, warmup.status.shards
    homes: dict[int, Node] = {}
    taken: set[str] = set()

    def settle(number: int, name: str, uid: str, *, has_job: bool) -> None:
        node = survey.nodes.get(name)
        if node is None or node.uid != uid or uid in taken or number in homes:
            return
        if (number < spec.shards or spec.mode == "Broadcast") and (has_job or survey.may_return(node)):
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


def _judge_room(wanted: int, have: int, survey: NodeSurvey) -> tuple[NodesVerdict, str]:
    if have >= wanted:
        return NodesVerdict.OK, f"{have} node(s) for {wanted}"
    if not survey.open and not have:
        why = survey.placed.problem or "no node is Ready, schedulable and of the placement"
        return NodesVerdict.NO_NODES, why
    small = len(survey.open) - len(survey.roomy)
    if have + small >= wanted:
        return NodesVerdict.NODE_TOO_SMALL, f"{small} node(s) have too little memory for a shard"
    return NodesVerdict.TOO_FEW_NODES, f"{wanted} node(s) are needed, {have} are there"
