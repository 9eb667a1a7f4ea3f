"""Who a request comes from: a bearer token, or the session of a browser.

On one machine (`mooring up`) pages may be read without a login. The Host header must then name this machine, so that a
foreign web page cannot read them through a host name that it controls.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass

from mooring.api.access.kubernetes_tokens import KubernetesTokens
from mooring.api.access.origin import Connection, comes_from_this_machine, is_reading, refuse_foreign_origin
from mooring.api.access.sessions import COOKIE, PageSessions, no_session
from mooring.api.access.static_tokens import StaticTokens, hash_token
from mooring.model.errors import Forbidden, Unauthorized
from mooring.model.identity import LOCAL_READER, OPERATOR, Identity

BeforeAsking = Callable[[], None]
"""Called before the API server or the ledger is asked about a token or a session that is not known; it may raise."""

_HOW = "send 'Authorization: Bearer TOKEN', or open /login in a browser"


@dataclass(frozen=True, slots=True)
class Authentication:
    """Turns tokens and sessions into identities."""

    operator_token: str
    static: StaticTokens
    kubernetes: KubernetesTokens
    sessions: PageSessions
    open_pages: bool = False

    async def identify_token(self, token: str, before_asking: BeforeAsking) -> Identity:
        """Whose token it is, or `Unauthorized`."""
        if not token:
            raise Unauthorized("the bearer token is empty", fix=_HOW)
        if hmac.compare_digest(token.encode(), self.operator_token.encode()):
            return OPERATOR
        if (known := self.static.identity_of(hash_token(token))) is not None:
            return known
        if "." in token:
            return await self.kubernetes.identify(token, before_asking)
        raise Unauthorized("the bearer token is not valid", fix="mooring login  # or use the token in the state folder")

    async def identify(self, request: Connection, before_asking: BeforeAsking) -> Identity:
        """Who asks, or `Unauthorized`."""
        scheme, _, token = _authorization(request).partition(" ")
        if scheme.lower() == "bearer":
            return await self.identify_token(token.strip(), before_asking)
        reading = is_reading(request)
        session_id = request.cookies.get(COOKIE, "")
        if session_id:
            identity = await self.sessions.identify(session_id, before_asking, reading=reading)
            if identity is not None:
                refuse_foreign_origin(request)
                return identity
        if self.open_pages and reading and not request.scope["path"].startswith("/v1/"):
            if comes_from_this_machine(request):
                return LOCAL_READER
            raise Forbidden("pages are open on this machine only", fix="open them at 127.0.0.1, or log in at /login")
        raise no_session() if session_id else Unauthorized("no bearer token was sent", fix=_HOW)

    async def log_in(self, token: str) -> str:
        """The id of a new session for whom the token stands for."""
        identity = await self.identify_token(token, lambda: None)
        return await self.sessions.create(identity, hash_token(token))


def _authorization(request: Connection) -> str:
    """The header, without parsing all others: claims come with a bearer token, thousands a second."""
    for name, value in request.scope["headers"]:
        if name == b"authorization":
            return value.decode("latin-1")
    return ""
