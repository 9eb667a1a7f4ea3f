"""What a caller may see: asked for the whole cluster first, then for each namespace in which something is."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mooring.api.access.acts import CORE, LIST, Act
from mooring.api.access.authorization import Authorization
from mooring.model.identity import Identity
from mooring.queries.visibility import EVERYTHING, EVERYWHERE, Namespaces, Visibility

KnownNamespaces = Mapping[str, Callable[[], Iterable[str]]]
"""By resource: the namespaces in which some are."""

_CLUSTER_WIDE = {"nodes": Act(LIST, "nodes", group=CORE), "invariants": Act(LIST, "invariants")}


class Scopes:
    """Finds out what callers may see."""

    def __init__(self, authorization: Authorization, known: KnownNamespaces) -> None:
        self._authorization = authorization
        self._known = known

    async def of(self, identity: Identity, resources: Iterable[str]) -> Visibility:
        """What the caller may see of these resources; nothing of others."""
        if identity.is_operator:
            return EVERYTHING
        found: dict[str, Any] = {}
        for resource in resources:
            if resource in _CLUSTER_WIDE:
                found[resource] = await self._authorization.allows(identity, _CLUSTER_WIDE[resource].access())
            else:
                found[resource] = await self._namespaces(identity, resource)
        return Visibility(**found)

    async def _namespaces(self, identity: Identity, resource: str) -> Namespaces:
        return await self.where(identity, Act(LIST, resource), self._known[resource]())

    async def where(self, identity: Identity, act: Act, among: Iterable[str]) -> Namespaces:
        """The namespaces in which the caller may do this: all, or some of the given ones."""
        if await self._authorization.allows(identity, act.access()):
            return EVERYWHERE
        names = sorted(set(among))
        answers = await asyncio.gather(*(self._authorization.allows(identity, act.access(name)) for name in names))
        return Namespaces(names=frozenset(name for name, allowed in zip(names, answers, strict=True) if allowed))

    def known(self) -> set[str]:
        """The namespaces that have objects of any resource."""
        return {name for names in self._known.values() for name in names()}

    async def seen_namespaces(self, identity: Identity, resource: str) -> set[str]:
        """The namespaces with objects of this resource that the caller may list."""
        seen = EVERYWHERE if identity.is_operator else await self._namespaces(identity, resource)
        return {name for name in self._known[resource]() if name in seen}
