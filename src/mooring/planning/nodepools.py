"""Whether Karpenter itself ends a drain in time: without its own bound, or with one that is too short, nothing helps.

With no `terminationGracePeriod` a pod marked do-not-disrupt blocks security rolls for ever (drift-roll). With one that
is shorter than a pod's grace, the node is gone before the pod could finish.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.model.node import NodeTemplate
from mooring.model.pool import Protection


@dataclass(frozen=True, slots=True)
class UnboundedNodePool:
    """A NodePool that does not bound a drain as a pool's protection needs it, and the command that makes it do so."""

    node_pool: str
    message: str
    fix: str


def find_unbounded_node_pools(
    templates: Iterable[NodeTemplate], protection: Protection
) -> tuple[UnboundedNodePool, ...]:
    """Judged against the protection of the workers that run there."""
    wanted = protection.ceiling_seconds + protection.grace_seconds
    found = []
    for template in sorted(templates, key=lambda template: template.pool):
        bound = template.termination_grace_seconds
        if bound is None:
            message = (
                f"NodePool {template.pool} has no terminationGracePeriod: a protected pod may hold a node for ever"
            )
        elif bound < protection.grace_seconds:
            message = (
                f"NodePool {template.pool} ends drains after {bound} s, "
                f"before a worker's grace of {protection.grace_seconds} s is over"
            )
        else:
            continue
        found.append(UnboundedNodePool(template.pool, message, _fix(template.pool, wanted)))
    return tuple(found)


def _fix(node_pool: str, seconds: int) -> str:
    patch = f'{{"spec":{{"template":{{"spec":{{"terminationGracePeriod":"{seconds}s"}}}}}}}}'
    return f"kubectl patch nodepool {node_pool} --type merge -p '{patch}'"
