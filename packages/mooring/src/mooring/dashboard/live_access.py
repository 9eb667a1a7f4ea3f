"""What the live view of a page may show to its reader: the same that the page itself shows."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Request

from mooring.api.access.acts import (
    READ_INVARIANTS,
    READ_POOL,
    READ_WORKER,
    SEE_AUDIT,
    SEE_NODES,
    SEE_POOLS,
    Act,
    Sees,
    sees,
)
from mooring.api.access.authorization import Authorization
from mooring.api.access.guard import Guard, Recheck
from mooring.api.access.scope import Scopes
from mooring.dashboard.live import View
from mooring.dashboard.reader import find_reader
from mooring.dashboard.views import Selection
from mooring.model.errors import InvalidInput, MooringError
from mooring.model.identity import Identity
from mooring.queries.visibility import EVERYTHING

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
    "pool": READ_POOL,
    "claim": READ_POOL,
}
OF_ONE = frozenset({"worker", "pool", "claim"})
"""Pages of one object, whose subject is `namespace/name`; that of a claim is `namespace/pool/id`."""


class LiveAccess:
    """Asks for live views, whose page is in the query and not in the path."""

    def __init__(self, authorization: Authorization, scopes: Scopes, guard: Guard) -> None:
        self._authorization = authorization
        self._scopes = scopes
        self._guard = guard

    async def require(self, identity: Identity, page: str, selection: Selection) -> View:
        """The view of the page for this reader. Raises `Forbidden` if it may not read the page at all."""
        rule = RULES.get(page)
        if rule is None:
            raise InvalidInput("page", page, f"one of {', '.join(RULES)}")
        namespace, _, name = selection.subject.partition("/") if page in OF_ONE else ("", "", "")
        if page == "claim":
            name, _, _ = name.partition("/")
        if isinstance(rule, Sees):
            visibility = await self._scopes.of(identity, rule.resources)
        else:
            await self._authorization.require(identity, rule.access(namespace, name))
            visibility = EVERYTHING
        return View(page, selection, visibility, await find_reader(identity, self._scopes, page, namespace))

    def recheck(self, request: Request[Any, Any, Any], seen: View) -> Callable[[], Awaitable[bool]]:
        """Whether the view may still be sent: asked with each message, answered from memory for a few seconds."""
        permission = Recheck(self._guard, request)

        async def holds() -> bool:
            if not permission.due:
                return True
            try:
                still = await permission.holds()
                return still and await self.require(request.user, seen.page, seen.selection) == seen
            except MooringError:
                return False

        return holds


async def provide_live_access(authorization: Authorization, scopes: Scopes, guard: Guard) -> LiveAccess:
    """As a dependency of the stream."""
    return LiveAccess(authorization, scopes, guard)
