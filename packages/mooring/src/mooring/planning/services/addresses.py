"""Which addresses Mooring may read a service's document from: only those of its own pods and its own Service."""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# The pod addresses of drydock's process runtime. Any other loopback address is this machine, never a pod.
_PROCESS_PODS = ip_network("127.64.0.0/16")


def refuse_address(address: str, own: Collection[str]) -> str:
    """Why this address must not be read.

    Empty if it may. `own` has the addresses that the cluster shows for the service.
    """
    if address not in own:
        return f"{address} is no address of this service"
    try:
        found = _unmapped(ip_address(address))
    except ValueError:
        return f"{address!r} is no address"
    if found.is_loopback:
        return "" if found.version == 4 and found in _PROCESS_PODS else f"{address} is this machine itself"
    if found.is_link_local:
        return f"{address} is link-local: that is where clouds keep credentials"
    if found.is_unspecified or found.is_multicast or found.is_reserved:
        return f"{address} is no address of a pod"
    return ""


def _unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address of an IPv4-mapped IPv6 address."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
