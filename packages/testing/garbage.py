"""Cyclic garbage: the collector does not visit the collected tests and the imported modules again and again.

They are some 400,000 objects. In scenarios, visiting them took a quarter of the processor time.
"""

import gc

import pytest

_ALLOCATIONS = 50_000  # between two visits of young objects; Python's own 700 suits a small program


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)


def pytest_unconfigure() -> None:
    gc.unfreeze()
