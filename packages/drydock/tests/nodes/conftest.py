"""Tests on real nodes share one cluster; a machine that cannot run it skips them, or fails them where it must."""

from collections.abc import Iterator

import pytest

from drydock.kubernetes_fixture import RealKubernetes
from packages.drydock.tests.requirements import require_nodes


@pytest.fixture(scope="session")
def cluster_of_nodes(request: pytest.FixtureRequest) -> RealKubernetes:
    """The session's cluster of real nodes."""
    require_nodes()
    found: RealKubernetes = request.getfixturevalue("real_nodes_cluster")
    return found


@pytest.fixture
def nodes(cluster_of_nodes: RealKubernetes, request: pytest.FixtureRequest) -> Iterator[RealKubernetes]:
    """A namespace of the test's own there. Every node is Ready before and after the test."""
    yield request.getfixturevalue("real_nodes")
    cluster_of_nodes.host.run(cluster_of_nodes.host.value.until_ready(), 150)
