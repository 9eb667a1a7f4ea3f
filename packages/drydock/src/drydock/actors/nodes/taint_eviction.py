"""Taint eviction: pods that do not tolerate a NoExecute taint of their node are deleted, some after a while."""

from collections.abc import Sequence

from drydock.actors.machinery.events import Broadcaster, Note
from drydock.actors.machinery.informers import BY_NODE, Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import Key, Object, is_terminating, key_of, name_of, namespace_of, spec_of, uid_of
from drydock.actors.machinery.pod_conditions import set_pod_condition
from drydock.actors.machinery.pods import node_name_of
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import ObjectNotFound
from hawser.fitting.matching import covers
from hawser.resources import PODS

_PODS = PODS.raw()
_EVICTED: Object = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


def patience(tolerations: Sequence[Object], taints: Sequence[Object]) -> float | None:
    """How many seconds a pod may stay under these NoExecute taints; None for ever, 0 not at all."""
    shortest: float | None = None
    for taint in taints:
        used = next((one for one in tolerations if covers(one, taint)), None)
        if used is None:
            return 0.0
        if used.get("tolerationSeconds") is not None:
            seconds = max(0.0, float(used["tolerationSeconds"]))
            shortest = seconds if shortest is None else min(shortest, seconds)
    return shortest


def execute_taints(node: Object | None) -> list[Object]:
    if node is None:
        return []
    return [one for one in spec_of(node).get("taints") or () if one.get("effect") == "NoExecute"]


class TaintEvictor:
    """Evicts by taint; patience counts from when the taint was first seen on the pod's node."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock, events: Broadcaster) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._recorder = events.recorder("taint-eviction-controller")
        self._since: dict[Key, float] = {}  # pods with a planned eviction, and since when
        self.loop: ReconcileLoop[Key] = ReconcileLoop("taint-eviction", self._evict, clock)
        informers.nodes.subscribe(self._on_node)
        informers.pods.subscribe(self._on_pod)

    def _on_node(self, change: Change[Object]) -> None:
        if change.new is not None and execute_taints(change.old) != execute_taints(change.new):
            for pod in self._informers.pods.cache.by_index(BY_NODE, name_of(change.new)):
                self._plan(pod, execute_taints(change.new))

    def _on_pod(self, change: Change[Object]) -> None:
        if change.new is None:
            assert change.old is not None
            self._since.pop(key_of(change.old), None)
            self.loop.forget_wish(key_of(change.old))
            return
        moved = change.old is None or node_name_of(change.old) != node_name_of(change.new)
        if moved and node_name_of(change.new):
            taints = execute_taints(self._informers.nodes.cache.get("", node_name_of(change.new)))
            if taints:
                self._plan(change.new, taints)

    def _plan(self, pod: Object, taints: Sequence[Object]) -> None:
        key = key_of(pod)
        seconds = patience(spec_of(pod).get("tolerations") or (), taints) if taints else None
        if seconds is None:
            if self._since.pop(key, None) is not None:
                self.loop.forget_wish(key)
                self._tell(pod, f"Cancelling deletion of Pod {namespace_of(pod)}/{name_of(pod)}")
            return
        now = self._clock.monotonic()
        since = self._since.setdefault(key, now)
        self.loop.add_after(key, since + seconds - now)

    async def _evict(self, key: Key) -> float | None:
        pod = self._informers.pods.cache.get(*key)
        if pod is None or key not in self._since:
            return None
        if not is_terminating(pod):
            self._tell(pod, f"Marking for deletion Pod {namespace_of(pod)}/{name_of(pod)}")
            try:
                await set_pod_condition(self._client, self._clock, pod, _EVICTED)
                await self._client.delete(_PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod))
            except ObjectNotFound:
                return None
        self._since.pop(key, None)
        return None

    def _tell(self, pod: Object, message: str) -> None:
        self._recorder.record(Note(pod, "Pod", "v1", "Normal", "TaintManagerEviction", message))
