"""Probes of Mooring's kinds run twice: on the embedded cluster and on a real control plane."""

from collections.abc import Iterator

import pytest

from hawser.clock import SystemClock
from mooring.kinds.installation import install_crds
from packages.drydock.tests.conformance.world import HostedCluster, Probe, hosted_cluster
from packages.mooring.tests.requirements import require_kubernetes


@pytest.fixture(scope="session", params=["embedded", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
def cluster(request: pytest.FixtureRequest) -> Iterator[HostedCluster]:
    if request.param == "kubernetes":
        require_kubernetes()

    async def install(probe: Probe) -> None:
        await install_crds(probe.client, SystemClock())

    with hosted_cluster(request.param) as hosted:
        hosted.run(install)
        yield hosted
