"""Addresses for pods: every pod its own.

Processes listen on loopback addresses. Simulated pods listen nowhere, so theirs only have to look real: a real control
plane puts no loopback address into the endpoints of a Service.
"""

import ipaddress
import zlib

LOOPBACK = ipaddress.IPv4Network("127.64.0.0/10")
IMAGINARY = ipaddress.IPv4Network("10.64.0.0/10")


class Addresses:
    """Hands out addresses. Different folders begin at different places, so that two clusters seldom meet."""

    def __init__(self, network: ipaddress.IPv4Network, seed: str) -> None:
        self._network = network
        self._usable = network.num_addresses - 2
        self._next = zlib.crc32(seed.encode()) % self._usable
        self._holders: dict[str, str] = {}
        self._addresses: dict[str, str] = {}

    def take(self, holder: str, wanted: str) -> str:
        """The holder's address: the one it has, else the wanted one if it is free, else the next free one."""
        if holder in self._addresses:
            return self._addresses[holder]
        if wanted and wanted not in self._holders and ipaddress.ip_address(wanted) in self._network:
            return self._give(holder, wanted)
        while True:
            address = str(self._network[self._next + 1])
            self._next = (self._next + 1) % self._usable
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
