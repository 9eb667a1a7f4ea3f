"""The guard of the application: every request passes it before anything of the request is read."""

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from hawser.clock import Clock
from mooring.api.access.acts import KEY, Act, Asks, Open, Rule, Sees
from mooring.api.access.authentication import Authentication
from mooring.api.access.authorization import Authorization
from mooring.api.access.origin import Connection
from mooring.api.access.scope import Scopes
from mooring.api.limits import Limits, address_of, caller_of
from mooring.model.errors import Forbidden, MooringError, Unauthorized
from mooring.model.identity import Identity
from mooring.queries.visibility import EVERYTHING, Visibility

RECHECK_SECONDS = 10.0


class Guard:
    """Authenticates, then authorizes what the route declares. What declares nothing is refused."""

    def __init__(
        self, authentication: Authentication, authorization: Authorization, scopes: Scopes, limits: Limits, clock: Clock
    ) -> None:
        self._authentication = authentication
        self._authorization = authorization
        self._scopes = scopes
        self._limits = limits
        self.clock = clock

    def before(self, app: ASGIApp) -> ASGIApp:
        """The application behind this guard.

        A middleware, since the framework's own guards cost a copy of the route's handler for each request.
        """

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await self.check(ASGIConnection(scope, receive, send), scope["route_handler"])
                await app(scope, receive, send)
            finally:
                self._limits.leave(scope)

        return call

    async def check(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Raise unless the request is allowed. The caller is in `request.user` afterwards.

        Callers that prove nothing count by their address. Once there are too many, they are refused without a review.
        """
        if not isinstance(handler.opt.get(KEY), Open):
            try:
                connection.scope["user"] = await self._identify(connection)
            except Unauthorized:
                self._limits.admit(address_of(connection.scope))
                raise
        self._limits.enter(connection.scope, caller_of(connection.scope))
        await self._authorize(connection, handler)

    async def _identify(self, connection: Connection) -> Identity:
        return await self._authentication.identify(connection, lambda: self._limits.check(address_of(connection.scope)))

    async def _authorize(self, connection: Connection, handler: BaseRouteHandler) -> None:
        rule: Rule | None = handler.opt.get(KEY)
        if isinstance(rule, Act):
            await self._authorization.require(connection.user, rule.access_in(connection.path_params))
        elif not isinstance(rule, Sees | Asks | Open) and connection.scope.get("method") != "OPTIONS":
            raise Forbidden("this route declares no act, so no caller may use it", fix="report this as a bug")

    async def visibility(self, connection: Connection) -> Visibility:
        """What the caller may see of what the route lists. A route that is not a list was authorized as a whole."""
        rule = connection.route_handler.opt.get(KEY)
        if not isinstance(rule, Sees):
            return EVERYTHING
        return await self._scopes.of(connection.user, rule.resources)

    async def still_allows(self, connection: Connection, seen: Visibility | None = None) -> bool:
        """Whether a stream may go on: the caller is the same, is allowed the same, and sees the same."""
        try:
            before: Identity = connection.user
            connection.scope["user"] = await self._identify(connection)
            await self._authorize(connection, connection.route_handler)
            return bool(connection.user == before and (seen is None or await self.visibility(connection) == seen))
        except MooringError:
            return False


class Recheck:
    """The permission of a stream, checked again every few seconds: it must not outlive what was granted."""

    def __init__(self, guard: Guard, connection: Connection, seen: Visibility | None = None) -> None:
        self._guard = guard
        self._connection = connection
        self._seen = seen
        self._checked_at = guard.clock.monotonic()

    @property
    def due(self) -> bool:
        """Whether the next check asks again."""
        return self._guard.clock.monotonic() - self._checked_at >= RECHECK_SECONDS

    async def holds(self) -> bool:
        """Whether the stream may go on."""
        if not self.due:
            return True
        self._checked_at = self._guard.clock.monotonic()
        return await self._guard.still_allows(self._connection, self._seen)
