"""The string formats that a custom kind's schema may name."""

import ipaddress
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from drydock.api.schema.validation import is_time

_GO_DURATION = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)((\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))*|[+-]?0")
_WORDY_DURATION = re.compile(
    r"\d+\s*(ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week)[a-z]*", re.IGNORECASE
)
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _matches(pattern: str, longest: int = 2**31) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: len(text) <= longest and compiled.fullmatch(text) is not None


def _parses(parser: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parser(text)
        except ValueError:
            return False
        return True

    return check


def _is_duration(text: str) -> bool:
    return _GO_DURATION.fullmatch(text) is not None or _WORDY_DURATION.search(text) is not None


def _is_uri(text: str) -> bool:
    return text.startswith("/") or (bool(urlsplit(text).scheme) and ":" in text)


def _is_network(text: str) -> bool:
    return "/" in text and _parses(lambda given: ipaddress.ip_network(given, strict=False))(text)


_HOST_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")


def _is_hostname(text: str) -> bool:
    *labels, last = text.split(".")
    ends_well = bool(re.fullmatch("[A-Za-z]{2,63}", last)) if labels else bool(_HOST_LABEL.fullmatch(last))
    return ends_well and len(text) <= 255 and all(_HOST_LABEL.fullmatch(label) for label in labels)


_HEX = "[0-9a-fA-F]"
_CHECKS: dict[str, Callable[[str], bool]] = {
    "byte": _matches(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"),
    "cidr": _is_network,
    "date": lambda text: re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and is_time(f"{text}T00:00:00Z"),
    "datetime": is_time,
    "duration": _is_duration,
    "email": _matches(r"[^@\s]+@[^@\s]+"),
    "hexcolor": _matches(rf"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "hostname": _is_hostname,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "k8slongname": _matches(rf"{_LABEL}(\.{_LABEL})*", 253),
    "k8sshortname": _matches(_LABEL, 63),
    "mac": _matches(rf"({_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}"),
    "uri": _is_uri,
    "uuid": _matches(rf"{_HEX}{{8}}(-?{_HEX}{{4}}){{3}}-?{_HEX}{{12}}"),
}


def fits_format(text: str, name: str) -> bool:
    """Does the text have the named format? Unknown formats hold nothing back."""
    check = _CHECKS.get(name.replace("-", ""))
    return check is None or check(text)
