"""The pytest plugin: a fixture `kubernetes`, a cluster for a test.

kubernetes           a namespace of the test's own in the session's cluster: `Kubernetes` in `kubernetes_fixture.py`
kubernetes_cluster   the session's cluster, for what is set up once, such as custom resource definitions

`--drydock=embedded` (the default) runs the embedded cluster, `--drydock=kubernetes` a real control plane. The plugin is
loaded by every test run where drydock is installed, so it imports nothing of drydock before a test asks for a cluster.
"""

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from drydock.kubernetes_fixture import Kubernetes

_RUNTIMES = ("simulated", "process")
_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("drydock", "Kubernetes clusters for tests")
    group.addoption(
        "--drydock",
        choices=("embedded", "kubernetes"),
        default="embedded",
        help="what the fixture `kubernetes` runs on: the embedded cluster, or a real control plane",
    )
    parser.addini("drydock_nodes", "number of nodes of the fixture `kubernetes`", default="1")
    parser.addini(
        "drydock_runtime",
        "what runs containers in the fixture `kubernetes`: simulated (nothing is executed, any image runs) or process",
        default="simulated",
    )


@pytest.fixture(scope="session")
def kubernetes_cluster(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Kubernetes]":
    """The cluster of this test session, seen from its namespace `default`."""
    from drydock.cluster import LocalOptions, plain_nodes
    from drydock.kubernetes.binaries import BinariesMissing
    from drydock.kubernetes_fixture import running_cluster

    runtime = pytestconfig.getini("drydock_runtime")
    if runtime not in _RUNTIMES:
        raise pytest.UsageError(f"drydock_runtime must be one of {', '.join(_RUNTIMES)}, not {runtime!r}")
    options = LocalOptions(nodes=plain_nodes(int(pytestconfig.getini("drydock_nodes"))), runtime=runtime)
    real = pytestconfig.getoption("drydock") == "kubernetes"
    try:
        with running_cluster(real, tmp_path_factory.mktemp("drydock"), options) as cluster:
            yield cluster
    except BinariesMissing as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture
def kubernetes(
    request: pytest.FixtureRequest,
    kubernetes_cluster: "Kubernetes",
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[Kubernetes]":
    """A namespace of this test's own in the cluster of the session; it is deleted after the test."""
    from drydock.kubernetes_fixture import share

    folder = tmp_path_factory.mktemp("kubernetes")
    with share(kubernetes_cluster, folder, f"{next(_numbers)}-{request.node.name}") as found:
        yield found
