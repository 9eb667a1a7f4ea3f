"""One dock for all tests of the client: it takes a second to open."""

import os
from collections.abc import Iterator

import pytest

from packages.mooring.tests.client.dock import TOKEN, Dock


@pytest.fixture(scope="session")
def dock() -> Iterator[Dock]:
    with Dock() as opened:
        yield opened


@pytest.fixture
def environment(dock: Dock) -> dict[str, str]:
    """Of commands that speak to the dock, without colours."""
    return {**os.environ, "MOORING_URL": dock.url, "MOORING_TOKEN": TOKEN, "NO_COLOR": "1"}
