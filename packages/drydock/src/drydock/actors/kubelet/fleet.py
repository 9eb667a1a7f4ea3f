"""Many kubelets in one process: nodes that share one watch on pods and one on nodes, and one runtime."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from drydock.actors.kubelet.admission import Rejection, check_admission
from drydock.actors.kubelet.kit import Kit
from drydock.actors.kubelet.machine import Machine, NodeTemplate
from drydock.actors.kubelet.node import NodeKeeper, Pulse
from drydock.actors.kubelet.pod import PodWorker, is_fresh
from drydock.actors.machinery.events import EventRecorder
from drydock.actors.machinery.objects import Object, name_of, uid_of
from drydock.actors.machinery.pods import node_name_of
from drydock.runtime.contract import Runtime
from drydock.runtime.logs import LogReader, LogRequest
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.errors import Conflict, HawserError, NotFound
from hawser.fitting.needs import read_needs
from hawser.reflector import Reflector, Scope
from hawser.resources import NODES, PODS

_BY_NODE = "node"


class LogUnavailable(HawserError):
    """There is such a pod, but not such a log."""

    code = "log_unavailable"


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """`log_port` is where the fleet's log server listens (0: nowhere); `api_environment` goes into every container."""

    address: str = "127.0.0.1"
    log_port: int = 0
    normal_events: bool = True
    renew_seconds: float = 10.0  # of the node's lease
    api_environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Host:
    machine: Machine
    keeper: NodeKeeper
    task: asyncio.Task[None]


@dataclass(slots=True)
class _Hosted:
    worker: PodWorker
    task: asyncio.Task[None]


class Fleet:
    """`run` it in a task; nodes can be added and removed while it runs."""

    def __init__(
        self,
        client: KubeClient,
        runtime: Runtime,
        *,
        clock: Clock,
        entropy: Entropy,
        options: FleetOptions = FleetOptions(),
    ) -> None:
        self._client = client
        self._runtime = runtime
        self._clock = clock
        self._entropy = entropy
        self._options = options
        self._events = EventRecorder(client, "kubelet", clock, entropy)
        self._kit = Kit(client, runtime, clock, self._events, options.normal_events, options.api_environment)
        self._pods = Reflector(
            client,
            PODS.raw(),
            clock=clock,
            entropy=entropy,
            scope=Scope(field_selector="spec.nodeName!="),
            indexes={_BY_NODE: _node_names},
        )
        self._nodes = Reflector(client, NODES.raw(), clock=clock, entropy=entropy)
        self._pods.subscribe(self._pod_changed)
        self._nodes.subscribe(self._node_changed)
        self._hosts: dict[str, _Host] = {}
        self._hosted: dict[str, _Hosted] = {}  # by pod uid
        self._finished: set[str] = set()  # uids the API still holds, with nothing left to do for us
        self._group: asyncio.TaskGroup | None = None

    # -- running

    async def run(self) -> None:
        """Until cancelled; then every container is killed."""
        async with asyncio.TaskGroup() as self._group:
            self._group.create_task(self._pods.run(), name="fleet pods")
            self._group.create_task(self._nodes.run(), name="fleet nodes")
            self._group.create_task(self._events.run(), name="fleet events")

    async def wait_synced(self) -> None:
        """Until the fleet knows which pods and nodes there are."""
        await self._pods.wait_synced()
        await self._nodes.wait_synced()

    # -- nodes

    @property
    def node_names(self) -> list[str]:
        return list(self._hosts)

    async def add_node(self, name: str, template: NodeTemplate = NodeTemplate()) -> None:
        """A machine joins the cluster; pods that are bound to a node of that name already are run."""
        if name in self._hosts:
            raise Conflict(f"node {name} is in this fleet already", fix="remove it first, or choose another name")
        await self.wait_synced()
        machine = Machine(name, template, self._options.address)
        keeper = NodeKeeper(self._client, self._clock, machine, self._pulse())
        await keeper.register()
        self._hosts[name] = _Host(machine, keeper, self._spawn(keeper.run(), f"node {name}"))
        bound = self._pods.cache.by_index(_BY_NODE, name)
        self._runtime.keep_only(name, {uid_of(pod) for pod in bound})
        for pod in bound:
            self._see(pod)

    async def remove_node(self, name: str) -> None:
        """The machine is gone, with everything on it; its Node object goes too, its pods are left to the cluster."""
        host = self._host(name)
        del self._hosts[name]
        host.task.cancel()
        await self._drop_pods(name)
        self._runtime.wipe_node(name)
        await host.keeper.unregister()

    async def pause(self, name: str) -> None:
        """The kubelet hangs or cannot reach the API: it does and says nothing. Its containers run on."""
        self._host(name).machine.awake.clear()

    async def resume(self, name: str) -> None:
        """The kubelet is back and catches up."""
        host = self._host(name)
        host.machine.awake.set()
        await host.keeper.report_now()
        for hosted in self._on(name):
            hosted.worker.wake()

    async def wipe(self, name: str) -> None:
        """The machine lost its disk and everything that ran on it; its kubelet starts anew."""
        self._host(name)
        await self._drop_pods(name)
        self._runtime.wipe_node(name)
        for pod in self._pods.cache.by_index(_BY_NODE, name):
            self._see(pod)

    # -- what is in pods

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    @property
    def clock(self) -> Clock:
        return self._clock

    def worker_of(self, namespace: str, pod: str) -> PodWorker:
        """What runs that pod; raises `NotFound` when none of these nodes does."""
        known = self._pods.cache.get(namespace, pod)
        hosted = self._hosted.get(uid_of(known)) if known else None
        if hosted is None:
            raise NotFound(f'pod "{pod}" not found on this node')
        return hosted.worker

    async def open_log(self, namespace: str, pod: str, container: str, request: LogRequest) -> AsyncIterator[bytes]:
        """A container's log. Raises `NotFound` or `LogUnavailable` before the first byte."""
        worker = self.worker_of(namespace, pod)
        attempt = worker.attempt_of(container)
        if attempt is None:
            raise NotFound(f'container "{container}" in pod "{pod}" is not available')
        waiting = worker.waiting_reason(container)
        if request.previous:
            attempt -= 0 if waiting else 1
            if attempt < 0:
                raise LogUnavailable(f'previous terminated container "{container}" in pod "{pod}" not found')
        elif waiting and not worker.has_run(container):
            raise LogUnavailable(f'container "{container}" in pod "{pod}" is waiting to start: {waiting}')
        reader = LogReader(
            read=lambda after: self._runtime.log(worker.place, container, attempt, after),
            is_over=lambda: not worker.is_running(container) or worker.attempt_of(container) != attempt,
            sleep=self._clock.sleep,
        )
        return reader.stream(request, self._clock.now())

    # -- changes that the watches report

    def _pod_changed(self, change: Change[Object]) -> None:
        if change.new is not None:
            if change.old is not None and uid_of(change.old) != uid_of(change.new):
                self._lose(change.old)
            self._see(change.new)
        elif change.old is not None:
            self._lose(change.old)

    def _see(self, pod: Object) -> None:
        uid, host = uid_of(pod), self._hosts.get(node_name_of(pod))
        if host is None or uid in self._finished:
            return
        if hosted := self._hosted.get(uid):
            hosted.worker.update(pod)
            return
        worker = PodWorker(self._kit, host.machine, pod, read_needs(pod))
        if is_fresh(pod) and (rejection := self._check(worker, host)):
            worker.reject(rejection)
        task = self._spawn(worker.run(), f"pod {name_of(pod)}")
        self._hosted[uid] = _Hosted(worker, task)
        task.add_done_callback(lambda _: self._worker_ended(uid, worker))

    def _check(self, worker: PodWorker, host: _Host) -> Rejection | None:
        node = self._nodes.cache.get("", host.machine.name)
        if node is None:
            return None
        others = [hosted.worker.needs for hosted in self._on(host.machine.name) if hosted.worker.takes_room]
        return check_admission(worker.needs, node, others)

    def _lose(self, pod: Object) -> None:
        self._finished.discard(uid_of(pod))
        if hosted := self._hosted.get(uid_of(pod)):
            hosted.worker.remove()

    def _worker_ended(self, uid: str, worker: PodWorker) -> None:
        hosted = self._hosted.get(uid)
        if hosted is None or hosted.worker is not worker:
            return
        del self._hosted[uid]
        self._runtime.forget_pod(worker.place)
        if not worker.removed:
            self._finished.add(uid)

    def _node_changed(self, change: Change[Object]) -> None:
        name = name_of(change.latest)
        if host := self._hosts.get(name):
            self._spawn(host.keeper.observe(change.latest, gone=change.new is None), f"observe {name}")

    # -- inside

    def _pulse(self) -> Pulse:
        return Pulse(self._entropy.uuid(), self._options.log_port, self._options.renew_seconds)

    def _host(self, name: str) -> _Host:
        if name not in self._hosts:
            raise NotFound(f"no node {name} in this fleet")
        return self._hosts[name]

    def _on(self, node: str) -> Iterable[_Hosted]:
        return [hosted for hosted in self._hosted.values() if hosted.worker.place.node == node]

    async def _drop_pods(self, node: str) -> None:
        dropped = list(self._on(node))
        for hosted in dropped:
            del self._hosted[hosted.worker.place.uid]
            hosted.task.cancel()
        await asyncio.gather(*(hosted.task for hosted in dropped), return_exceptions=True)
        for hosted in dropped:
            self._runtime.forget_pod(hosted.worker.place)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        if self._group is None:
            raise RuntimeError("the fleet does not run")
        return self._group.create_task(work, name=name)


def _node_names(pod: Object) -> Iterable[str]:
    name = node_name_of(pod)
    return (name,) if name else ()
