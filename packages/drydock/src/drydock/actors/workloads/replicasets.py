"""The ReplicaSet controller: keeps as many pods as asked for, and lets the least useful go first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from drydock.actors.machinery.events import Broadcaster
from drydock.actors.machinery.informers import BY_CONTROLLER, BY_NAMESPACE, Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import (
    Key,
    Object,
    controller_of,
    controller_uid,
    find_condition,
    is_terminating,
    key_of,
    labels_of,
    namespace_of,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.own_writes import OwnWrites
from drydock.actors.machinery.pods import available_in, is_active, is_leaving, is_ready, node_name_of, victims
from drydock.actors.workloads.owned_pods import OwnedPods
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import KubeError
from hawser.fitting.selectors import compile_selector
from hawser.resources import REPLICASETS
from hawser.views.base import format_time

_SETS = REPLICASETS.raw()
_MOST_PODS_A_SYNC = 500


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    """How many pods to create, or which to delete."""

    create: int = 0
    delete: tuple[Object, ...] = ()


def plan_replicas(
    replica_set: Object, active: Sequence[Object], related: Sequence[Object], now: datetime
) -> ReplicaPlan:
    """`related` are the pods of all ReplicaSets of the same owner: a pod among many of them on a node is spare."""
    surplus = len(active) - _replicas(replica_set)
    if surplus < 0:
        return ReplicaPlan(create=min(-surplus, _MOST_PODS_A_SYNC))
    if surplus == 0:
        return ReplicaPlan()
    neighbours: dict[str, int] = {}
    for pod in related:
        if is_active(pod):
            neighbours[node_name_of(pod)] = neighbours.get(node_name_of(pod), 0) + 1
    return ReplicaPlan(delete=tuple(victims(active, min(surplus, _MOST_PODS_A_SYNC), neighbours, now)))


def compute_status(replica_set: Object, active: Sequence[Object], leaving: int, failure: str, now: datetime) -> Object:
    """Counts, and whether the last attempt to create or delete failed."""
    spec = spec_of(replica_set)
    wanted = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    min_ready = spec.get("minReadySeconds", 0)
    counts = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(1 for pod in active if wanted.items() <= labels_of(pod).items()),
        "readyReplicas": sum(1 for pod in active if is_ready(pod)),
        "availableReplicas": sum(1 for pod in active if available_in(pod, min_ready, now) == 0.0),
    }
    status = {key: count for key, count in counts.items() if count or key == "replicas"}
    status["terminatingReplicas"] = leaving
    status["observedGeneration"] = replica_set["metadata"].get("generation", 0)
    conditions = _conditions(replica_set, len(active), failure, now)
    return {**status, "conditions": conditions} if conditions else status


def next_availability(replica_set: Object, active: Sequence[Object], now: datetime) -> float | None:
    """Seconds until the next ready pod has been ready for `minReadySeconds`."""
    min_ready = spec_of(replica_set).get("minReadySeconds", 0)
    waits = [wait for pod in active if (wait := available_in(pod, min_ready, now))]
    return min(waits, default=None)


def _shape(pod: Object) -> tuple[object, ...]:
    """What of a pod decides whether it counts, as what, and who is let go first."""
    status = status_of(pod)
    return (
        is_terminating(pod),
        node_name_of(pod),
        status.get("phase"),
        find_condition(status.get("conditions"), "Ready"),
        [entry.get("restartCount") for entry in status.get("containerStatuses") or ()],
    )


class ReplicaSetController:
    """Keeps ReplicaSets true to their size."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock, events: Broadcaster) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._recorder = events.recorder("replicaset-controller")
        self._pods = OwnedPods(client, informers, self._recorder, clock, _SETS)
        self._own_statuses = OwnWrites(clock)
        self.loop: ReconcileLoop[Key] = ReconcileLoop("replicasets", self._reconcile, clock)
        informers.replica_sets.subscribe(self._on_set)
        informers.pods.subscribe(self._on_pod)

    def _on_set(self, change: Change[Object]) -> None:
        one = change.latest
        if change.new is None:
            self._own_statuses.forget_owner(uid_of(one))
            self._pods.writes.forget_owner(uid_of(one))
        self.loop.add(key_of(one))

    def _on_pod(self, change: Change[Object]) -> None:
        if change.new is None and change.old is not None and (owner := controller_of(change.old)) is not None:
            self._pods.writes.gone(owner["uid"], uid_of(change.old))
        if change.old is not None and change.new is not None and self._looks_the_same(change.old, change.new):
            return
        for pod in (change.old, change.new):
            owner = controller_of(pod) if pod is not None else None
            if pod is not None and owner is not None and owner.get("kind") == "ReplicaSet":
                self.loop.add((namespace_of(pod), owner["name"]))
        if change.new is not None and not controller_uid(change.new) and not is_terminating(change.new):
            for one in self._informers.replica_sets.cache.by_index(BY_NAMESPACE, namespace_of(change.new)):
                if compile_selector(spec_of(one).get("selector"))(labels_of(change.new)):
                    self.loop.add(key_of(one))

    def _looks_the_same(self, old: Object, new: Object) -> bool:
        """Whether nothing changed that a ReplicaSet looks at: a fleet's pods are labelled all the time."""
        if controller_of(old) != controller_of(new) or _shape(old) != _shape(new):
            return False
        before, after = labels_of(old), labels_of(new)
        if before == after:
            return True
        owner = controller_of(new)
        one = self._informers.replica_sets.cache.get(namespace_of(new), owner["name"]) if owner else None
        if one is None:
            return False
        named = ((spec_of(one).get("template") or {}).get("metadata") or {}).get("labels") or {}
        matches = compile_selector(spec_of(one).get("selector"))
        same = all(before.get(key) == after.get(key) for key in named)
        return same and matches(before) == matches(after)

    async def _reconcile(self, key: Key) -> float | None:
        cached = self._informers.replica_sets.cache.get(*key)
        if cached is None:
            return None
        one = self._own_statuses.over(uid_of(cached), [cached])[0]
        claimed = await self._pods.claim(one, compile_selector(spec_of(one).get("selector")))
        now = self._clock.now()
        plan = ReplicaPlan()
        if not is_terminating(one):
            plan = plan_replicas(one, [pod for pod in claimed if is_active(pod)], self._related(one), now)
        failure: KubeError | None = None
        try:
            if plan.create:
                await self._pods.create(one, [spec_of(one)["template"]] * plan.create)
            if plan.delete:
                await self._pods.delete(one, plan.delete)
        except KubeError as error:  # the status reports it first
            failure = error
        pods = self._pods.of(one)
        active = [pod for pod in pods if is_active(pod)]
        leaving = sum(1 for pod in pods if is_leaving(pod))
        status = compute_status(one, active, leaving, failure.message if failure else "", now)
        if status != status_of(one):
            written = await self._client.update(_SETS, {**one, "status": status}, subresource="status")
            self._own_statuses.wrote(uid_of(one), written)
        if failure is not None:
            raise failure
        return next_availability(one, active, now)

    def _related(self, one: Object) -> list[Object]:
        owner = controller_uid(one)
        siblings = self._informers.replica_sets.cache.by_index(BY_CONTROLLER, owner) if owner else [one]
        return [
            pod for sibling in siblings for pod in self._informers.pods.cache.by_index(BY_CONTROLLER, uid_of(sibling))
        ]


def _replicas(replica_set: Object) -> int:
    value = spec_of(replica_set).get("replicas")
    return 1 if value is None else int(value)


def _conditions(replica_set: Object, active: int, failure: str, now: datetime) -> list[Object]:
    current: list[Object] = status_of(replica_set).get("conditions") or []
    if not failure:
        return [one for one in current if one.get("type") != "ReplicaFailure"]
    if find_condition(current, "ReplicaFailure") is not None:
        return current
    reason = "FailedCreate" if active < _replicas(replica_set) else "FailedDelete"
    new = {"type": "ReplicaFailure", "status": "True", "lastTransitionTime": format_time(now)}
    return [*current, {**new, "reason": reason, "message": failure}]
