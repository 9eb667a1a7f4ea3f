"""Who may deploy a service: who may write the ManagedService, and could make its Deployment without Mooring."""

from collections.abc import Callable

from mooring.api.access.acts import CREATE_DEPLOYMENTS, CREATE_SERVICE, UPDATE_SERVICE
from mooring.api.access.authorization import Authorization
from mooring.model.identity import Identity


class DeployAccess:
    """`exists` says whether there is such a service: to change one is another verb than to create it."""

    def __init__(self, authorization: Authorization, exists: Callable[[str, str], bool]) -> None:
        self._authorization = authorization
        self._exists = exists

    async def require(self, identity: Identity, namespace: str, name: str) -> None:
        """Raise `Forbidden` unless the caller may."""
        act = UPDATE_SERVICE if self._exists(namespace, name) else CREATE_SERVICE
        await self._authorization.require(identity, act.access(namespace, name))
        await self._authorization.require(identity, CREATE_DEPLOYMENTS.access(namespace))
