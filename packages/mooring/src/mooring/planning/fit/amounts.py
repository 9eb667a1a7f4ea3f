"""Amounts of a resource as text: CPUs, GiB, pieces."""

_BYTES = ("memory", "ephemeral-storage")
_UNITS = (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))


def describe_amount(resource: str, amount: int) -> str:
    """`4 CPU`, `1.5 GiB memory`, `2 nvidia.com/gpu`."""
    if resource == "cpu":
        return f"{_short(amount / 1000)} CPU"
    if resource in _BYTES or resource.startswith("hugepages-"):
        for unit, size in _UNITS:
            if amount >= size:
                return f"{_short(amount / size)} {unit} {resource}"
    return f"{amount} {resource}"


def _short(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".") if number < 10 else f"{number:.1f}".removesuffix(".0")
