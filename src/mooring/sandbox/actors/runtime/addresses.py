"""Loopback addresses for pods: every pod its own, out of 127.64.0.0/10."""

import ipaddress
import zlib

_RANGE = ipaddress.ip_network("127.64.0.0/10")
_USABLE = _RANGE.num_addresses - 2


class Addresses:
    """Hands out addresses. Different folders begin at different places, so that two clusters seldom meet."""

    def __init__(self, seed: str) -> None:
        self._next = zlib.crc32(seed.encode()) % _USABLE
        self._holders: dict[str, str] = {}
        self._addresses: dict[str, str] = {}

    def take(self, holder: str, wanted: str) -> str:
        """The holder's address: the one it has, else the wanted one if it is free, else the next free one."""
        if holder in self._addresses:
            return self._addresses[holder]
        if wanted and wanted not in self._holders and ipaddress.ip_address(wanted) in _RANGE:
            return self._give(holder, wanted)
        while True:
            address = str(_RANGE[self._next + 1])
            self._next = (self._next + 1) % _USABLE
            if address not in self._holders and not address.endswith((".0", ".255")):
                return self._give(holder, address)

    def release(self, holder: str) -> None:
        """The holder is gone."""
        if address := self._addresses.pop(holder, None):
            del self._holders[address]

    def _give(self, holder: str, address: str) -> str:
        self._holders[address] = holder
        self._addresses[holder] = address
        return address
