"""From Kubernetes views of nodes and node pools to Mooring's own words."""

from hawser import views
from hawser.quantity import count_of
from hawser.views import find_condition
from mooring.kinds import karpenter
from mooring.model import names
from mooring.model.duration import parse_duration
from mooring.model.errors import InvalidInput
from mooring.model.node import Node, NodeTemplate, Taint
from mooring.planning.actions import earliest


def node_from_view(node: views.Node) -> Node:
    """A node without what changes at every heartbeat."""
    ready = find_condition(node.status.conditions, "Ready")
    return Node(
        name=node.metadata.name,
        uid=node.metadata.uid,
        labels=node.metadata.labels,
        taints=tuple(Taint(taint.key, taint.value, taint.effect) for taint in node.spec.taints),
        unschedulable=node.spec.unschedulable,
        ready=ready is not None and ready.status == "True",
        ready_since=ready.last_transition_time if ready else None,
        terminating=node.terminating,
        draining_since=earliest(
            node.metadata.deletion_timestamp,
            *(taint.time_added for taint in node.spec.taints if taint.key in names.DRAINING_TAINTS),
        ),
        created_at=node.metadata.creation_timestamp,
        allocatable={name: _offered(name, text) for name, text in node.status.allocatable.items()},
    )


def _offered(resource: str, text: str) -> int:
    """How much a node offers, rounded as Kubernetes does; a value that cannot be parsed counts as zero."""
    try:
        return count_of(resource, text)
    except InvalidInput:
        return 0


def template_from_node_pool(node_pool: karpenter.NodePool) -> NodeTemplate:
    """What the nodes of a Karpenter NodePool will carry. Startup taints are left out: they go before pods come."""
    template = node_pool.spec.template
    labels: dict[str, frozenset[str] | None] = {
        key: frozenset((value,)) for key, value in template.metadata.labels.items()
    }
    for requirement in template.spec.requirements:
        match requirement.operator:
            case "In":
                labels[requirement.key] = frozenset(requirement.values)
            case "DoesNotExist":
                labels[requirement.key] = frozenset()
            case _:
                labels.setdefault(requirement.key, None)
    labels[names.KARPENTER_POOL] = frozenset((node_pool.metadata.name,))
    taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in template.spec.taints)
    grace = parse_duration(template.spec.termination_grace_period)
    return NodeTemplate(node_pool.metadata.name, labels, taints, grace)
