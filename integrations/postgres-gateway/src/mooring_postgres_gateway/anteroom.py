"""Connections whose password is not checked yet: so many at a time, shared fairly among addresses."""

import asyncio
from collections import defaultdict
from ipaddress import ip_address, ip_network


class Anteroom:
    """If it is full, an address gets in at the cost of the one that has the most connections here."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._of: defaultdict[str, dict[asyncio.Task[None], None]] = defaultdict(dict)  # the oldest first

    def enter(self, host: str, task: asyncio.Task[None]) -> bool:
        """Whether there is room. The task of a connection that has to go for it is cancelled."""
        address = _network(host)
        if sum(map(len, self._of.values())) >= self._places:
            most = max(self._of, key=lambda one: len(self._of[one]))
            if len(self._of[most]) <= len(self._of.get(address, ())) + 1:
                return False
            oldest = next(iter(self._of[most]))
            self._remove(most, oldest)
            oldest.cancel()
        self._of[address][task] = None
        return True

    def leave(self, host: str, task: asyncio.Task[None]) -> None:
        """Its password is checked, or it is gone. Once more is the same."""
        self._remove(_network(host), task)

    def _remove(self, address: str, task: asyncio.Task[None]) -> None:
        self._of[address].pop(task, None)
        if not self._of[address]:
            del self._of[address]


def _network(host: str) -> str:
    """An address; of IPv6, the network that a site has to itself."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return host if address.version == 4 else str(ip_network((address, 64), strict=False))
