"""Removes pods nobody else will: on nodes that are gone, on nodes out of service, unscheduled, or finished long ago."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from drydock.actors.machinery.informers import BY_NODE, TERMINATING, Informers
from drydock.actors.machinery.objects import (
    Object,
    condition_is_true,
    created_at,
    is_terminating,
    name_of,
    namespace_of,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.pod_conditions import set_pod_condition
from drydock.actors.machinery.pods import is_finished, node_name_of
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import NODES, PODS

_CHECK_SECONDS = 20.0
_QUARANTINE_SECONDS = 40.0
_MOST_FINISHED = 12_500
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_PODS = PODS.raw()

_NODE_GONE: Object = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}


@dataclass(frozen=True, slots=True)
class Doomed:
    """A pod to be removed at once, and the condition that says why."""

    pod: Object
    condition: Object | None = None


def plan_cleaning(
    pods: Sequence[Object], nodes: Mapping[str, Object], gone: Sequence[str], most_finished: int = _MOST_FINISHED
) -> list[Doomed]:
    """`gone` are node names proven absent."""
    doomed: list[Doomed] = []
    absent = frozenset(gone)
    finished = [pod for pod in pods if is_finished(pod)]
    if len(finished) > most_finished:
        oldest = sorted(finished, key=lambda pod: (not _was_evicted(pod), created_at(pod), name_of(pod)))
        doomed += [Doomed(pod) for pod in oldest[: len(finished) - most_finished]]
    for pod in pods:
        node = node_name_of(pod)
        if node in absent:
            doomed.append(Doomed(pod, _NODE_GONE))
        elif is_terminating(pod) and (not node or _is_out_of_service(nodes.get(node))):
            doomed.append(Doomed(pod))
    return doomed


def _was_evicted(pod: Object) -> bool:
    return bool(status_of(pod).get("phase") == "Failed" and status_of(pod).get("reason") == "Evicted")


def _is_out_of_service(node: Object | None) -> bool:
    if node is None or condition_is_true(node, "Ready"):
        return False
    return any(taint["key"] == _OUT_OF_SERVICE for taint in spec_of(node).get("taints") or ())


class PodCollector:
    """Looks every twenty seconds, as the real one does: a node is given forty to show up again."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._missing_since: dict[str, float] = {}

    async def run(self) -> None:
        """Clean until cancelled."""
        await self._informers.wait_synced()
        while True:
            await self._clean()
            await self._clock.sleep(_CHECK_SECONDS)

    async def _clean(self) -> None:
        nodes = {name_of(node): node for node in self._informers.nodes.cache.values()}
        gone = await self._gone_nodes(nodes)
        for doomed in plan_cleaning(self._candidates(gone), nodes, gone):
            try:
                await self._remove(doomed)
            except KubeError:
                continue  # the next round sees it again

    def _candidates(self, gone: Sequence[str]) -> Sequence[Object]:
        """All pods when there may be too many, else those of vanished nodes and those on their way out."""
        cache = self._informers.pods.cache
        if len(cache) > _MOST_FINISHED:
            return cache.values()
        found = [*cache.by_index(TERMINATING, ""), *(pod for name in gone for pod in cache.by_index(BY_NODE, name))]
        return list({uid_of(pod): pod for pod in found}.values())

    async def _gone_nodes(self, nodes: Mapping[str, Object]) -> list[str]:
        """Nodes that pods name, that were missing through the quarantine, and that a live look does not find."""
        now = self._clock.monotonic()
        missing = [name for name in self._informers.pods.cache.index_keys(BY_NODE) if name not in nodes]
        self._missing_since = {name: self._missing_since.get(name, now) for name in missing}
        gone: list[str] = []
        for name, since in self._missing_since.items():
            if now - since >= _QUARANTINE_SECONDS and not await self._exists(name):
                gone.append(name)
        return gone

    async def _exists(self, name: str) -> bool:
        try:
            await self._client.get(NODES, name)
        except ObjectNotFound:
            return False
        except KubeError:
            return True  # only a 404 proves absence
        return True

    async def _remove(self, doomed: Doomed) -> None:
        """Mark the pod failed first: no kubelet is left to do it, and its Job has to know."""
        pod = doomed.pod
        try:
            if not is_finished(pod):
                failed = {"phase": "Failed", "observedGeneration": pod["metadata"].get("generation", 1)}
                if doomed.condition is not None:
                    await set_pod_condition(self._client, self._clock, pod, doomed.condition, failed)
                else:
                    patch = {"metadata": {"uid": uid_of(pod)}, "status": failed}
                    await self._client.merge_patch(_PODS, name_of(pod), patch, namespace_of(pod), subresource="status")
            await self._client.delete(_PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod), grace_seconds=0)
        except ObjectNotFound:
            return
