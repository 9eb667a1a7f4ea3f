"""Whether a browser's request comes from Mooring's own pages."""

import re
from typing import Any

from litestar.connection import ASGIConnection

from mooring.model.errors import Forbidden

Connection = ASGIConnection[Any, Any, Any, Any]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_FOREIGN = re.compile(r"(?!127\.|::1$)[0-9a-f.:]+(%.*)?")  # an address that is not a loopback one
_OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?")


def is_reading(request: Connection) -> bool:
    """Whether the request changes nothing."""
    return request.scope.get("method") in _READING


def refuse_foreign_origin(request: Connection) -> None:
    """Browsers send the cookie automatically, so a write must also come from our own pages."""
    if is_reading(request):
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


def comes_from_this_machine(request: Connection) -> bool:
    """Whether the client is on this machine, and the Host header is not a name that somebody else controls.

    Containers of `mooring up --cluster nodes` reach the same server by another address, and can send any Host header.
    """
    hosts = request.headers.getall("host", [])
    named = len(hosts) == 1 and _OWN_HOST.fullmatch(hosts[0]) is not None
    return named and (request.client is None or not _FOREIGN.fullmatch(request.client.host))
