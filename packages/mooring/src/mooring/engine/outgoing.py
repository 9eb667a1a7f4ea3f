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
from mooring.planning.destinations import OutgoingPolicy, choose_fix, is_address, refuse_destination, refuse_url


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
    """A session without proxies and cookies, whose connections are judged. Answers are not unpacked: a few bytes could
    become more than the memory holds.
    """
    resolver = GuardedResolver(policy, aiohttp.ThreadedResolver())
    connector = aiohttp.TCPConnector(resolver=resolver)
    return aiohttp.ClientSession(
        connector=connector,
        trust_env=False,
        auto_decompress=False,
        headers={"Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def check_url(url: str, policy: OutgoingPolicy) -> None:
    """Raise `DestinationRefused` for a host that is refused by name, or for an address: that is not resolved."""
    if why := refuse_url(url, policy):
        raise _refusal(why)


async def find_refusal(url: str, policy: OutgoingPolicy, names: AbstractResolver) -> str:
    """Why a call of this URL would not be made now; empty if it would. Nothing is connected to."""
    if why := refuse_url(url, policy):
        return why
    host = URL(url).host or ""
    if is_address(host):
        return ""
    try:
        found = await names.resolve(host)
    except OSError as error:
        return f"{host} cannot be resolved: {error.strerror or error}"
    reasons = [refuse_destination(host, one["host"], policy) for one in found]
    return reasons[0] if reasons and all(reasons) else ""


def _refusal(why: str) -> DestinationRefused:
    OUTGOING_REFUSED.inc()
    return DestinationRefused(why, fix=choose_fix(why))
