"""Emptying a node as Karpenter does: a taint keeps new pods away, the Eviction API asks the old ones to go.

A budget's refusal is asked again, never bypassed; only at the deadline is what is left deleted by force.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from math import inf

from drydock.actors.machinery.objects import (
    Key,
    Object,
    annotations_of,
    controller_of,
    is_terminating,
    key_of,
    name_of,
    namespace_of,
    spec_of,
    uid_of,
)
from drydock.actors.machinery.pods import is_finished
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import (
    EvictionBlocked,
    ObjectConflict,
    ObjectNotFound,
    ServerFailed,
    TooManyRequests,
)
from hawser.fitting.matching import tolerates
from hawser.resources import NODES, PODS

DISRUPTED: Object = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
_MIRROR = "kubernetes.io/config.mirror"
_PODS = PODS.raw()
_NODES = NODES.raw()


@dataclass(frozen=True, slots=True)
class DrainPolicy:
    """How a node is emptied."""

    settle_seconds: float = 0.0  # between the taint and the first eviction
    deadline_seconds: float | None = 300.0  # a NodePool's terminationGracePeriod; None waits for ever
    retry_seconds: float = 5.0
    waits_for_protected: bool = True  # pods marked do-not-disrupt are left alone until the deadline


@dataclass(slots=True)
class DrainReport:
    """What became of the pods of a node."""

    node: str
    evicted: list[Key] = field(default_factory=list)
    refusals: int = 0
    forced: list[Key] = field(default_factory=list)
    seconds: float = 0.0


def is_drainable(pod: Object) -> bool:
    """Whether the pod has to go before the node can: not finished ones, daemons, static pods, or those that stay on."""
    owner = controller_of(pod)
    if is_finished(pod) or _MIRROR in annotations_of(pod) or (owner is not None and owner.get("kind") == "DaemonSet"):
        return False
    return not tolerates(spec_of(pod).get("tolerations") or (), DISRUPTED)


def is_protected(pod: Object) -> bool:
    return annotations_of(pod).get(DO_NOT_DISRUPT) == "true"


async def taint_node(client: KubeClient, name: str, taint: Object) -> None:
    """Put the taint on the node, whatever else is written there meanwhile."""
    while True:
        node = await client.get(_NODES, name)
        taints = spec_of(node).get("taints") or []
        if any((one["key"], one["effect"]) == (taint["key"], taint["effect"]) for one in taints):
            return
        fence = {"uid": uid_of(node), "resourceVersion": node["metadata"]["resourceVersion"]}
        try:
            await client.merge_patch(_NODES, name, {"metadata": fence, "spec": {"taints": [*taints, taint]}})
            return
        except ObjectConflict:
            continue


class Drain:
    """One node being emptied."""

    def __init__(self, client: KubeClient, clock: Clock, node: str, policy: DrainPolicy) -> None:
        self._client = client
        self._clock = clock
        self._policy = policy
        self.report = DrainReport(node)

    async def run(self) -> DrainReport:
        """Taint, evict until nothing drainable is left, and force what is left at the deadline."""
        begin = self._clock.monotonic()
        deadline = inf if self._policy.deadline_seconds is None else begin + self._policy.deadline_seconds
        await taint_node(self._client, self.report.node, DISRUPTED)
        await self._clock.sleep(self._policy.settle_seconds)
        while pods := await self._drainable():
            left = deadline - self._clock.monotonic()
            for pod in pods:
                await (self._evict(pod) if left > 0 else self._force(pod))
            with suppress(ObjectNotFound):  # the Node may be gone before its pods
                await taint_node(self._client, self.report.node, DISRUPTED)  # a restored cluster shows it without
            await self._clock.sleep(min(self._policy.retry_seconds, left) if left > 0 else self._policy.retry_seconds)
        self.report.seconds = self._clock.monotonic() - begin
        return self.report

    async def _drainable(self) -> list[Object]:
        selector = f"spec.nodeName={self.report.node}"
        found = await self._client.list(_PODS, field_selector=selector)
        return [pod for pod in found.items if is_drainable(pod)]

    async def _evict(self, pod: Object) -> None:
        if is_terminating(pod) or (self._policy.waits_for_protected and is_protected(pod)):
            return
        try:
            await self._client.evict(name_of(pod), namespace_of(pod), uid=uid_of(pod))
        except (EvictionBlocked, TooManyRequests, ServerFailed):
            self.report.refusals += 1  # 500 means that two budgets select the pod: no eviction either
        except (ObjectNotFound, ObjectConflict):
            return
        else:
            self.report.evicted.append(key_of(pod))

    async def _force(self, pod: Object) -> None:
        try:
            await self._client.delete(_PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod), grace_seconds=0)
        except (ObjectNotFound, ObjectConflict):
            return
        self.report.forced.append(key_of(pod))
