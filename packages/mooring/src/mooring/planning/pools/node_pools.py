"""NodePools of Karpenter whose termination grace period does not fit the protection of workers.

Without `terminationGracePeriod` a pod marked do-not-disrupt blocks node rolls for ever (incident drift-roll). If it is
shorter than the grace period of a worker, the node is removed before the worker can finish.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from mooring.model.node import NodeTemplate
from mooring.model.pool import Protection
from mooring.planning.pools.node_claims import is_bounded


@dataclass(frozen=True, slots=True)
class UnboundedNodePool:
    """A NodePool whose drains are unbounded or too short for a pool's protection, and the command that corrects it."""

    node_pool: str
    message: str
    fix: str


def find_unbounded_node_pools(
    templates: Iterable[NodeTemplate], protection: Protection
) -> tuple[UnboundedNodePool, ...]:
    """Compare NodePools with the protection of the workers that run there."""
    wanted = protection.ceiling_seconds + protection.grace_seconds
    found = []
    for template in sorted(templates, key=lambda template: template.pool):
        bound = template.termination_grace_seconds
        if bound is None:
            message = (
                f"NodePool {template.pool} has no terminationGracePeriod: a protected pod may hold a node for ever"
            )
        elif not is_bounded(bound, protection):
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
