"""Authentication. `/v1` needs the bearer token; pages need it too, as a cookie that `/login` sets.

On one machine (`mooring up`) pages may be read without a login. The Host header must then name this machine, so that a
foreign web page cannot read them through a host name that it controls.
"""

import hmac
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litestar import Request

from hawser.clock import Entropy
from mooring.model.errors import Forbidden, Misconfigured, Unauthorized

COOKIE = "mooring_token"
OPEN = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/login"})
# workers authenticate with their own token
_OWN_PROOF = frozenset({"/v1/dispatch", "/v1/dispatch/heartbeat", "/v1/dispatch/done"})
_OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?")
_READING = frozenset({"GET", "HEAD"})


def load_token(state: Path, configured: str, entropy: Entropy) -> str:
    """The configured token, or the one in `state/token` (mode 0600), which is created if it is missing."""
    if configured:
        return configured
    path = state / "token"
    try:
        if path.exists():
            path.chmod(0o600)
            return path.read_text().strip()
        token = entropy.token(24)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(token + "\n")
    except OSError as error:
        raise Misconfigured(f"{path}: {error.strerror}", fix="choose another folder with --state") from error
    return token


@dataclass(frozen=True, slots=True)
class Access:
    """Checks every request before its handler."""

    token: str
    open_pages: bool = False

    def matches(self, given: str) -> bool:
        """Whether the token is correct, compared in constant time."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    async def check(self, request: Request[Any, Any, Any]) -> None:
        """Raise unless the request is allowed."""
        path = request.scope["path"]
        if path in OPEN or path in _OWN_PROOF or path.startswith("/static/"):
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if self.matches(given):
                return
            raise Unauthorized("the bearer token is not valid", fix="use the token in the state folder")
        if self.matches(request.cookies.get(COOKIE, "")):
            _refuse_foreign_origin(request)
            return
        if self.open_pages and not path.startswith("/v1/") and request.method in _READING:
            if _OWN_HOST.fullmatch(request.headers.get("host", "")):
                return
            raise Forbidden("pages are open on this machine only", fix="open them at 127.0.0.1, or log in at /login")
        raise Unauthorized(
            "no bearer token was sent", fix="send 'Authorization: Bearer TOKEN', or open /login in a browser"
        )


def _refuse_foreign_origin(request: Request[Any, Any, Any]) -> None:
    """Browsers send the cookie automatically, so a write must also come from our own pages."""
    if request.method in _READING:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        ours = site in ("same-origin", "none")
    else:  # browsers omit it on plain HTTP to other machines
        ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    if not ours:
        raise Forbidden(
            "this write did not come from Mooring's own pages", fix="use the dashboard, or the bearer token"
        )
