"""Connections to hosts that users name: the address is judged when a name is resolved for a connection.

The addresses that are judged are those that are connected to, so a name that resolves to another address a moment
later (DNS rebinding) gains nothing.
"""

import socket

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from mooring.engine.metrics import OUTGOING_REFUSED
from mooring.model.errors import Refused
from mooring.planning.destinations import FIX, OutgoingPolicy, is_address, refuse_destination, refuse_host


class DestinationRefused(Refused):
    """Mooring does not connect there."""

    code = "destination_refused"


class GuardedResolver(AbstractResolver):
    """Passes on only the addresses that the policy allows. Raises `DestinationRefused` if none is left."""

    def __init__(self, policy: OutgoingPolicy, inner: AbstractResolver) -> None:
        self._policy = policy
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        reasons = {one["host"]: refuse_destination(host, one["host"], self._policy) for one in found}
        allowed = [one for one in found if not reasons[one["host"]]]
        if found and not allowed:
            raise _refusal(next(iter(reasons.values())))
        return allowed

    async def close(self) -> None:
        await self._inner.close()


def open_session(policy: OutgoingPolicy) -> aiohttp.ClientSession:
    """A session without proxies and cookies, whose connections are judged."""
    resolver = GuardedResolver(policy, aiohttp.ThreadedResolver())
    connector = aiohttp.TCPConnector(resolver=resolver)
    return aiohttp.ClientSession(connector=connector, trust_env=False, cookie_jar=aiohttp.DummyCookieJar())


def check_url(url: str, policy: OutgoingPolicy) -> None:
    """Raise `DestinationRefused` for a host that is refused by name, or for an address: that is not resolved."""
    try:
        host = URL(url).host or ""
    except ValueError as error:
        raise _refusal("the URL is not valid") from error
    why = refuse_host(host, policy) if host else "the URL has no host"
    if not why and is_address(host):
        why = refuse_destination(host, host, policy)
    if why:
        raise _refusal(why)


def _refusal(why: str) -> DestinationRefused:
    OUTGOING_REFUSED.inc()
    return DestinationRefused(why, fix=FIX)
