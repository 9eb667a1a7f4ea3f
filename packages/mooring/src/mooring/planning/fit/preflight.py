"""The whole cluster's verdict on one pod: counted, grouped in kube-scheduler's words, with the smallest change."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hawser.fitting.capacity import NodeState
from hawser.fitting.judge import decisive
from hawser.fitting.matching import untolerated
from hawser.fitting.needs import PodNeeds, read_needs
from hawser.fitting.obstacles import NO_NODES
from hawser.fitting.topology import UNCONSTRAINED, TopologyConstraints, count_topology
from hawser.fitting.volumes import BoundVolume
from mooring.model.node import Node, NodeTemplate
from mooring.model.preflight import Group, HeldClaim, NodeVerdict, Preflight
from mooring.planning.fit.amounts import describe_amount
from mooring.planning.fit.claims import find_held_claims, tell_unjudged_claims
from mooring.planning.fit.obstacles import Obstacle, find_obstacles, hold
from mooring.planning.fit.usage import UNREAD, Usage, occupied

_EXAMPLES = 10
_DEFAULT_SCHEDULER = ("", "default-scheduler")

Judged = Mapping[str, tuple[Obstacle, ...]]  # by node name


def preflight(
    pod_spec: Mapping[str, Any],
    nodes: Iterable[Node],
    usage: Usage = UNREAD,
    templates: Iterable[NodeTemplate] = (),
    *,
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
) -> Preflight:
    """For a pod that does not exist yet: its spec, and what else the scheduler would look at."""
    pod = {"metadata": {"namespace": namespace, "labels": dict(labels or {})}, "spec": dict(pod_spec)}
    return plan_preflight(pod, nodes, usage, templates)


def plan_preflight(
    pod: Mapping[str, Any], nodes: Iterable[Node], usage: Usage = UNREAD, templates: Iterable[NodeTemplate] = ()
) -> Preflight:
    """For a whole pod. One that is bound already is judged as if it had to find its place again."""
    needs = read_needs(dict(pod))
    states = [occupied(node, usage, needs.uid) for node in nodes]
    held = tuple(find_held_claims(needs, usage))
    volumes = [volume for claim in needs.claims if isinstance(volume := usage.volumes.get(claim), BoundVolume)]
    topology = _count_topology(needs, states, usage)
    judged = {
        state.name: (*(hold(one) for one in held), *find_obstacles(needs, state, topology, volumes)) for state in states
    }
    fits = sum(not obstacles for obstacles in judged.values())
    makers = () if fits or held else tuple(one.pool for one in templates if _would_take(one, needs))
    return Preflight(
        fits=fits,
        total=len(states),
        sentence=_sentence(judged, fits, makers, held),
        fix="" if fits else held[0].fix if held else _fix(needs, states, judged, makers),
        groups=_groups(judged),
        verdicts=tuple(NodeVerdict(name, tuple(one.reason for one in judged[name])) for name in judged),
        makers=makers,
        claims=held,
        unknown=tuple(_unknown(pod, needs, usage)),
    )


def _count_topology(needs: PodNeeds, states: Sequence[NodeState], usage: Usage) -> TopologyConstraints:
    refusing = [(state, other) for state in states for other in state.pods.values() if other.anti_affinity]
    if not refusing and not needs.has_topology_constraints:
        return UNCONSTRAINED
    return count_topology(needs, states, refusing, usage.namespace_labels)


def _groups(judged: Judged) -> tuple[Group, ...]:
    members: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, obstacles in judged.items():
        for one in decisive(obstacles):
            members[one.kind.value, one.reason].append(name)
    ordered = sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Group(kind, reason, len(names), tuple(sorted(names)[:_EXAMPLES])) for (kind, reason), names in ordered)


def _sentence(judged: Judged, fits: int, makers: tuple[str, ...], held: tuple[HeldClaim, ...]) -> str:
    if not judged:
        return NO_NODES
    message = held[0].reason if held else ", ".join(f"{group.nodes} {group.reason}" for group in _groups(judged))
    because = f": {message}" if message else ""
    made = f" The node pool {', '.join(makers)} would make one." if makers else ""
    return f"{fits}/{len(judged)} nodes are available{because}.{made}"


def _fix(needs: PodNeeds, states: Sequence[NodeState], judged: Judged, makers: tuple[str, ...]) -> str:
    """What opens at least one node with the least: on equal terms the change that opens most nodes."""
    if makers:
        return f"kubectl get nodeclaims  # wait for a node of {', '.join(makers)}"
    if not judged:
        return "add nodes to the cluster"
    ways: dict[tuple[str, ...], list[str]] = defaultdict(list)
    costs: dict[tuple[str, ...], int] = {}
    for name, obstacles in judged.items():
        changes = tuple(one.change for one in obstacles)
        ways[changes].append(name)
        costs[changes] = sum(one.cost for one in obstacles)
    cheapest = min(ways, key=lambda changes: (costs[changes], -len(ways[changes]), changes))
    opened = [state for state in states if state.name in set(ways[cheapest])]
    return "; ".join(_tell(one, needs, opened) for one in judged[opened[0].name])


def _tell(obstacle: Obstacle, needs: PodNeeds, nodes: Sequence[NodeState]) -> str:
    resource = obstacle.resource
    if resource == "pods":
        fullest = max(nodes, key=lambda node: node.allocatable.get("pods", 0))
        return f"make room: {fullest.name} holds {len(fullest.pods)} of {fullest.allocatable.get('pods', 0)} pods"
    if resource:
        roomiest = max(nodes, key=lambda node: _free(node, resource))
        wanted, free = needs.requests[resource], max(_free(roomiest, resource), 0)
        return (
            f"needs {describe_amount(resource, wanted)}, largest free {describe_amount(resource, free)}"
            f" on node {roomiest.name}: request less, or add a larger node"
        )
    return obstacle.change


def _free(node: NodeState, resource: str) -> int:
    return node.allocatable.get(resource, 0) - node.requested.get(resource, 0)


def _would_take(template: NodeTemplate, needs: PodNeeds) -> bool:
    """Whether a node of this pool would be worth making, judged by labels and taints."""
    if template.is_system or needs.node_name or any(_names_nodes(term) for term in needs.required_terms or ()):
        return False
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in template.taints]
    selected = all(template.may_carry(key, value) for key, value in needs.node_selector.items())
    return selected and untolerated(needs.tolerations, taints) is None


def _names_nodes(term: Mapping[str, Any]) -> bool:
    return any(field.get("operator") == "In" for field in term.get("matchFields") or ())


def _unknown(pod: Mapping[str, Any], needs: PodNeeds, usage: Usage) -> Iterable[str]:
    spec = pod.get("spec") or {}
    if not usage.read:
        yield "what other pods use: nodes are judged as if they were empty"
    yield from tell_unjudged_claims(needs, usage)
    if spec.get("resourceClaims"):
        yield "devices of its resourceClaims"
    if any(volume.get("ephemeral") for volume in spec.get("volumes") or ()):
        yield "where its ephemeral volumes can be made"
    if (spec.get("schedulerName") or "") not in _DEFAULT_SCHEDULER:
        yield f"the rules of its scheduler {spec['schedulerName']}"
    selects = any(term.selects_namespaces for term in (*needs.affinity, *needs.anti_affinity))
    if selects and usage.namespaces is None:
        yield "which namespaces its pod (anti-)affinity selects"
    if usage.selects_namespaces and usage.namespaces is None:
        yield "which namespaces the anti-affinity of other pods selects"
