"""Amounts of cpu, memory and the like: their canonical text, and the rules for requests and limits."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from drydock.api.answers.causes import invalid, required
from drydock.api.answers.status import Cause
from drydock.api.objects.names import label_key
from hawser.quantity import in_millis, parse_quantity

COMPUTE = ("cpu", "memory", "ephemeral-storage")
COUNTED = (  # by quotas, under their plain names
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
)
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_EXPONENT = re.compile(r"[eE][+-]?\d")


@lru_cache(maxsize=8192)
def canonical(quantity: str | int | float) -> str:
    """The quantity as the server stores it: whole, in the largest unit of its family, rounded up to thousandths."""
    text = str(quantity)
    thousandths = in_millis(parse_quantity(text))
    if text.endswith("i") and thousandths % 1000 == 0 and abs(thousandths) >= 1024_000:
        return _in_units(thousandths // 1000, 1024, ("", *_BINARY))
    if _EXPONENT.search(text):
        return _in_exponents(thousandths)
    return _in_units(thousandths, 1000, _DECIMAL[2:])


def canonical_resources(holder: dict[str, Any] | None, *sections: str) -> None:
    """Rewrite, in place, the quantities of the named maps of a holder."""
    for section in sections:
        amounts = (holder or {}).get(section)
        if isinstance(amounts, dict):
            for name, quantity in amounts.items():
                amounts[name] = canonical(quantity)


def wrong_requirements(path: str, requirements: dict[str, Any]) -> Iterator[Cause]:
    """What is wrong with a container's requests and limits."""
    limits = requirements.get("limits") or {}
    for name, quantity in limits.items():
        yield from _wrong_amount(f"{path}.limits[{name}]", name, quantity)
    for name, quantity in (requirements.get("requests") or {}).items():
        yield from _wrong_amount(f"{path}.requests[{name}]", name, quantity)
        yield from _wrong_share(path, name, quantity, limits.get(name))


def wrong_quantity(path: str, name: str, quantity: Any) -> Iterator[Cause]:
    """Negative, or a fraction of something that comes in whole pieces."""
    value = parse_quantity(quantity)
    if value < 0:
        yield invalid(path, canonical(quantity), "must be greater than or equal to 0")
    if _is_countable(name) and value.denominator != 1:
        yield invalid(path, canonical(quantity), "must be an integer")


def _wrong_amount(path: str, name: str, quantity: Any) -> Iterator[Cause]:
    misnamed = [invalid(path, name, told) for told in label_key(name)]
    if not misnamed and "/" not in name and not _is_standard(name):
        misnamed.append(invalid(path, name, "must be a standard resource type or fully qualified"))
        misnamed.append(invalid(path, name, "must be a standard resource for containers"))
    yield from misnamed
    yield from wrong_quantity(path, name, quantity)


def _wrong_share(path: str, name: str, request: Any, limit: Any) -> Iterator[Cause]:
    divisible = _is_native(name) and not name.startswith("hugepages-")
    if limit is None:
        if not divisible:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    wanted, allowed = parse_quantity(request), parse_quantity(limit)
    if wanted != allowed and not divisible:
        yield invalid(f"{path}.requests", canonical(request), f"must be equal to {name} limit of {canonical(limit)}")
    elif wanted > allowed:
        told = f"must be less than or equal to {name} limit of {canonical(limit)}"
        yield invalid(f"{path}.requests", canonical(request), told)


def _is_standard(name: str) -> bool:
    return name in COMPUTE or name.startswith("hugepages-")


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_countable(name: str) -> bool:
    return not _is_native(name) or name in ("pods", "services")


def _in_units(amount: int, step: int, units: tuple[str, ...]) -> str:
    chosen = 0
    while amount and amount % step == 0 and chosen < len(units) - 1:
        amount //= step
        chosen += 1
    return f"{amount}{units[chosen]}" if amount else "0"


def _in_exponents(thousandths: int) -> str:
    value, power = thousandths, -3
    while value and value % 1000 == 0:
        value, power = value // 1000, power + 3
    return f"{value}e{power}" if value and power else str(value)
