"""What every test may use."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import structlog


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine to its end on a fresh event loop, in real time."""
    return asyncio.run


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A command that is run inside a test may set up logging; the next test starts with the defaults again."""
    yield
    structlog.reset_defaults()
