"""Every probe runs twice: on the embedded cluster and on a real control plane. A difference fails one of the two."""

from collections.abc import Iterator

import pytest

from packages.drydock.tests.conformance.world import HostedCluster, hosted_cluster
from packages.drydock.tests.requirements import require_kubernetes


@pytest.fixture(scope="session", params=["embedded", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
def cluster(request: pytest.FixtureRequest) -> Iterator[HostedCluster]:
    if request.param == "kubernetes":
        require_kubernetes()
    with hosted_cluster(request.param) as hosted:
        yield hosted
