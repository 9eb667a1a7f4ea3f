"""Nodes whose own NodeClaim does not bound a drain, and the order in which to replace them.

A NodeClaim keeps the `terminationGracePeriod` that its NodePool had when the NodeClaim was created. After the NodePool
is patched, older nodes stay as they are until they are replaced.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mooring.model.node import Node
from mooring.model.pool import Protection

_NAMED = 20
_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class UnboundedNode:
    """A node whose drain can last for ever, or ends before a worker's grace is over."""

    node: Node
    protected: int  # protected workers of all pools on it

    @property
    def free(self) -> bool:
        """Whether a drain would end at once, if no session begins before it."""
        return not self.protected

    def __str__(self) -> str:
        bound = self.node.drain_bound
        kept = "unbounded" if bound is None or bound.seconds is None else f"{bound.seconds} s"
        held = f"{self.protected} protected worker(s)" if self.protected else "no protected worker"
        draining = ", draining already" if self.node.draining_because else ""
        return f"{self.node.name} ({kept}, {held}{draining})"


def find_unbounded_nodes(
    nodes: Iterable[Node], protection: Protection, protected: Mapping[str, int]
) -> tuple[UnboundedNode, ...]:
    """Judge each node by its own NodeClaim. Returned in the order of replacement: what blocks least comes first.

    Nodes that drain already come first, then those without a protected worker, then those with the fewest; the oldest
    first among equals.
    """
    found = [
        UnboundedNode(node, protected.get(node.name, 0))
        for node in nodes
        if node.drain_bound is not None and not is_bounded(node.drain_bound.seconds, protection)
    ]
    return tuple(
        sorted(
            found,
            key=lambda one: (
                not one.node.claim_terminating,
                one.protected,
                one.node.created_at.timestamp() if one.node.created_at else 0.0,
                one.node.name,
            ),
        )
    )


def is_bounded(seconds: int | None, protection: Protection) -> bool:
    """Whether a drain ends, and not before a worker's grace is over."""
    return seconds is not None and seconds >= protection.grace_seconds


def describe_nodes(found: tuple[UnboundedNode, ...]) -> str:
    """All of them in their order."""
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return (
        f"{len(found)} node(s) keep the terminationGracePeriod that their NodeClaim was created with, which is missing"
        f" or too short; replace them in this order: {', '.join(map(str, found[:_NAMED]))}{more}"
    )


def plan_replacement(found: tuple[UnboundedNode, ...]) -> str:
    """The next command: replace closed nodes that are free one after another, or close the next nodes.

    A node that is open is never deleted, nor one with a protected worker: with too short a bound, a session that began
    after this was printed would be killed. A closed node gets no new session, so it stays free.
    """
    waiting = [one for one in found if not one.node.claim_terminating]
    closed = [one for one in waiting if one.node.draining_because]
    free = [one.node.drain_bound.node_claim for one in closed if one.free and one.node.drain_bound is not None]
    if free:
        # kubectl waits until each one is gone before it begins with the next.
        return " && ".join(f"kubectl delete nodeclaim {name}" for name in free[:_AT_ONCE])
    opened = [one for one in waiting if not one.node.draining_because]
    if opened:
        chosen = [one.node.name for one in opened if one.free][:_AT_ONCE] or [opened[0].node.name]
        return f"kubectl cordon {' '.join(chosen)}"
    return f"mooring drain-check {found[0].node.name}"
