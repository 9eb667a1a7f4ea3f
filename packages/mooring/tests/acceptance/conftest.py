"""Tests that only look share one `up`; with `cluster` they run on the sandbox and on a real control plane."""

import pytest

from packages.mooring.tests.acceptance.browser import browser
from packages.mooring.tests.acceptance.world import Up, shared_up

__all__ = ["browser"]

CLUSTERS = ["sandbox", pytest.param("kubernetes", marks=pytest.mark.kubernetes)]


@pytest.fixture(scope="session", params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> str:
    """The name of the cluster, as `--cluster` takes it."""
    return str(request.param)


@pytest.fixture(scope="session")
def up(request: pytest.FixtureRequest, cluster: str) -> Up:
    return shared_up(request.config, cluster)
