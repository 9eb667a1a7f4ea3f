"""What every test of the three packages may use."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine to its end on a fresh event loop, in real time."""
    return asyncio.run
