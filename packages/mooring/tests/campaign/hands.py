"""What makes trouble in a run, besides the faults of links: processes, nodes, pods, the ledger and the API server."""

import contextlib
from collections.abc import Callable, Mapping

from drydock import DrainPolicy, Drift
from drydock.faults import Crashed
from hawser.errors import KubeError
from hawser.resources import NODES, PODS
from mooring.incidents.fakes import HEALTHY, SILENT
from mooring.incidents.replica import Replica
from mooring.kinds.resources import MANAGEDSERVICES, WARMUPS
from mooring.model import names
from packages.mooring.tests.campaign.troubles import DEATHS, Trouble
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour
from packages.testing.judge import History

_LOST_SECONDS = 1.0  # of commits that a standby did not get
_NODES_LEFT = 2
_ROUNDING_SECONDS = 0.01  # a sum of fractions may end a moment before the trouble does, and the new life would die too


class Hands:
    """Makes each trouble happen at its time."""

    def __init__(
        self, world: Harbour, history: History, present: Mapping[str, Replica], start: Callable[[str], None]
    ) -> None:
        self._world = world
        self._history = history
        self._present = present
        self._start = start
        self._drift = Drift(world.client, world.sandbox.fleet, world.clock, world.entropy)
        self._moving: set[str] = set()
        assert world.sandbox.storage is not None
        self._storage = world.sandbox.storage

    async def make(self, one: Trouble) -> None:
        """From begin to end; what hits links alone needs no hand."""
        if one.kind in DEATHS:
            await self._rise(one.who, one.seconds + _ROUNDING_SECONDS)
            return
        match one.kind:
            case "kill":
                await self._present[one.who].kill()
                await self._rise(one.who, one.seconds / 4)
            case "stop":
                await self._stop(one.who, one.seconds)
            case "clock-jump":
                self._present[one.who].clock.jump(one.size)
            case "ledger-deaf":
                await self._deafen(self._present[one.who], one.seconds)
            case "ledger-failover":
                await self._lose_commits(_LOST_SECONDS)
            case "ledger-restored":
                await self._lose_commits(one.seconds)
            case "api-server-older":
                await self._lose_objects(one.seconds)
            case "history-compacted":
                self._storage.compact()
            case "pod-deleted":
                await self._delete_a_pod(int(one.size))
            case "pool-resized":
                await self._world.change({"warm": 1 + int(one.size)})
            case "workers-unreachable":
                await self._cut_workers_off(one.seconds)
            case "dataset-changed":
                await self._change(WARMUPS, "core", {"generation": f"{one.at}"})
            case "service-changed":
                await self._change(MANAGEDSERVICES, "api", {"image": f"api:{one.at}"})
            case kind if kind.startswith("node-"):
                await self._move_a_node(one)

    async def _rise(self, who: str, seconds: float) -> None:
        """After so many seconds, if it is dead."""
        await self._world.clock.sleep(seconds)
        replica = self._present[who]
        if not replica.process.alive or replica.task.done():
            await replica.kill()
            self._start(who)

    async def _stop(self, who: str, seconds: float) -> None:
        replica = self._present[who]
        with contextlib.suppress(Crashed):
            await replica.mooring.stop()
        await replica.kill()
        await self._rise(who, seconds / 4)

    async def _deafen(self, replica: Replica, seconds: float) -> None:
        replica.ledger.deaf = True
        await self._world.clock.sleep(seconds)
        replica.ledger.hear_again()

    async def _cut_workers_off(self, seconds: float) -> None:
        """No replica reaches a worker: neither its health nor whether it works."""
        words, doctor = self._world.words, self._world.doctor
        words.otherwise, doctor.otherwise = None, SILENT  # type: ignore[attr-defined]
        await self._world.clock.sleep(seconds)
        words.otherwise, doctor.otherwise = False, HEALTHY  # type: ignore[attr-defined]

    async def _lose_commits(self, seconds: float) -> None:
        """The ledger goes on from what it was so many seconds ago."""
        store, since = self._world.ledger._session.store, self._world.seconds  # type: ignore[attr-defined]
        saved = store.backup()
        await self._world.clock.sleep(seconds)
        store.restore(saved)
        self._history.note(self._world.seconds, "rewound", what="ledger", since=since)

    async def _lose_objects(self, seconds: float) -> None:
        """The API server goes on from what it held so many seconds ago."""
        restore, since = self._storage.snapshot(), self._world.seconds
        before = {pod.metadata.uid for pod in await self._world.pods()}
        await self._world.clock.sleep(seconds)
        self._take(pod.metadata.uid for pod in await self._world.pods() if pod.metadata.uid not in before)
        restore()
        self._history.note(self._world.seconds, "rewound", what="cluster", since=since)
        await self._remove_nodes_without_machine()

    async def _remove_nodes_without_machine(self) -> None:
        """As a cloud's node controller does: the Nodes of machines that have left since are back."""
        for node in (await self._world.client.list(NODES)).items:
            if (name := node.metadata.name) not in self._world.sandbox.fleet.node_names:
                await self._take_pods_of(name)
                await self._world.client.delete(NODES, name)

    async def _change(self, resource: object, name: str, spec: dict[str, object]) -> None:
        with contextlib.suppress(KubeError):  # this run has none, or it was lost with the API server's objects
            await self._world.client.merge_patch(resource, name, {"spec": spec}, NAMESPACE)  # type: ignore[arg-type]

    async def _delete_a_pod(self, which: int) -> None:
        pods = [pod for pod in await self._world.pods() if names.POOL in pod.metadata.labels]
        if pods:
            meta = pods[which % len(pods)].metadata
            self._take([meta.uid])
            await self._world.client.delete(PODS, meta.name, NAMESPACE, grace_seconds=which)

    async def _move_a_node(self, one: Trouble) -> None:
        """One that nothing else moves now, as long as enough are left."""
        free = [name for name in self._world.sandbox.fleet.node_names if name not in self._moving]
        if len(free) <= _NODES_LEFT:
            return
        node = free[int(one.size) % len(free)]
        self._moving.add(node)
        try:
            with contextlib.suppress(KubeError):  # the Node went back with the API server's objects
                await self._move(one.kind, node, one.seconds)
        finally:
            self._moving.discard(node)

    async def _move(self, kind: str, node: str, seconds: float) -> None:
        drift, gently = self._drift, DrainPolicy(deadline_seconds=seconds)
        if kind == "node-cordoned":
            await self._cordon(node, True)
            await self._world.clock.sleep(seconds)
            await self._cordon(node, None)
            return
        await self._take_pods_of(node)
        match kind:
            case "node-drained":
                await self._cordon(node, True)
                await drift.drain(node, gently)
                await self._cordon(node, None)
            case "node-replaced":
                await drift.replace(node, gently)
            case "node-renewed":
                await drift.replace(node, gently, naming="same")
            case "node-lost":
                await drift.lose(node, lingers_seconds=seconds)
                await self._world.sandbox.fleet.add_node(f"{node}-again")
            case "node-flaps":
                await drift.flap(node, down_seconds=seconds, up_seconds=1)
        await self._take_pods_of(node)

    async def _cordon(self, node: str, unschedulable: bool | None) -> None:
        await self._world.client.merge_patch(NODES, node, {"spec": {"unschedulable": unschedulable, "taints": None}})

    async def _take_pods_of(self, node: str) -> None:
        self._take(pod.metadata.uid for pod in await self._world.pods() if pod.spec.node_name == node)

    def _take(self, uids: object) -> None:
        for uid in uids:  # type: ignore[attr-defined]
            self._history.note(self._world.seconds, "taken", uid=uid)
