"""What the live view of a page may show to its reader: the same that the page itself shows."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Request

from mooring.api.access.acts import READ_INVARIANTS, READ_WORKER, SEE_AUDIT, SEE_NODES, SEE_POOLS, Act, Sees, sees
from mooring.api.access.authorization import Authorization
from mooring.api.access.guard import Guard, Recheck
from mooring.api.access.scope import Scopes
from mooring.dashboard.views import Selection
from mooring.model.errors import InvalidInput, MooringError
from mooring.model.identity import Identity
from mooring.queries.sight import EVERYTHING, Sight

RULES: dict[str, Sees | Act] = {
    "fleet": SEE_NODES,
    "claims": SEE_POOLS,
    "warmups": sees("warmups"),
    "submissions": sees("submissions"),
    "services": sees("managedservices"),
    "invariants": READ_INVARIANTS,
    "audit": SEE_AUDIT,
    "worker": READ_WORKER,
    "node": SEE_NODES,
}


class LiveAccess:
    """Asks for live views, whose page is in the query and not in the path."""

    def __init__(self, authorization: Authorization, scopes: Scopes, guard: Guard) -> None:
        self._authorization = authorization
        self._scopes = scopes
        self._guard = guard

    async def require(self, identity: Identity, page: str, selection: Selection) -> Sight:
        """What the reader may see of the page. Raises `Forbidden` if it may not read the page at all."""
        rule = RULES.get(page)
        if rule is None:
            raise InvalidInput("page", page, f"one of {', '.join(RULES)}")
        if isinstance(rule, Sees):
            return await self._scopes.of(identity, rule.resources)
        namespace = selection.subject.partition("/")[0] if page == "worker" else ""
        await self._authorization.require(identity, rule.access(namespace))
        return EVERYTHING

    def recheck(
        self, request: Request[Any, Any, Any], page: str, selection: Selection, seen: Sight
    ) -> Callable[[], Awaitable[bool]]:
        """Whether the view may still be sent: asked with each message, answered from memory for a few seconds."""
        permission = Recheck(self._guard, request)

        async def holds() -> bool:
            if not permission.due:
                return True
            try:
                return await permission.holds() and await self.require(request.user, page, selection) == seen
            except MooringError:
                return False

        return holds


async def provide_live_access(authorization: Authorization, scopes: Scopes, guard: Guard) -> LiveAccess:
    """As a dependency of the stream."""
    return LiveAccess(authorization, scopes, guard)
