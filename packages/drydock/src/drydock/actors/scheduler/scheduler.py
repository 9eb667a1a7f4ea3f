"""The scheduler: binds each pending pod to the best node, or says on the pod why there is none.

It looks again only when something changed that may help: a node that grew or lost a pod, a volume, the pod itself;
and, as kube-scheduler does, every five minutes. Of pods that ask for the same, one at a time is tried.
"""

import asyncio

import msgspec

from drydock.actors.machinery.events import Broadcaster, Note, Weight
from drydock.actors.machinery.informers import Informers
from drydock.actors.machinery.objects import (
    Key,
    Object,
    is_terminating,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.pod_conditions import set_pod_condition
from drydock.actors.machinery.pods import is_finished, node_name_of
from drydock.actors.scheduler.placement import Decision, Placement
from drydock.actors.scheduler.preemption import Preemption, no_node_message
from drydock.actors.scheduler.queue import SchedulingQueue
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.errors import KubeError, ObjectConflict, ObjectNotFound
from hawser.fitting.needs import PodNeeds, read_needs
from hawser.fitting.volumes import BoundVolume, read_volume
from hawser.resources import PODS

SCHEDULER_NAME = "default-scheduler"
_LOOK_AGAIN_SECONDS = 300.0
_LOOK_AGAIN_EVERY_SECONDS = 30.0
_WRITES_AT_ONCE = 32
_PODS = PODS.raw()


class Scheduler:
    """Places pods."""

    def __init__(
        self, client: KubeClient, informers: Informers, clock: Clock, events: Broadcaster, entropy: Entropy
    ) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._recorder = events.recorder(SCHEDULER_NAME)
        self._placement = Placement(entropy, self._namespace_labels)
        self._bell = asyncio.Event()
        self._queue = SchedulingQueue(clock, self._bell.set)
        self._pending: dict[str, tuple[Key, PodNeeds, bytes]] = {}  # by uid, with what the pod asks for as bytes
        self._parked_since: dict[str, float] = {}
        self._woken_for: dict[str, str] = {}  # pod uid -> the node that might have room now
        self._improved: dict[str, None] = {}  # nodes that may take a parked pod now
        self._victims: dict[str, list[str]] = {}  # pod uid -> the pods that are evicted to make room for it
        self._writes = asyncio.Semaphore(_WRITES_AT_ONCE)
        informers.nodes.subscribe(self._on_node)
        informers.pods.subscribe(self._on_pod)
        informers.claims.subscribe(self._on_volume)
        informers.volumes.subscribe(self._on_volume)

    async def run(self) -> None:
        """Schedule until cancelled."""
        await self._informers.wait_synced()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._look_again(), name="scheduler-look-again")
                while True:
                    await self._bell.wait()
                    self._bell.clear()
                    self._wake_parked()
                    while (uid := self._queue.pop()) is not None:
                        self._schedule(uid, group)
                        await self._clock.sleep(0)  # let others take a turn between two decisions
        finally:
            self._queue.stop()

    # -- what happened

    def _on_node(self, change: Change[Object]) -> None:
        if change.new is None:
            assert change.old is not None
            self._placement.forget_node(name_of(change.old))
        elif self._placement.describe(change.new):
            self._improve(name_of(change.new))

    def _on_pod(self, change: Change[Object]) -> None:
        pod = change.latest
        uid = uid_of(pod)
        if change.new is None or is_finished(pod):
            self._leave(uid)
        elif node_name_of(pod):
            self._settle(uid)
            self._seat(pod, change.old)
        elif is_terminating(pod) or spec_of(pod).get("schedulingGates"):
            self._leave(uid)
        elif _is_ours(pod) and not self._placement.place_of(uid) and self._is_news(uid, change):
            self._enter(pod)

    def _seat(self, pod: Object, before: Object | None) -> None:
        """It holds its place until it is gone; but one that is leaving does not count for spreading any more."""
        leaves = is_terminating(pod) and (before is None or not is_terminating(before))
        if leaves or self._placement.place_of(uid_of(pod)) != node_name_of(pod):
            self._placement.place(read_needs(pod), node_name_of(pod))
        if leaves:
            self._improve(node_name_of(pod))

    def _on_volume(self, change: Change[Object]) -> None:
        for uid in self._queue.parked():
            if self._pending[uid][1].claims:
                self._queue.wake(uid)

    def _is_news(self, uid: str, change: Change[Object]) -> bool:
        """A pod seen for the first time, or one that asks for something else now; its status is nothing new."""
        if uid not in self._pending or change.old is None or change.new is None:
            return True
        return spec_of(change.old) != spec_of(change.new) or labels_of(change.old) != labels_of(change.new)

    def _enter(self, pod: Object) -> None:
        needs = read_needs(pod)
        self._pending[needs.uid] = (key_of(pod), needs, _shape(pod, needs))
        self._parked_since.pop(needs.uid, None)
        self._queue.add(needs.uid, needs.priority)

    def _settle(self, uid: str) -> None:
        """The pod waits no longer."""
        self._queue.drop(uid)
        self._pending.pop(uid, None)
        self._parked_since.pop(uid, None)
        self._victims.pop(uid, None)
        if origin := self._woken_for.pop(uid, ""):
            self._improve(origin)  # another pod that asks for the same may want what this one was woken for

    def _leave(self, uid: str) -> None:
        """The pod is gone, finished, or out of our hands."""
        self._settle(uid)
        if freed := self._placement.displace(uid):
            self._improve(freed)

    def _improve(self, node: str) -> None:
        if self._parked_since:
            self._improved[node] = None
            self._bell.set()

    # -- what to look at

    def _wake_parked(self) -> None:
        """For each node that improved, one pod of each shape that might fit there now.

        Once that pod is settled the node is looked at again, for the next one.
        """
        improved = [state for name in self._improved if (state := self._placement.node(name)) is not None]
        self._improved.clear()
        if not improved:
            return
        shapes: dict[bytes, list[str]] = {}
        for uid in self._queue.parked():
            shapes.setdefault(self._pending[uid][2], []).append(uid)
        for uids in shapes.values():
            needs = self._pending[uids[0]][1]
            volumes = self._volumes(needs)
            if isinstance(volumes, str):
                continue
            fitting = [state.name for state in improved if self._placement.might_fit(needs, state, volumes)]
            if needs.has_topology_constraints and fitting:
                fitting = [fitting[0]] * len(uids)
            for uid, name in zip(uids, fitting, strict=False):
                self._woken_for[uid] = name
                self._queue.wake(uid)

    async def _look_again(self) -> None:
        while True:
            await self._clock.sleep(_LOOK_AGAIN_EVERY_SECONDS)
            now = self._clock.monotonic()
            for uid, since in list(self._parked_since.items()):
                if now - since >= _LOOK_AGAIN_SECONDS:
                    self._queue.wake(uid)

    # -- what to do

    def _schedule(self, uid: str, group: asyncio.TaskGroup) -> None:
        key, needs, _ = self._pending[uid]
        pod = self._informers.pods.cache.get(*key)
        if pod is None or uid_of(pod) != uid:
            return  # its deletion is on the way
        volumes = self._volumes(needs)
        if isinstance(volumes, str):
            nodes = len(self._placement.nodes())
            decision = Decision(message=f"{no_node_message(nodes, {})} {volumes}. not found")
        else:
            decision = self._placement.decide(needs, volumes, self._victims_linger(uid))
        if decision.node:
            self._settle(uid)
            self._improve(decision.node)
            self._placement.place(needs, decision.node)
            group.create_task(self._bind(pod, needs, decision.node))
            return
        self._woken_for.pop(uid, None)
        self._parked_since[uid] = self._clock.monotonic()
        self._queue.park(uid)
        preemption = decision.preemption
        if preemption is not None:
            self._placement.nominate(needs, preemption.node)
            self._victims[uid] = [victim.uid for victim in preemption.victims]
            group.create_task(self._preempt(pod, preemption))
        group.create_task(self._explain(pod, decision.message, preemption.node if preemption else ""))

    async def _bind(self, pod: Object, needs: PodNeeds, node: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name_of(pod), "namespace": namespace_of(pod), "uid": uid_of(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            async with self._writes:
                await self._client.create(_PODS, body, subresource="binding")
        except (ObjectNotFound, ObjectConflict):
            self._leave(needs.uid)  # it went away or is bound already; the cache will show it
        except KubeError:
            self._leave(needs.uid)
            self._retry(pod)
        else:
            message = f"Successfully assigned {namespace_of(pod)}/{name_of(pod)} to {node}"
            self._tell(pod, "Normal", "Scheduled", message, "Binding")

    def _retry(self, pod: Object) -> None:
        """The outcome is unknown: try again after the back-off, unless the cache shows the pod bound by then."""
        self._enter(pod)
        self._queue.park(uid_of(pod))
        self._queue.wake(uid_of(pod))

    async def _explain(self, pod: Object, message: str, nominated: str) -> None:
        self._tell(pod, "Warning", "FailedScheduling", message, "Scheduling")
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        also = {"nominatedNodeName": nominated} if nominated or status_of(pod).get("nominatedNodeName") else None
        try:
            async with self._writes:
                await set_pod_condition(self._client, self._clock, pod, condition, also)
        except (ObjectNotFound, ObjectConflict):
            return  # the pod moved on
        except KubeError:
            self._queue.wake(uid_of(pod))

    async def _preempt(self, pod: Object, preemption: Preemption) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{SCHEDULER_NAME}: preempting to accommodate a higher priority pod",
        }
        for victim in preemption.victims:
            found = self._informers.pods.cache.get(victim.namespace, victim.name)
            if found is None or uid_of(found) != victim.uid or is_terminating(found):
                continue
            try:
                async with self._writes:
                    await set_pod_condition(self._client, self._clock, found, condition)
                    await self._client.delete(_PODS, victim.name, victim.namespace, uid=victim.uid)
            except ObjectNotFound:
                continue
            except KubeError:
                self._queue.wake(uid_of(pod))
                return
            message = f"Preempted by pod {uid_of(pod)} on node {preemption.node}"
            self._tell(found, "Normal", "Preempted", message, "Preempting")

    # -- what it needs to know

    def _victims_linger(self, uid: str) -> bool:
        return any(self._placement.place_of(victim) for victim in self._victims.get(uid, ()))

    def _volumes(self, needs: PodNeeds) -> list[BoundVolume] | str:
        """The volumes behind the pod's claims, or why there are none yet."""
        volumes: list[BoundVolume] = []
        for name in needs.claims:
            claim = self._informers.claims.cache.get(needs.namespace, name)
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            volume = self._informers.volumes.cache.get("", spec_of(claim).get("volumeName") or "")
            if volume is None:
                return "pod has unbound immediate PersistentVolumeClaims"
            volumes.append(read_volume(volume))
        return volumes

    def _namespace_labels(self, name: str) -> dict[str, str]:
        namespace = self._informers.namespaces.cache.get("", name)
        return dict(labels_of(namespace)) if namespace is not None else {}

    def _tell(self, pod: Object, weight: Weight, reason: str, message: str, action: str) -> None:
        self._recorder.record(Note(pod, "Pod", "v1", weight, reason, message, action))


def _is_ours(pod: Object) -> bool:
    return bool(spec_of(pod).get("schedulerName", SCHEDULER_NAME) == SCHEDULER_NAME)


def _shape(pod: Object, needs: PodNeeds) -> bytes:
    """What the pod asks for: pods of one shape fit on the same nodes."""
    spec = spec_of(pod)
    asked = [spec.get(name) for name in ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints")]
    labels = labels_of(pod) if needs.has_topology_constraints else {}
    parts = [needs.namespace, labels, needs.priority, needs.requests, needs.ports, needs.claims, asked]
    return msgspec.json.encode(parts, order="sorted")
