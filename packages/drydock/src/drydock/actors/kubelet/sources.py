"""ConfigMaps and Secrets as a kubelet reads them: live, when a container needs them."""

import base64
import binascii
from collections.abc import Iterable

import msgspec

from drydock.actors.machinery.objects import Object
from hawser.client import KubeClient
from hawser.errors import ObjectNotFound
from hawser.resources import CONFIGMAPS, SECRETS, Resource


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


class _PullCredentials(msgspec.Struct):
    """A `.dockerconfigjson`: what matters here is which registries it names."""

    auths: dict[str, msgspec.Raw] = {}


async def registries_of(sources: LiveSources, namespace: str, names: Iterable[str]) -> frozenset[str]:
    """The registries that pull secrets have credentials for; a secret that is missing or no such thing has none."""
    found: set[str] = set()
    for name in names:
        secret = await sources.secret(namespace, name) or {}
        try:
            text = base64.b64decode((secret.get("data") or {}).get(".dockerconfigjson", ""))
            found |= set(msgspec.json.decode(text, type=_PullCredentials).auths)
        except (binascii.Error, msgspec.DecodeError):
            continue
    return frozenset(found)
