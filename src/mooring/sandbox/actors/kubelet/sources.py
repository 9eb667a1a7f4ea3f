"""ConfigMaps and Secrets as a kubelet reads them: live, when a container needs them."""

from mooring.kube.client import KubeClient
from mooring.kube.errors import ObjectNotFound
from mooring.kube.resources import CONFIGMAPS, SECRETS, Resource
from mooring.sandbox.actors.objects import Object


class LiveSources:
    """Reads each object from the API."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def config_map(self, namespace: str, name: str) -> Object | None:
        return await self._read(CONFIGMAPS.raw(), namespace, name)

    async def secret(self, namespace: str, name: str) -> Object | None:
        return await self._read(SECRETS.raw(), namespace, name)

    async def _read(self, resource: Resource[Object], namespace: str, name: str) -> Object | None:
        try:
            return await self._client.get(resource, name, namespace)
        except ObjectNotFound:
            return None
