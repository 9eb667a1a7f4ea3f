"""Which addresses Mooring may read a service's document from: only those of its own pods and its own Service."""

from collections.abc import Collection
from ipaddress import ip_address, ip_network

from mooring.planning.destinations import refuse_address

# The pod addresses of drydock's process runtime. Any other loopback address is this machine, never a pod.
_PROCESS_PODS = ip_network("127.64.0.0/16")


def refuse_foreign(address: str, own: Collection[str], loopback: bool) -> str:
    """Why this address must not be read.

    Empty if it may. `own` has the addresses that the cluster shows for the service; `loopback` says whether pods may
    be processes of this machine.
    """
    if address not in own:
        return f"{address} is not an address of this service"
    if why := refuse_address(address, loopback):
        return why
    if refuse_address(address, loopback=False) and ip_address(address) not in _PROCESS_PODS:
        return f"{address} is this machine itself"
    return ""
