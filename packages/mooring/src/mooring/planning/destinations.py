"""Where Mooring connects to: mints, workers and services, and never to places that only Mooring's machine may reach."""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from yarl import URL

from mooring.model.errors import InvalidInput

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Metadata services that are not link-local: Azure's agent, Alibaba, Oracle, Google over IPv6, AWS over IPv6.
_METADATA = tuple(map(ip_network, ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd20:ce::254", "fd00:ec2::/32")))
_METADATA_NAMES = frozenset(
    {"metadata", "metadata.goog", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"}
)
# IPv6 addresses that end with the IPv4 address they lead to: NAT64, NAT64 of a site, IPv4-compatible.
_ENDS_WITH_IPV4 = tuple(map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")))
_NOT_LISTED = "is not in MOORING_OUTGOING_ALLOW"
_OWN_MACHINE = "is this machine itself"


@dataclass(frozen=True, slots=True)
class OutgoingPolicy:
    """What an operator allows. Without names and networks every destination is allowed that is not refused anyway."""

    names: tuple[str, ...] = ()  # hosts, or suffixes that begin with a dot
    networks: tuple[Network, ...] = ()
    loopback: bool = False  # pods and mints may be processes of this machine

    @property
    def restricted(self) -> bool:
        return bool(self.names or self.networks)

    def names_host(self, host: str) -> bool:
        """Whether a name of the list matches the host."""
        plain = host.lower().rstrip(".")
        return any(plain.endswith(name) if name.startswith(".") else plain == name for name in self.names)


THIS_MACHINE = OutgoingPolicy(loopback=True)


def parse_policy(allow: str, loopback: bool) -> OutgoingPolicy:
    """From the settings; raises `InvalidInput` for an entry that is neither a host, a suffix nor a network."""
    names: list[str] = []
    networks: list[Network] = []
    for entry in filter(None, (part.strip() for part in allow.split(","))):
        try:
            networks.append(ip_network(entry))
        except ValueError as error:
            if "/" in entry or ":" in entry or not entry.strip("."):
                expected = "hosts, .suffixes, addresses and CIDRs, separated by commas"
                raise InvalidInput("MOORING_OUTGOING_ALLOW", entry, expected) from error
            names.append(entry.lower().rstrip("."))
    return OutgoingPolicy(tuple(names), tuple(networks), loopback)


def refuse_host(host: str, policy: OutgoingPolicy) -> str:
    """Why no connection is made to this host of a URL, before its name is resolved; empty if the address decides."""
    if host.lower().rstrip(".") in _METADATA_NAMES:
        return f"{host} is a metadata service"
    if policy.names and not policy.networks and not policy.names_host(host):
        return f"{host} {_NOT_LISTED}"
    return ""


def refuse_destination(host: str, address: str, policy: OutgoingPolicy) -> str:
    """Why no connection is made to this address of a host; empty if it may."""
    if why := refuse_address(address, policy.loopback):
        return why
    if not policy.restricted or policy.names_host(host):
        return ""
    found = _unwrap(ip_address(address))
    if any(found in network for network in policy.networks if network.version == found.version):
        return ""
    return f"{host} ({address}) {_NOT_LISTED}"


@lru_cache(maxsize=16_384)  # health checks ask for the same addresses repeatedly
def refuse_address(address: str, loopback: bool) -> str:
    """Why no connection is made to this address; empty if it may. Anything but an address is refused."""
    try:
        found = _unwrap(ip_address(address))
    except ValueError:
        return f"{address!r} is not an IP address"
    if found.is_loopback:
        return "" if loopback else f"{address} {_OWN_MACHINE}"
    if found.is_link_local or any(found in network for network in _METADATA):
        return f"{address} is link-local or a metadata service: that is where clouds keep credentials"
    if found.is_unspecified or found.is_multicast or (found.version == 4 and found.is_reserved):
        return f"{address} is not the address of a machine"
    return ""


def refuse_url(url: str, policy: OutgoingPolicy) -> str:
    """Why no connection is made to this URL, as far as can be said before its name is resolved."""
    try:
        host = URL(url).host or ""
    except ValueError:
        return "the URL is not valid"
    if not host:
        return "the URL has no host"
    return refuse_host(host, policy) or (refuse_destination(host, host, policy) if is_address(host) else "")


def choose_fix(why: str) -> str:
    """What helps against a refusal: a setting is named only if it opens that destination."""
    if _NOT_LISTED in why:
        return "correct the URL, or allow it with MOORING_OUTGOING_ALLOW"
    if _OWN_MACHINE in why:
        return "correct the URL, or set MOORING_OUTGOING_LOOPBACK=true where pods are processes of this machine"
    if "cannot be resolved" in why:
        return "correct the URL, or the DNS of the cluster"
    return "correct the URL: no setting allows this destination"


def is_address(host: str) -> bool:
    """Whether the host of a URL is an address already."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _unwrap(address: Address) -> Address:
    """The IPv4 address inside an IPv6 address, if it is one that leads there."""
    if isinstance(address, IPv4Address):
        return address
    if int(address) > 1 and any(address in network for network in _ENDS_WITH_IPV4):  # :: and ::1 are themselves
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
