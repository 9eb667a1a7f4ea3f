"""The services as the cluster shows them now, with everything that belongs to each."""

from collections.abc import Mapping
from typing import TypeVar

from hawser import views
from hawser.cache import Change
from hawser.follower import Follower
from hawser.resources import BUDGETS, DEPLOYMENTS, ENDPOINTSLICES, PODS, SERVICES, Resource
from hawser.views.base import Object
from mooring.controllers.services.manifests import annotations_hash
from mooring.controllers.services.translation import pod_from_view, rollout_from_view, service_from_view
from mooring.engine.context import Context
from mooring.engine.informer import Informer
from mooring.kinds import views as kinds
from mooring.kinds.resources import MANAGEDSERVICES
from mooring.model.names import SERVICE, SPEC_HASH
from mooring.model.service import Service
from mooring.model.service_observations import Rollout, ServicePod

Owned = TypeVar("Owned", bound=Object)
_BY_SERVICE = "service"


class ServiceInformer(Informer):
    """Caches of the services and of their objects."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.client, context.clock, context.entropy)
        self._services = self.reflect("managedservices", MANAGEDSERVICES)
        self._deployments = self._reflect_owned("service deployments", DEPLOYMENTS)
        self._pods = self._reflect_owned("service pods", PODS)
        self._ports = self._reflect_owned("service ports", SERVICES)
        self._slices = self._reflect_owned("service endpoints", ENDPOINTSLICES)
        self._budgets = self._reflect_owned("service budgets", BUDGETS)
        self._by_key: dict[str, Service] = {}
        self._services.subscribe(self._on_service)

    def _reflect_owned(self, name: str, resource: Resource[Owned]) -> Follower[Owned]:
        reflector = self.reflect(name, resource, label_selector=SERVICE, indexes={_BY_SERVICE: _service_of})
        reflector.subscribe(self._on_object)
        return reflector

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
        if port is None or port.spec.type != service.spec.expose:
            return False
        found, wanted = port.metadata.annotations, service.spec.service_annotations
        annotated = wanted.items() <= found.items() and found.get(SPEC_HASH, "") == annotations_hash(service)
        return annotated and [one.port for one in port.spec.ports] == [service.spec.port]

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

    def _on_service(self, change: Change[kinds.ManagedService]) -> None:
        view = change.latest
        key = view.metadata.key
        if change.new is None:
            self._by_key.pop(key, None)
        else:
            self._by_key[key] = service_from_view(change.new)
        self._notify("service", key)

    def _on_object(self, change: Change[Owned]) -> None:
        for key in _service_of(change.latest):
            self._notify("service", key)


def _service_of(found: Object) -> tuple[str, ...]:
    return (f"{found.metadata.namespace}/{found.metadata.labels.get(SERVICE, '')}",)


def _belongs(found: Object, service: Service) -> bool:
    controller = found.metadata.controller
    return controller is not None and controller.uid == service.uid


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
