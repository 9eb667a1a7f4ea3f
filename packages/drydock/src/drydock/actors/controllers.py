"""All controllers and the scheduler of a cluster, over one set of caches. Ordinary clients of its API."""

import asyncio

from drydock.actors.garbage.collector import GarbageCollector
from drydock.actors.garbage.podgc import PodCollector
from drydock.actors.jobs.controller import JobController
from drydock.actors.machinery.events import Broadcaster
from drydock.actors.machinery.informers import Informers
from drydock.actors.machinery.loop import ReconcileLoop
from drydock.actors.nodes.lifecycle import NodeLifecycle
from drydock.actors.nodes.taint_eviction import TaintEvictor
from drydock.actors.scheduler.scheduler import Scheduler
from drydock.actors.upkeep.accounts import AccountController
from drydock.actors.upkeep.budgets import BudgetController
from drydock.actors.upkeep.endpoints import EndpointController
from drydock.actors.upkeep.namespaces import NamespaceController
from drydock.actors.upkeep.root_certificate import RootCertificatePublisher
from drydock.actors.workloads.deployments import DeploymentController
from drydock.actors.workloads.replicasets import ReplicaSetController
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy


class Controllers:
    """What kube-controller-manager and kube-scheduler are to a cluster."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        entropy: Entropy,
        *,
        root_certificate: str = "",
    ) -> None:
        self.informers = Informers(client, clock, entropy)
        self._events = Broadcaster(client, clock, entropy)
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
        self._publishers = (
            [RootCertificatePublisher(client, self.informers, clock, root_certificate)] if root_certificate else []
        )

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
            *(publisher.loop for publisher in self._publishers),
        ]


async def run_controllers(client: KubeClient, clock: Clock, entropy: Entropy, *, root_certificate: str = "") -> None:
    """Run all controllers and the scheduler until cancelled.

    With a `root_certificate` it is published in every namespace.
    """
    await Controllers(client, clock, entropy, root_certificate=root_certificate).run()
