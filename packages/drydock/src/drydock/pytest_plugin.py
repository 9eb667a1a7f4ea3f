"""The pytest plugin: a fixture `kubernetes`, a cluster for a test.

kubernetes           a namespace of the test's own in the session's cluster: `Kubernetes` in `kubernetes_fixture.py`
kubernetes_cluster   the session's cluster, for what is set up once, such as custom resource definitions
real_nodes           a namespace of the test's own in the session's cluster of real nodes: `RealKubernetes` there
real_nodes_cluster   the session's cluster of real nodes

`--drydock=embedded` (the default) runs the embedded cluster, `--drydock=kubernetes` a real control plane. The plugin is
loaded by every test run where drydock is installed, so it imports nothing of drydock before a test asks for a cluster.
"""

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from drydock.kubernetes_fixture import Kubernetes, RealKubernetes

_RUNTIMES = ("simulated", "process")
_GRACE_SECONDS = 20  # until a silent node of `real_nodes` is NotReady; kubelets report every 5 s
_numbers = count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("drydock", "Kubernetes clusters for tests")
    group.addoption(
        "--drydock",
        choices=("embedded", "kubernetes"),
        default="embedded",
        help="what the fixture `kubernetes` runs on: the embedded cluster, or a real control plane",
    )
    parser.addini("drydock_real_nodes", "number of nodes of the fixture `real_nodes`", default="3")
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
    from drydock.kubernetes.toolchain import BinariesMissing
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


@pytest.fixture(scope="session")
def real_nodes_cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[RealKubernetes]":
    """The cluster of real nodes of this test session. A machine that cannot run one skips the test, with the reason."""
    from drydock.kubernetes.components import PlaneOptions
    from drydock.kubernetes.toolchain import BinariesMissing
    from drydock.kubernetes_fixture import running_nodes
    from drydock.nodes.cluster import RealOptions
    from drydock.nodes.machine import NodesUnavailable, check_machine
    from drydock.nodes.programs import find_node_programs

    try:
        check_machine()
        find_node_programs()
    except (NodesUnavailable, BinariesMissing) as missing:
        pytest.skip(str(missing))
    plane = PlaneOptions(node_monitor_grace_seconds=_GRACE_SECONDS)
    options = RealOptions(int(pytestconfig.getini("drydock_real_nodes")), plane)
    with running_nodes(tmp_path_factory.mktemp("nodes"), options) as cluster:
        yield cluster


@pytest.fixture
def real_nodes(
    request: pytest.FixtureRequest,
    real_nodes_cluster: "RealKubernetes",
    tmp_path_factory: pytest.TempPathFactory,
) -> "Iterator[RealKubernetes]":
    """A namespace of this test's own in the session's cluster of real nodes; it is deleted after the test."""
    from drydock.kubernetes_fixture import share

    folder = tmp_path_factory.mktemp("kubernetes")
    with share(real_nodes_cluster, folder, f"{next(_numbers)}-{request.node.name}") as found:
        yield found
