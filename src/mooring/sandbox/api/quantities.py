"""Resource quantities such as `500m` and `2Gi`: read exactly, and written back in their shortest form."""

from fractions import Fraction

from mooring.model import quantity
from mooring.model.errors import InvalidInput
from mooring.sandbox.api.status import Refusal

_THOUSANDS = [(suffix, 1000**power) for power, suffix in enumerate("kMGTPE", start=1)]
_BINARY = [(f"{suffix}i", 1024**power) for power, suffix in enumerate("KMGTPE", start=1)]


def parse_quantity(value: str | int | float) -> Fraction:
    """The exact value."""
    try:
        return quantity.parse_quantity(value)
    except InvalidInput as error:
        raise Refusal(400, "BadRequest", error.message) from error


def format_quantity(value: Fraction, *, binary: bool = False) -> str:
    """The shortest text with a whole number in front."""
    if value.denominator != 1:
        return f"{quantity.in_millis(value)}m"
    whole = int(value)
    for suffix, unit in reversed(_BINARY if binary else _THOUSANDS):
        if whole and whole % unit == 0:
            return f"{whole // unit}{suffix}"
    return str(whole)
