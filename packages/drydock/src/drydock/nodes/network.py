"""The addresses of a cluster of real nodes, in a range that the machine does not use. Pure arithmetic."""

import ipaddress
from dataclasses import dataclass

_FIRST_BLOCK = 128  # 10.128.0.0/16 to 10.191.0.0/16; Services have 10.0.0.0/16
_BLOCKS = 64
_FIRST_NODE = 10
MOST_NODES = 100


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """Where a node and its pods are."""

    address: str
    pods: str


@dataclass(frozen=True, slots=True)
class ClusterNetwork:
    """The block 10.<block>.0.0/16: nodes and this machine in its first /24, the pods of each node in another /24."""

    block: int

    @property
    def host(self) -> str:
        """This machine, seen from the nodes."""
        return f"10.{self.block}.0.1"

    @property
    def everything(self) -> str:
        return f"10.{self.block}.0.0/16"

    @property
    def prefix_length(self) -> int:
        return 24

    def node(self, number: int) -> NodeAddress:
        """The addresses of the node with this number, from 1."""
        return NodeAddress(f"10.{self.block}.0.{_FIRST_NODE + number}", f"10.{self.block}.{number}.0/24")


def compute_network(seed: int, used: list[str]) -> ClusterNetwork | None:
    """A block that none of the `used` ranges touches, the same one for the same seed where it is free."""
    taken = [ipaddress.ip_network(one, strict=False) for one in used]
    for step in range(_BLOCKS):
        found = ClusterNetwork(_FIRST_BLOCK + (seed + step) % _BLOCKS)
        own = ipaddress.ip_network(found.everything)
        if not any(own.overlaps(one) for one in taken if isinstance(one, ipaddress.IPv4Network)):
            return found
    return None
