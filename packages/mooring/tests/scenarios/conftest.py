"""What scenarios may use."""

from contextlib import AbstractAsyncContextManager

import pytest

from packages.mooring.tests.scenarios.harbour import Harbour, harbour


@pytest.fixture
def world(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Harbour]:
    """A world in virtual time; `@pytest.mark.world(nodes=1, scripts=...)` makes another one."""
    asked = request.node.get_closest_marker("world")
    return harbour(**asked.kwargs) if asked else harbour()
