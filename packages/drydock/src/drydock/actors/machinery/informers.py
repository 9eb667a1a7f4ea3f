"""The caches that all controllers share: one reflector a kind, whole objects, indexed by owner and by node."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from drydock.actors.machinery.objects import Object, controller_uid, is_terminating, namespace_of
from drydock.actors.machinery.pods import node_name_of
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.reflector import Reflector
from hawser.resources import (
    BUDGETS,
    CRDS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    REPLICASETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)

BY_CONTROLLER = "controller"  # uid of the controlling owner
BY_NODE = "node"
BY_NAMESPACE = "namespace"
ORPHANS = "orphans"  # objects without controller, by namespace
TERMINATING = "terminating"  # objects with a deletionTimestamp, all under ""

Index = Callable[[Object], Iterable[str]]


def _controllers(item: Object) -> Iterable[str]:
    uid = controller_uid(item)
    return (uid,) if uid else ()


def _orphans(item: Object) -> Iterable[str]:
    return () if controller_uid(item) else (namespace_of(item),)


def _nodes(pod: Object) -> Iterable[str]:
    name = node_name_of(pod)
    return (name,) if name else ()


def _terminating(item: Object) -> Iterable[str]:
    return ("",) if is_terminating(item) else ()


def _namespaces(item: Object) -> Iterable[str]:
    return (namespace_of(item),)


_OWNED: Mapping[str, Index] = {BY_CONTROLLER: _controllers, ORPHANS: _orphans, BY_NAMESPACE: _namespaces}


@dataclass(frozen=True, slots=True)
class Shared:
    """A reflector and the resource it follows."""

    resource: Resource[Object]
    reflector: Reflector[Object]


class Informers:
    """The shared reflectors. Subscribe first, then `run`."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._all: list[Shared] = []
        self.pods = self._open(PODS, {**_OWNED, BY_NODE: _nodes, TERMINATING: _terminating})
        self.nodes = self._open(NODES)
        self.leases = self._open(LEASES)
        self.jobs = self._open(JOBS, {BY_NAMESPACE: _namespaces})
        self.replica_sets = self._open(REPLICASETS, _OWNED)
        self.deployments = self._open(DEPLOYMENTS, {BY_NAMESPACE: _namespaces})
        self.services = self._open(SERVICES, {BY_NAMESPACE: _namespaces})
        self.slices = self._open(ENDPOINTSLICES, _OWNED)
        self.budgets = self._open(BUDGETS, {BY_NAMESPACE: _namespaces})
        self.namespaces = self._open(NAMESPACES)
        self.accounts = self._open(SERVICEACCOUNTS)
        self.claims = self._open(PERSISTENTVOLUMECLAIMS)
        self.volumes = self._open(PERSISTENTVOLUMES)
        self.definitions = self._open(CRDS)

    async def run(self) -> None:
        """Keep the caches true until cancelled."""
        async with asyncio.TaskGroup() as group:
            for one in self._all:
                group.create_task(one.reflector.run(), name=f"informer-{one.resource.plural}")

    async def wait_synced(self) -> None:
        for one in self._all:
            await one.reflector.wait_synced()

    def shared(self) -> list[Shared]:
        return list(self._all)

    def _open(self, resource: Resource[Any], indexes: Mapping[str, Index] | None = None) -> Reflector[Object]:
        reflector = Reflector(
            self._client, resource.raw(), clock=self._clock, entropy=self._entropy, indexes=indexes or {}
        )
        self._all.append(Shared(resource.raw(), reflector))
        return reflector
