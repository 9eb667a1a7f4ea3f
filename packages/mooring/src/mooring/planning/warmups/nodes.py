"""Nodes for shards: which are alive, which may take a shard, and which have been away for too long."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hawser.fitting.matching import untolerated
from mooring.model.node import Node, Taint
from mooring.model.warmup import WarmupSpec, check_spec, least_memory
from mooring.planning.placement import Placed, may_tolerate, plan_placement

DEBOUNCE = timedelta(seconds=60)  # a shorter NotReady or cordon is not a rotation (incident node-rotation)


@dataclass(frozen=True, slots=True)
class NodeSurvey:
    """The nodes as one Warmup sees them.

    `open` has those that may take a shard, by name; `roomy` those large enough.
    """

    now: datetime
    nodes: Mapping[str, Node]
    placed: Placed
    open: tuple[Node, ...]
    roomy: tuple[Node, ...]
    # By uid: nodes that are NotReady, cordoned or draining, and nodes with shards that no longer match the placement.
    unfit_since: Mapping[str, datetime] = field(default_factory=dict)
    debounce: timedelta = DEBOUNCE
    open_uids: frozenset[str] = frozenset()
    roomy_uids: frozenset[str] = frozenset()
    outside_uids: frozenset[str] = frozenset()  # no longer matching the placement, in any state

    def live(self, name: str, uid: str) -> Node | None:
        """The node with that name and uid, unless it has been NotReady for longer than the debounce time."""
        node = self.nodes.get(name)
        if node is None or node.uid != uid or (not node.ready and self.left(node)):
            return None
        return node

    def left(self, node: Node) -> bool:
        """Whether the node has been away or outside the placement for longer than the debounce time."""
        since = self.unfit_since.get(node.uid)
        return since is not None and self.now - since >= self.debounce

    def why_left(self, node: Node) -> str:
        """Why shards should leave the node; empty if they may stay."""
        if not self.left(node):
            return ""
        if node.uid in self.outside_uids and not is_unfit(node):
            return f"its node {node.name} is outside the placement"
        return f"its node {node.name} has been NotReady, cordoned or draining for more than a minute"

    def may_return(self, node: Node) -> bool:
        """Whether a shard without a Job still belongs to the node: it takes shards now or may do so soon."""
        return node.uid in self.open_uids or (node.uid in self.unfit_since and not self.left(node))

    def next_change(self) -> datetime | None:
        """When the debounce time of the next node ends."""
        due = [since + self.debounce for since in self.unfit_since.values()]
        return min((moment for moment in due if moment > self.now), default=None)


def survey_nodes(
    spec: WarmupSpec,
    nodes: Mapping[str, Node],
    unfit_since: Mapping[str, datetime],
    now: datetime,
    debounce: timedelta = DEBOUNCE,
) -> NodeSurvey:
    """The nodes as one Warmup sees them; system nodes are never chosen.

    Sizes are only used if the whole spec can be read. Errors of the spec are reported in the status.
    """
    placed = plan_placement(spec.pod_template.placement(spec.placement), nodes.values())
    chosen = () if placed.problem else tuple(node for node in nodes.values() if _may_take(node, placed))
    least = 0 if check_spec(spec) else least_memory(spec)
    roomy = tuple(node for node in chosen if node.memory_bytes >= least)
    return NodeSurvey(
        now,
        nodes,
        placed,
        chosen,
        roomy,
        unfit_since,
        debounce,
        open_uids=frozenset(node.uid for node in chosen),
        roomy_uids=frozenset(node.uid for node in roomy),
        outside_uids=frozenset(node.uid for node in nodes.values() if not placed.problem and _is_outside(node, placed)),
    )


def since_outside(held: Iterable[str], survey: NodeSurvey, known: Mapping[str, datetime]) -> dict[str, datetime]:
    """Since when nodes with shards have been outside the placement, by uid; `known` are the times found before."""
    return {uid: known.get(uid, survey.now) for uid in held if uid in survey.outside_uids}


def with_outside(survey: NodeSurvey, outside: Mapping[str, datetime]) -> NodeSurvey:
    """The same, with those nodes counted as left."""
    return replace(survey, unfit_since={**outside, **survey.unfit_since}) if outside else survey


def is_unfit(node: Node) -> bool:
    """Whether the node must get no new shard now."""
    return not node.ready or bool(node.draining_because)


def _may_take(node: Node, placed: Placed) -> bool:
    if node.is_system or is_unfit(node) or not placed.node_selector.items() <= node.labels.items():
        return False
    return not _keeps_away(node.taints, placed)


def _is_outside(node: Node, placed: Placed) -> bool:
    """Taints about the health of a node do not count: they come and go, and the copy stays valid."""
    if node.is_system or not placed.node_selector.items() <= node.labels.items():
        return True
    return _keeps_away((taint for taint in node.taints if may_tolerate(taint)), placed)


def _keeps_away(taints: Iterable[Taint], placed: Placed) -> bool:
    plain = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in taints]
    return untolerated(placed.tolerations, plain) is not None
