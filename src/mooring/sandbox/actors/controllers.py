"""All controllers and the scheduler of a cluster, over one set of caches. Ordinary clients of its API."""

import asyncio

from mooring.clock import Clock, Entropy
from mooring.kube.client import KubeClient
from mooring.sandbox.actors.accounts import AccountController
from mooring.sandbox.actors.budgets import BudgetController
from mooring.sandbox.actors.deployments import DeploymentController
from mooring.sandbox.actors.endpoints import EndpointController
from mooring.sandbox.actors.events import Broadcaster
from mooring.sandbox.actors.garbage import GarbageCollector
from mooring.sandbox.actors.informers import Informers
from mooring.sandbox.actors.jobs import JobController
from mooring.sandbox.actors.loop import ReconcileLoop
from mooring.sandbox.actors.namespaces import NamespaceController
from mooring.sandbox.actors.nodes import NodeLifecycle
from mooring.sandbox.actors.podgc import PodCollector
from mooring.sandbox.actors.replicasets import ReplicaSetController
from mooring.sandbox.actors.scheduler import Scheduler
from mooring.sandbox.actors.taint_eviction import TaintEvictor


class Controllers:
    """What kube-controller-manager and kube-scheduler are to a cluster."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy, *, normal_events: bool = True) -> None:
        self.informers = Informers(client, clock, entropy)
        self._events = Broadcaster(client, clock, entropy, normal_events=normal_events)
        parts = (client, self.informers, clock, self._events)
        self._scheduler = Scheduler(*parts, entropy)
        self._jobs = JobController(*parts)
        self._replica_sets = ReplicaSetController(*parts)
        self._deployments = DeploymentController(*parts)
        self._budgets = BudgetController(*parts)
        self._nodes = NodeLifecycle(*parts)
        self._evictor = TaintEvictor(*parts)
        self._garbage = GarbageCollector(client, self.informers, clock, entropy)
        self._endpoints = EndpointController(client, self.informers, clock)
        self._namespaces = NamespaceController(client, self.informers, clock)
        self._accounts = AccountController(client, self.informers, clock)
        self._pods = PodCollector(client, self.informers, clock)

    async def run(self) -> None:
        """Run until cancelled. Nothing is decided before all caches are filled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.informers.run())
            await self.informers.wait_synced()
            group.create_task(self._events.run(), name="events")
            for loop in self._loops():
                group.create_task(loop.run(), name=loop.name)
            for actor in (self._scheduler, self._nodes, self._pods, self._garbage):
                group.create_task(actor.run())

    async def wait_synced(self) -> None:
        await self.informers.wait_synced()

    def _loops(self) -> list[ReconcileLoop[str] | ReconcileLoop[tuple[str, str]]]:
        return [
            self._jobs.loop,
            self._jobs.orphan_loop,
            self._replica_sets.loop,
            self._deployments.loop,
            self._budgets.loop,
            self._endpoints.loop,
            self._namespaces.loop,
            self._accounts.loop,
            self._nodes.loop,
            self._evictor.loop,
        ]


async def run_controllers(client: KubeClient, clock: Clock, entropy: Entropy, *, normal_events: bool = True) -> None:
    """Run all controllers and the scheduler until cancelled; without `normal_events` only warnings are told."""
    await Controllers(client, clock, entropy, normal_events=normal_events).run()
