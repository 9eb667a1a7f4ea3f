"""What scenarios may use."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from packages.mooring.tests.scenarios.datasets import Dataset, dataset_world
from packages.mooring.tests.scenarios.harbour import Harbour, harbour


@pytest.fixture
def world(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Harbour]:
    """A world in virtual time; `@pytest.mark.world(nodes=1, scripts=...)` makes another one."""
    return harbour(**_asked(request))


@pytest.fixture
def dataset(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Dataset]:
    """A world with a dataset to warm and a control plane that runs; `@pytest.mark.world(...)` makes another one."""
    return dataset_world(**_asked(request))


def _asked(request: pytest.FixtureRequest) -> dict[str, Any]:
    marker = request.node.get_closest_marker("world")
    return marker.kwargs if marker else {}
