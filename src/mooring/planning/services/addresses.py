"""Which addresses may be asked for a service's document: its own pods' and its own Service's, nothing else."""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Where the sandbox's process runtime puts pods. Any other loopback address is this machine, never a pod.
_PROCESS_PODS = ip_network("127.64.0.0/16")


def refuse_address(address: str, own: Collection[str]) -> str:
    """Why this address must not be asked; empty when it may. `own` is what the cluster says the service has."""
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
    """An IPv4 address that is written as an IPv6 one is still that IPv4 address."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
