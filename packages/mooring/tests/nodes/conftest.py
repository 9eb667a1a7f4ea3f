"""Tests on real nodes share one cluster with all images, and one Mooring, which the last test uninstalls."""

from collections.abc import Iterator
from typing import Any

import pytest

from drydock import RealKubernetes
from packages.mooring.tests.nodes.images import write_images
from packages.mooring.tests.nodes.installation import Installation, installed
from packages.mooring.tests.requirements import require_helm, require_kubectl, require_nodes


@pytest.fixture(scope="session")
def nodes_with_images(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealKubernetes]:
    """The session's cluster of real nodes."""
    require_nodes()
    require_kubectl()
    require_helm()
    archive = write_images(tmp_path_factory.mktemp("images"))
    nodes: RealKubernetes = request.getfixturevalue("real_nodes_cluster")
    nodes.load_images(archive)
    archive.unlink()
    yield nodes


@pytest.fixture(scope="session")
def mooring(nodes_with_images: RealKubernetes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A release of the built image, with two replicas and a PostgreSQL."""
    with installed(nodes_with_images, tmp_path_factory.mktemp("installed")) as found:
        yield found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A failure shows what the cluster was like."""
    report = yield
    mooring = getattr(item, "funcargs", {}).get("mooring")
    if report.failed and isinstance(mooring, Installation):
        report.sections.append(("cluster", mooring.describe()))
    return report
