"""Every probe runs twice: on the sandbox and on a real control plane. A difference fails one of the two."""

from collections.abc import Iterator

import pytest

from tests.conformance.world import HostedCluster
from tests.requirements import require_kubernetes


@pytest.fixture(scope="session", params=["sandbox", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
def cluster(request: pytest.FixtureRequest) -> Iterator[HostedCluster]:
    if request.param == "kubernetes":
        require_kubernetes()
    hosted = HostedCluster(request.param).start()
    yield hosted
    hosted.stop()
