"""Names and addresses of machines."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether only this machine can be at this host."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
