"""The services as the cluster shows them now, with everything that belongs to each."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mooring.clock import Clock, Entropy
from mooring.control.part import OnChange
from mooring.control.serving.translation import pod_from_view, rollout_from_view, service_from_view
from mooring.kube import views
from mooring.kube.cache import Change
from mooring.kube.client import KubeClient
from mooring.kube.reflector import Reflector
from mooring.kube.resources import BUDGETS, DEPLOYMENTS, ENDPOINTSLICES, MANAGEDSERVICES, PODS, SERVICES
from mooring.kube.views.base import Object
from mooring.model.names import SERVICE
from mooring.model.service import Service
from mooring.model.serving import Rollout, ServicePod

_BY_SERVICE = "service"


class ServiceWatch:
    """Caches of the services and of their objects. What is watched does not depend on which replica watches."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy) -> None:
        def follow(resource: Any) -> Reflector[Any]:
            indexes = {_BY_SERVICE: _service_of}
            return Reflector(client, resource, clock=clock, entropy=entropy, label_selector=SERVICE, indexes=indexes)

        self._services = Reflector(client, MANAGEDSERVICES, clock=clock, entropy=entropy)
        self._deployments: Reflector[views.Deployment] = follow(DEPLOYMENTS)
        self._pods: Reflector[views.Pod] = follow(PODS)
        self._ports: Reflector[views.Service] = follow(SERVICES)
        self._slices: Reflector[views.EndpointSlice] = follow(ENDPOINTSLICES)
        self._budgets: Reflector[views.PodDisruptionBudget] = follow(BUDGETS)
        self._reflectors: dict[str, Reflector[Any]] = {
            "managedservices": self._services,
            "service deployments": self._deployments,
            "service pods": self._pods,
            "service ports": self._ports,
            "service endpoints": self._slices,
            "service budgets": self._budgets,
        }
        self._by_key: dict[str, Service] = {}
        self._listeners: list[OnChange] = []
        self._services.subscribe(self._on_service)
        for reflector in (self._deployments, self._pods, self._ports, self._slices, self._budgets):
            reflector.subscribe(self._on_object)

    @property
    def reflectors(self) -> Mapping[str, Reflector[Any]]:
        return self._reflectors

    def subscribe(self, listener: OnChange) -> None:
        """Be told the key of every service that changed; must not wait."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors.values():
                group.create_task(reflector.run())

    @property
    def synced(self) -> bool:
        """Whether it is known which services there are."""
        return self._services.synced

    @property
    def trouble(self) -> str:
        """Which cache cannot be believed, and why; empty when all can."""
        for name, reflector in self._reflectors.items():
            health = reflector.health
            if health.last_error:
                return f"the {name} cannot be read: {health.last_error}"
            if not health.synced:
                return f"the {name} have not been read yet"
            if health.silent:
                return f"the watch of the {name} is silent"
        return ""

    @property
    def services(self) -> Mapping[str, Service]:
        return self._by_key

    def service(self, key: str) -> Service | None:
        return self._by_key.get(key)

    def version(self, key: str) -> int:
        """The resourceVersion of a service as cached."""
        found = self._services.cache.get(*_split(key))
        return int(found.metadata.resource_version) if found is not None else 0

    def rollout(self, service: Service) -> Rollout | None:
        """Its Deployment."""
        found = self._deployments.cache.get(service.namespace, service.name)
        return rollout_from_view(found) if found is not None and _belongs(found, service) else None

    def pod_views(self, key: str) -> list[views.Pod]:
        """Its pods, whole, by name."""
        return sorted(self._pods.cache.by_index(_BY_SERVICE, key), key=lambda pod: pod.metadata.name)

    def pods(self, key: str) -> tuple[ServicePod, ...]:
        """Its pods, by name."""
        return tuple(pod_from_view(pod) for pod in self.pod_views(key))

    def port(self, service: Service) -> views.Service | None:
        """Its Service."""
        found = self._ports.cache.get(service.namespace, service.name)
        return found if found is not None and _belongs(found, service) else None

    def attached(self, service: Service) -> bool:
        """Whether Service and budget are there as the spec asks for them."""
        port, budget = self.port(service), self._budgets.cache.get(service.namespace, service.name)
        if budget is None or not _belongs(budget, service):
            return False
        if service.spec.expose == "None":
            return port is None
        ports = [one.port for one in port.spec.ports] if port is not None else []
        return port is not None and port.spec.type == service.spec.expose and ports == [service.spec.port]

    def ready_endpoints(self, service: Service) -> int:
        """How many backends take traffic.

        A real API server refuses loopback addresses in EndpointSlices, and the process runtime gives pods nothing
        else: there, and where the service is not exposed, the pods' own readiness is all there is to go by.
        """
        ready = [pod for pod in self.pods(service.key) if pod.ready and not pod.terminating and pod.address]
        if service.spec.expose == "None" or (ready and all(pod.address.startswith("127.") for pod in ready)):
            return len(ready)
        slices = self._slices.cache.by_index(_BY_SERVICE, service.key)
        return sum(end.conditions.ready is not False for one in slices for end in one.endpoints)

    def _on_service(self, change: Change[views.ManagedService]) -> None:
        view = change.new if change.new is not None else change.old
        assert view is not None
        key = f"{view.metadata.namespace}/{view.metadata.name}"
        if change.new is None:
            self._by_key.pop(key, None)
        else:
            self._by_key[key] = service_from_view(change.new)
        self._tell(key)

    def _on_object(self, change: Change[Any]) -> None:
        found = change.new if change.new is not None else change.old
        assert found is not None
        for key in _service_of(found):
            self._tell(key)

    def _tell(self, key: str) -> None:
        for listener in self._listeners:
            listener("service", key)


def _service_of(found: Object) -> tuple[str, ...]:
    return (f"{found.metadata.namespace}/{found.metadata.labels.get(SERVICE, '')}",)


def _belongs(found: Object, service: Service) -> bool:
    controller = found.metadata.controller
    return controller is not None and controller.uid == service.uid


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
