"""Who may write a pool: to change one is another verb than to create it."""

from collections.abc import Callable

from mooring.api.access.acts import CHANGE_POOL, CREATE_POOL
from mooring.api.access.authorization import Authorization
from mooring.model.identity import Identity


class PoolAccess:
    """What a caller may do with a pool. `exists`: whether the pool exists."""

    def __init__(self, authorization: Authorization, exists: Callable[[str, str], bool]) -> None:
        self._authorization = authorization
        self._exists = exists

    async def require(self, identity: Identity, namespace: str, name: str) -> None:
        """Raise `Forbidden` unless the caller may."""
        act = CHANGE_POOL if self._exists(namespace, name) else CREATE_POOL
        await self._authorization.require(identity, act.access(namespace, name))
