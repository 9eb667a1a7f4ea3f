"""The node lifecycle controller: a node without heartbeats becomes Unknown, is tainted, and is emptied with care."""

from dataclasses import dataclass

from drydock.actors.machinery.events import Broadcaster, Note, Weight
from drydock.actors.machinery.informers import BY_NODE, Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.machinery.objects import (
    Object,
    condition_of,
    created_at,
    name_of,
    spec_of,
    status_of,
    uid_of,
)
from drydock.actors.machinery.pod_conditions import set_pod_condition
from drydock.actors.machinery.pods import is_ready
from drydock.actors.nodes.health import (
    execute_taint_for,
    has_execute_taint,
    rate_zones,
    ready_status,
    silenced_conditions,
    with_execute_taint,
    with_schedule_taints,
    zone_of,
)
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import NODES

_CHECK_SECONDS = 5.0
_GRACE_SECONDS = 50.0
_STARTUP_GRACE_SECONDS = 60.0
_LEASE_NAMESPACE = "kube-node-lease"
_NODES = NODES.raw()


@dataclass(slots=True)
class _Pulse:
    """The last sign of life of a node: what it was, and when it was noticed."""

    uid: str
    sign: tuple[str, str]  # lease renewal, Ready heartbeat
    noticed_at: float
    settled: Object | None = None  # the node as it was when last found in order


@dataclass(slots=True)
class _Allowance:
    """A token bucket of one token: one node, then the next when it has filled again."""

    tokens: float
    filled_at: float

    def take(self, per_second: float, now: float) -> bool:
        self.tokens = min(1.0, self.tokens + (now - self.filled_at) * per_second)
        self.filled_at = now
        if per_second <= 0 or self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


class NodeLifecycle:
    """Watches over the heartbeats of all nodes."""

    def __init__(self, client: KubeClient, informers: Informers, clock: Clock, events: Broadcaster) -> None:
        self._client = client
        self._informers = informers
        self._clock = clock
        self._recorder = events.recorder("node-controller")
        self._pulses: dict[str, _Pulse] = {}
        self._allowances: dict[str, _Allowance] = {}
        self.loop: ReconcileLoop[str] = ReconcileLoop("node-taints", self._set_schedule_taints, clock, workers=4)
        informers.nodes.subscribe(self._on_node)

    async def run(self) -> None:
        """Check every five seconds until cancelled."""
        await self._informers.wait_synced()
        while True:
            await self._check()
            await self._clock.sleep(_CHECK_SECONDS)

    def _on_node(self, change: Change[Object]) -> None:
        if change.new is None:
            assert change.old is not None
            name = name_of(change.old)
            self._pulses.pop(name, None)
            self._tell(change.old, "Normal", "RemovingNode", f"Removing Node {name} from Controller")
            return
        name = name_of(change.new)
        if change.old is None:
            self._tell(change.new, "Normal", "RegisteredNode", f"Registered Node {name} in Controller")
        self.loop.add(name)

    async def _set_schedule_taints(self, name: str) -> float | None:
        node = self._informers.nodes.cache.get("", name)
        taints = with_schedule_taints(node, self._clock.now()) if node is not None else None
        if node is not None and taints is not None:
            await self._set_taints(node, taints)
        return None

    async def _check(self) -> None:
        sick: list[Object] = []
        for cached in self._informers.nodes.cache.values():
            pulse = self._feel(cached)
            if pulse.settled is cached and self._clock.monotonic() - pulse.noticed_at <= _GRACE_SECONDS:
                continue
            try:
                node = await self._judge(cached, pulse)
                if execute_taint_for(node):
                    sick.append(node)
                else:
                    await self._set_execute_taint(node, "")
                    pulse.settled = node
            except KubeError:
                continue  # the next check sees it again
        if sick:
            try:
                await self._empty(sick)
            except KubeError:
                return

    async def _judge(self, node: Object, pulse: _Pulse) -> Object:
        """Mark a node that has been silent for too long; returns it as it is then."""
        grace = _GRACE_SECONDS if condition_of(node, "Ready") is not None else _STARTUP_GRACE_SECONDS
        if self._clock.monotonic() - pulse.noticed_at <= grace:
            return node
        conditions = silenced_conditions(node, self._clock.now())
        if conditions == (status_of(node).get("conditions") or []):
            return node
        was_ready = ready_status(node) == "True"
        fence = {"uid": uid_of(node), "resourceVersion": node["metadata"]["resourceVersion"]}
        patch = {"metadata": fence, "status": {"conditions": conditions}}
        try:
            node = await self._client.merge_patch(_NODES, name_of(node), patch, subresource="status")
        except ObjectNotFound:
            return node
        if was_ready:
            self._tell(node, "Normal", "NodeNotReady", f"Node {name_of(node)} status is now: NodeNotReady")
            await self._mark_pods(name_of(node))
        return node

    def _feel(self, node: Object) -> _Pulse:
        """A renewed lease or a newer heartbeat in the status is a sign of life."""
        name = name_of(node)
        lease = self._informers.leases.cache.get(_LEASE_NAMESPACE, name)
        renewed = spec_of(lease).get("renewTime", "") if lease is not None else ""
        ready = condition_of(node, "Ready")
        sign = (renewed, ready.get("lastHeartbeatTime", "") if ready is not None else "")
        now = self._clock.monotonic()
        pulse = self._pulses.get(name)
        if pulse is None or pulse.uid != uid_of(node):
            age = 0.0 if ready is not None else (self._clock.now() - created_at(node)).total_seconds()
            pulse = self._pulses[name] = _Pulse(uid_of(node), sign, now - max(0.0, age))
        elif pulse.sign != sign:
            pulse.sign, pulse.noticed_at = sign, now
        return pulse

    async def _mark_pods(self, node: str) -> None:
        """Nobody can vouch for the pods of a silent node."""
        for pod in self._informers.pods.cache.by_index(BY_NODE, node):
            if is_ready(pod):
                try:
                    await set_pod_condition(self._client, self._clock, pod, {"type": "Ready", "status": "False"})
                except ObjectNotFound:
                    continue
                note = Note(pod, "Pod", "v1", "Warning", "NodeNotReady", "Node is not ready")
                self._recorder.record(note)

    async def _empty(self, sick: list[Object]) -> None:
        """Taint sick nodes so that their pods are evicted: slowly, and not at all when everything is down."""
        rates = rate_zones(self._informers.nodes.cache.values())
        now = self._clock.monotonic()
        for node in sick:
            if rates.everything_down:
                await self._set_execute_taint(node, "")
            elif has_execute_taint(node):
                await self._set_execute_taint(node, execute_taint_for(node))
            else:
                allowance = self._allowances.setdefault(zone_of(node), _Allowance(1.0, now))
                if allowance.take(rates.per_second.get(zone_of(node), 0.0), now):
                    await self._set_execute_taint(node, execute_taint_for(node))

    async def _set_execute_taint(self, node: Object, key: str) -> None:
        taints = with_execute_taint(node, key, self._clock.now())
        if taints is not None:
            await self._set_taints(node, taints)

    async def _set_taints(self, node: Object, taints: list[Object]) -> None:
        fence = {"uid": uid_of(node), "resourceVersion": node["metadata"]["resourceVersion"]}
        try:
            await self._client.merge_patch(
                _NODES, name_of(node), {"metadata": fence, "spec": {"taints": taints or None}}
            )
        except ObjectNotFound:
            return

    def _tell(self, node: Object, weight: Weight, reason: str, message: str) -> None:
        self._recorder.record(Note(node, "Node", "v1", weight, reason, message))
