"""Parameters of which a few run in every lane, and the others only in the full run."""

from collections.abc import Iterable

import pytest


def fast_first(values: Iterable[object], fast: int) -> list[object]:
    """For `parametrize`: the first `fast` values as they are, the others marked `slow`."""
    return [
        pytest.param(value, marks=[pytest.mark.slow] if place >= fast else []) for place, value in enumerate(values)
    ]
