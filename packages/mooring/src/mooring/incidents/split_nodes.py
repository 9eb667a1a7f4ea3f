"""The nodes of a cluster after its node pools were split: some for the cluster's own parts, the rest for work."""

from drydock import NodeTemplate

SYSTEM_NODES = 2
WORK_NODES = 10


def demo_nodes() -> dict[str, NodeTemplate]:
    """Two nodes for the cluster's own parts, ten for work."""
    system = NodeTemplate(
        labels={"node-role.kubernetes.io/control-plane": ""},
        taints=({"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"},),
    )
    work = NodeTemplate(
        labels={"workload": "blast"}, taints=({"key": "workload", "value": "blast", "effect": "NoSchedule"},)
    )
    nodes = {f"system-{number}": system for number in range(1, SYSTEM_NODES + 1)}
    return nodes | {f"work-{number:02}": work for number in range(1, WORK_NODES + 1)}
