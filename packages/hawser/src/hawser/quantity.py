"""Kubernetes quantities ("100m", "1.5Gi", "1e3"): read as exact numbers, written in their shortest form."""

import functools
import math
import re
from fractions import Fraction

from hawser.errors import InvalidInput

_THOUSANDS = [(suffix, 1000**power) for power, suffix in enumerate("kMGTPE", start=1)]
_BINARY = [(f"{suffix}i", 1024**power) for power, suffix in enumerate("KMGTPE", start=1)]
_SCALES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    **{suffix: Fraction(unit) for suffix, unit in (*_THOUSANDS, *_BINARY)},
}
_QUANTITY = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,2})|([numkMGTPE]?|[KMGTPE]i))", re.ASCII)
_LONGEST = 64


@functools.lru_cache(maxsize=4096)
def parse_quantity(value: str | int | float, field: str = "quantity") -> Fraction:
    """The exact value; a custom resource may also hold it as a number. Raises `InvalidInput` naming the field."""
    text = str(value)
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise InvalidInput(field, value, 'a quantity such as "500m", "2" or "1.5Gi"')
    sign, digits, exponent, suffix = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SCALES[suffix]
    number = Fraction(digits.rstrip(".")) * scale
    return -number if sign == "-" else number


def in_millis(quantity: Fraction) -> int:
    """Thousandths, rounded up as Kubernetes does: the unit for CPU."""
    return math.ceil(quantity * 1000)


def in_units(quantity: Fraction) -> int:
    """Whole units, rounded up as Kubernetes does: bytes for memory."""
    return math.ceil(quantity)


def format_quantity(quantity: Fraction, *, binary: bool = False) -> str:
    """The shortest text with a whole number in front."""
    if quantity.denominator != 1:
        return f"{in_millis(quantity)}m"
    whole = int(quantity)
    for suffix, unit in reversed(_BINARY if binary else _THOUSANDS):
        if whole and whole % unit == 0:
            return f"{whole // unit}{suffix}"
    return str(whole)


@functools.lru_cache(maxsize=4096)
def count_of(resource: str, value: str | int | float) -> int:
    """A quantity in the unit its resource is counted in: thousandths of a CPU, whole units of everything else."""
    quantity = parse_quantity(value, resource)
    return in_millis(quantity) if resource == "cpu" else in_units(quantity)
