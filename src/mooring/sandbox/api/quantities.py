"""Resource quantities such as `500m` and `2Gi`: read, and written back in their shortest form."""

import re
from decimal import Decimal
from functools import lru_cache

from mooring.sandbox.api.status import Refusal

_SHAPE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@lru_cache(maxsize=4096)
def parse_quantity(text: object) -> Decimal:
    """The exact value."""
    found = _SHAPE.fullmatch(str(text).strip())
    if found is None:
        raise Refusal(400, "BadRequest", f"quantities must match the regular expression '{_SHAPE.pattern}': {text!r}")
    number, exponent, suffix = found.groups()
    value = Decimal(number)
    if exponent:
        return value.scaleb(int(exponent))
    if suffix in _BINARY:
        return value * (1 << _BINARY[suffix])
    return value.scaleb(_DECIMAL[suffix]) if suffix else value


def format_quantity(value: Decimal, *, binary: bool = False) -> str:
    """The shortest text with a whole number in front."""
    if value != value.to_integral_value():
        return f"{int((value * 1000).to_integral_value(rounding='ROUND_CEILING'))}m"
    whole = int(value)
    units = [(suffix, 1 << power) for suffix, power in _BINARY.items()] if binary else _THOUSANDS
    for suffix, unit in reversed(units):
        if whole and whole % unit == 0:
            return f"{whole // unit}{suffix}"
    return str(whole)


_THOUSANDS = [(suffix, 10**power) for suffix, power in _DECIMAL.items() if power > 0]
