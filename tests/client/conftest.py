"""One dock for all tests of the client: it takes a second to open."""

from collections.abc import Iterator

import pytest

from tests.client.dock import Dock


@pytest.fixture(scope="session")
def dock() -> Iterator[Dock]:
    with Dock() as opened:
        yield opened
