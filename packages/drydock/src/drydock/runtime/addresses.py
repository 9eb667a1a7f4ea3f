"""Addresses for pods: every pod its own.

Processes listen on loopback addresses. Simulated pods listen nowhere, so theirs only have to look real: a real control
plane puts no loopback address into the endpoints of a Service.
"""

import ipaddress
import zlib

LOOPBACK = ipaddress.IPv4Network("127.64.0.0/16")
IMAGINARY = ipaddress.IPv4Network("10.64.0.0/10")
LEAST_STRETCH = 256


class Addresses:
    """Hands out addresses, round and round a stretch that is twice as long as it has holders.

    Different folders begin at different places and stay there, so that two clusters seldom meet; an address that was
    given back rests for a while, so that who still knows it does not talk to a stranger.
    """

    def __init__(self, network: ipaddress.IPv4Network, seed: str) -> None:
        self._network = network
        self._usable = network.num_addresses - 2
        self._start = zlib.crc32(seed.encode()) % self._usable
        self._step = 0
        self._holders: dict[str, str] = {}
        self._addresses: dict[str, str] = {}

    def take(self, holder: str, wanted: str) -> str:
        """The holder's address: the one it has, else the wanted one if it is free, else the next free one."""
        if holder in self._addresses:
            return self._addresses[holder]
        if wanted and wanted not in self._holders and ipaddress.ip_address(wanted) in self._network:
            return self._give(holder, wanted)
        while True:
            address = str(self._network[(self._start + self._step) % self._usable + 1])
            self._step = (self._step + 1) % min(self._usable, max(LEAST_STRETCH, 2 * len(self._holders)))
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
