"""The binary form of `numeric`: digits in base 10,000. No I/O."""

import struct
from decimal import Decimal

_NAN, _INFINITY, _MINUS_INFINITY, _MINUS = 0xC000, 0xD000, 0xF000, 0x4000
_BASE_DIGITS = 4


def encode_numeric(value: Decimal) -> bytes:
    """As the server sends it."""
    if value.is_nan():
        return struct.pack("!HhHH", 0, 0, _NAN, 0)
    if value.is_infinite():
        return struct.pack("!HhHH", 0, 0, _INFINITY if value > 0 else _MINUS_INFINITY, 0)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    text = ("".join(map(str, digits)) + "0" * max(0, exponent)).rjust(scale, "0")
    whole, fraction = (text[: len(text) - scale], text[len(text) - scale :].rjust(scale, "0")) if scale else (text, "")
    whole = whole.rjust(-(-len(whole) // _BASE_DIGITS) * _BASE_DIGITS, "0")
    fraction = fraction.ljust(-(-len(fraction) // _BASE_DIGITS) * _BASE_DIGITS, "0")
    joined = whole + fraction
    groups = [int(joined[at : at + _BASE_DIGITS]) for at in range(0, len(joined), _BASE_DIGITS)]
    weight = len(whole) // _BASE_DIGITS - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    if not groups:
        weight = 0
    head = struct.pack("!HhHH", len(groups), weight, _MINUS if sign else 0, scale)
    return head + struct.pack(f"!{len(groups)}H", *groups)


def decode_numeric(raw: bytes) -> Decimal:
    """As a client sends it; ValueError for anything else."""
    if len(raw) < 8:
        raise ValueError("a numeric has at least 8 bytes")
    count, weight, sign, scale = struct.unpack_from("!HhHH", raw)
    if sign in (_NAN, _INFINITY, _MINUS_INFINITY):
        return Decimal({_NAN: "NaN", _INFINITY: "Infinity", _MINUS_INFINITY: "-Infinity"}[sign])
    if len(raw) != 8 + 2 * count or sign not in (0, _MINUS):
        raise ValueError("malformed numeric")
    groups = struct.unpack_from(f"!{count}H", raw, 8)
    if any(group > 9999 for group in groups):
        raise ValueError("malformed numeric")
    digits = "".join(f"{group:04d}" for group in groups) or "0"
    exponent = (weight - count + 1) * _BASE_DIGITS if groups else 0
    value = Decimal((1 if sign else 0, tuple(map(int, digits)), exponent))
    return Decimal(f"{value:.{scale}f}")
