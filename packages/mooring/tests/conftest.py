"""What every test of Mooring may use."""

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """A command that is run inside a test may set up logging; the next test starts with the defaults again."""
    yield
    structlog.reset_defaults()
