"""Which kinds there are: the built-in ones, and those that custom resource definitions add."""

from collections.abc import Iterable
from typing import Any

from drydock.actors.machinery.informers import Informers
from drydock.actors.machinery.objects import Object, condition_is_true, spec_of
from hawser.resources import (
    BUDGETS,
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    CRDS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    RESOURCEQUOTAS,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)

BUILT_IN: tuple[Resource[Any], ...] = (
    PODS,
    JOBS,
    DEPLOYMENTS,
    REPLICASETS,
    SERVICES,
    ENDPOINTSLICES,
    CONFIGMAPS,
    SECRETS,
    SERVICEACCOUNTS,
    LEASES,
    BUDGETS,
    PERSISTENTVOLUMECLAIMS,
    RESOURCEQUOTAS,
    ROLES,
    ROLEBINDINGS,
    EVENTS,
    NODES,
    NAMESPACES,
    PERSISTENTVOLUMES,
    PRIORITYCLASSES,
    CLUSTERROLES,
    CLUSTERROLEBINDINGS,
    CRDS,
)


def resource_of(definition: Object) -> Resource[Object] | None:
    """The resource a definition serves, in its storage version; None until it is established."""
    if not condition_is_true(definition, "Established"):
        return None
    spec = spec_of(definition)
    served = [one for one in spec.get("versions") or () if one.get("served")]
    if not served:
        return None
    version = next((one for one in served if one.get("storage")), served[0])
    names = spec["names"]
    namespaced = spec.get("scope") == "Namespaced"
    return Resource(spec["group"], version["name"], names["plural"], names["kind"], namespaced, dict)


class KnownKinds:
    """Looks kinds up by what an owner reference says of them."""

    def __init__(self, informers: Informers) -> None:
        self._definitions = informers.definitions
        self._built_in = {(one.group, one.kind): one.raw() for one in BUILT_IN}

    def find(self, api_version: str, kind: str) -> Resource[Object] | None:
        """The resource of a kind; the version is the one it is stored in, whichever was asked for."""
        group = api_version.partition("/")[0] if "/" in api_version else ""
        return self._built_in.get((group, kind)) or next(
            (one for one in self.custom() if (one.group, one.kind) == (group, kind)), None
        )

    def custom(self) -> Iterable[Resource[Object]]:
        """The custom kinds that are served now."""
        for definition in self._definitions.cache.values():
            resource = resource_of(definition)
            if resource is not None:
                yield resource

    def namespaced(self) -> list[Resource[Object]]:
        """All kinds that live in namespaces, pods first."""
        return [one for one in (*self._built_in.values(), *self.custom()) if one.namespaced]
