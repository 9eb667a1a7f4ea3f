"""How large the owner of a pod wants to be: from the cache for Deployments and ReplicaSets, else from its kind."""

from typing import Any

from drydock.actors.garbage.kinds_known import KnownKinds
from drydock.actors.machinery.informers import Informers
from drydock.actors.machinery.objects import Object, controller_of, name_of, namespace_of, spec_of, uid_of
from drydock.actors.workloads.rollout import replicas_of
from hawser.client import KubeClient
from hawser.errors import NotFound, ObjectNotFound
from hawser.resources import Resource


class ScaleLookup:
    """Finds the controller that decides about a pod's number, and its scale."""

    def __init__(self, client: KubeClient, informers: Informers) -> None:
        self._client = client
        self._informers = informers
        self._kinds = KnownKinds(informers)

    async def find(self, pod: Object, owner: Object) -> tuple[str, int]:
        """The uid and the scale of the controller; raises `NotFound` in the words of the disruption controller."""
        namespace = namespace_of(pod)
        if owner.get("kind") == "ReplicaSet" and str(owner.get("apiVersion", "")).startswith("apps/"):
            replica_set = self._informers.replica_sets.cache.get(namespace, owner["name"])
            if replica_set is None or uid_of(replica_set) != owner["uid"]:
                raise NotFound(f'found no controllers for pod "{name_of(pod)}"')
            return self._of_replica_set(replica_set, pod)
        return await self._of_any_kind(pod, owner)

    def _of_replica_set(self, replica_set: Object, pod: Object) -> tuple[str, int]:
        grand = controller_of(replica_set)
        if grand is None or grand.get("kind") != "Deployment":
            return uid_of(replica_set), replicas_of(replica_set)
        deployment = self._informers.deployments.cache.get(namespace_of(pod), grand["name"])
        if deployment is None or uid_of(deployment) != grand["uid"]:
            raise NotFound(f'found no controllers for pod "{name_of(pod)}"')
        return uid_of(deployment), replicas_of(deployment)

    async def _of_any_kind(self, pod: Object, owner: Object) -> tuple[str, int]:
        resource = self._kinds.find(owner.get("apiVersion", ""), owner.get("kind", ""))
        if resource is None:
            version = owner.get("apiVersion", "")
            raise NotFound(f'no matches for kind "{owner.get("kind")}" in version "{version}"')
        path = self._replicas_path(resource)
        if not path:
            raise NotFound(f"{resource.plural}.{resource.group} does not implement the scale subresource")
        try:
            found = await self._client.get(resource, owner["name"], namespace_of(pod))
        except ObjectNotFound:
            raise NotFound(f'found no controllers for pod "{name_of(pod)}"') from None
        if uid_of(found) != owner["uid"]:
            raise NotFound(f'found no controllers for pod "{name_of(pod)}"')
        value: Any = found
        for step in path.removeprefix(".").split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return uid_of(found), int(value or 0)

    def _replicas_path(self, resource: Resource[Object]) -> str:
        definition = self._informers.definitions.cache.get("", f"{resource.plural}.{resource.group}")
        if definition is None:
            return ""
        for version in spec_of(definition).get("versions") or ():
            if version.get("name") == resource.version:
                scale = (version.get("subresources") or {}).get("scale") or {}
                return str(scale.get("specReplicasPath", ""))
        return ""
