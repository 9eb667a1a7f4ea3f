"""The same probes on drydock's kubelet, which runs processes, and on the real one, which runs containers."""

import asyncio
from collections.abc import Coroutine
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from drydock.cluster import Cluster, LocalOptions, local_cluster, plain_nodes
from drydock.kubernetes_fixture import RealKubernetes
from drydock.nodes.cluster import RealCluster
from hawser.clock import Entropy, SystemClock
from hawser.errors import ObjectNotFound
from hawser.resources import CONFIGMAPS, NAMESPACES, SERVICEACCOUNTS
from packages.drydock.tests.nodes.differences import DIFFERENCES
from packages.drydock.tests.nodes.probes import PROBES, Facts, Probe, Probed
from packages.drydock.tests.requirements import require_kubectl, require_nodes

pytestmark = [pytest.mark.nodes, pytest.mark.slow, pytest.mark.realtime]

AT_ONCE = 4
_numbers = count(1)


async def facts_of(cluster: Cluster | RealCluster) -> dict[str, Facts]:
    """What all probes tell of a cluster, a few at a time."""
    turns = asyncio.Semaphore(AT_ONCE)
    kubectl, clock = require_kubectl(), SystemClock()
    assert cluster.kubeconfig is not None
    kubeconfig: Path = cluster.kubeconfig

    async def tell(probe: Probe) -> Facts:
        async with turns:
            namespace = f"kubelet-{next(_numbers)}"
            await cluster.client.create(NAMESPACES, {"metadata": {"name": namespace}})
            await furnished(cluster, namespace)
            try:
                return await probe(Probed(cluster.client, clock, namespace, kubectl, kubeconfig))
            finally:
                await cluster.client.delete(NAMESPACES, namespace)

    told = await asyncio.gather(*map(tell, PROBES), return_exceptions=True)
    return {probe.__name__: fact for probe, fact in zip(PROBES, told, strict=True)}


async def furnished(cluster: Cluster | RealCluster, namespace: str) -> None:
    """Wait for what controllers put into every namespace."""
    for resource, name in ((SERVICEACCOUNTS, "default"), (CONFIGMAPS, "kube-root-ca.crt")):
        while True:
            try:
                await cluster.client.get(resource.raw(), name, namespace)
                break
            except ObjectNotFound:
                await SystemClock().sleep(0.1)


@pytest.fixture(scope="module")
def both(
    cluster_of_nodes: RealKubernetes, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Facts], dict[str, Facts]]:
    """The facts of drydock's kubelet and of the real one, told at the same time."""
    folder = tmp_path_factory.mktemp("embedded")

    async def embedded() -> dict[str, Facts]:
        options = LocalOptions(nodes=plain_nodes(2))
        async with local_cluster(folder, SystemClock(), Entropy(), options) as cluster:
            return await facts_of(cluster)

    async def in_thread(work: Coroutine[Any, Any, dict[str, Facts]]) -> dict[str, Facts]:
        return await asyncio.to_thread(cluster_of_nodes.host.run, work)

    async def together() -> tuple[dict[str, Facts], dict[str, Facts]]:
        ours, theirs = await asyncio.gather(embedded(), in_thread(facts_of(cluster_of_nodes.host.value)))
        return ours, theirs

    return asyncio.run(together())


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.__name__)
def test_drydocks_kubelet_does_what_the_real_one_does(
    probe: Probe, both: tuple[dict[str, Facts], dict[str, Facts]]
) -> None:
    ours, theirs = (facts[probe.__name__] for facts in both)
    assert not isinstance(theirs, BaseException), theirs
    if reason := DIFFERENCES.get(probe.__name__):
        assert ours != theirs, f"no difference any more: {reason}"
        pytest.xfail(reason)
    assert not isinstance(ours, BaseException), ours
    assert ours == theirs


def test_the_differences_name_probes() -> None:
    require_nodes()
    assert set(DIFFERENCES) <= {probe.__name__ for probe in PROBES}
