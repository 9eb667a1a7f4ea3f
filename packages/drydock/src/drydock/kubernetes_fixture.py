"""What the pytest plugin hands out: one cluster for a test session, and a share of it for each test."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import yaml

from drydock.certificates import write_private
from drydock.cluster import Cluster, LocalOptions, kubernetes_nodes, local_cluster
from drydock.hosting import Host, hosted
from drydock.kubernetes.launcher import ControlPlane
from drydock.nodes.cluster import RealCluster, RealOptions
from drydock.nodes.faults import inject
from drydock.nodes.launcher import real_cluster
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import connect
from hawser.errors import ObjectNotFound
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES, SERVICEACCOUNTS

T = TypeVar("T")
K = TypeVar("K", bound="Kubernetes")

_ACCOUNT_SECONDS = 30.0
_POLL_SECONDS = 0.02
_WORK_SECONDS = 120.0
_LOAD_SECONDS = 300.0
_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """A cluster as one test sees it: a namespace of its own, and ways in for the administrator."""

    url: str
    token: str
    namespace: str
    kubeconfig: Path  # its context has this namespace
    host: Host[Cluster] | Host[RealCluster]

    @property
    def environment(self) -> dict[str, str]:
        """For programs such as kubectl: add it to theirs."""
        return {"KUBECONFIG": str(self.kubeconfig)}

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[KubeClient]:
        """A client in the caller's event loop."""
        connection = await connect(load_kubeconfig(self.kubeconfig, {}).target(), SystemClock())
        try:
            yield KubeClient(connection)
        finally:
            await connection.close()

    def run(self, work: Callable[[KubeClient], Awaitable[T]]) -> T:
        """The result of `work(client)`, for tests that are not asynchronous."""

        async def working() -> T:
            return await work(self.host.value.client)

        return self.host.run(working(), _WORK_SECONDS)


@dataclass(frozen=True, slots=True)
class RealKubernetes(Kubernetes):
    """A cluster of real nodes as one test sees it."""

    host: Host[RealCluster]

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes."""
        return list(self.host.value.nodes)

    @property
    def shared(self) -> Path:
        """A folder of this machine; every node has it at `/mnt/shared`, for a `hostPath` that all pods share."""
        return self.host.value.shared

    def inject(self, fault: str, target: str) -> None:
        """Make a fault happen to a node or container; `drydock fault --help` lists them."""
        self.host.run(inject(self.host.value, fault, target), _LOAD_SECONDS)  # a replaced node loads its images

    def load_images(self, archive: Path) -> None:
        """Import a docker or OCI archive on every node."""
        self.host.run(self.host.value.load_images(archive), _LOAD_SECONDS)


@contextmanager
def running_nodes(folder: Path, options: RealOptions) -> Iterator[RealKubernetes]:
    """A real control plane with real nodes."""
    with hosted(lambda: real_cluster(folder, SystemClock(), Entropy(), options), "drydock") as host:
        cluster = host.value
        yield RealKubernetes(cluster.url, cluster.token, "default", cluster.kubeconfig, host)


@contextmanager
def running_cluster(real: bool, folder: Path, options: LocalOptions) -> Iterator[Kubernetes]:
    """The embedded cluster on a loopback port, or a real control plane with nodes of ours."""
    opening = (lambda: _kubernetes(folder, options)) if real else (lambda: _embedded(folder, options))
    with hosted(opening, "drydock") as host:
        cluster = host.value
        assert cluster.kubeconfig is not None
        yield Kubernetes(cluster.url, cluster.token, "default", cluster.kubeconfig, host)


@contextmanager
def share(cluster: K, folder: Path, name: str) -> Iterator[K]:
    """A new namespace, ready for pods. Its deletion at the end is not waited for."""
    namespace = namespace_name(name)
    cluster.run(lambda client: _make_namespace(client, namespace))
    kubeconfig = folder / "kubeconfig"
    write_private(kubeconfig, _with_namespace(cluster.kubeconfig, namespace))
    try:
        yield replace(cluster, namespace=namespace, kubeconfig=kubeconfig)
    finally:
        cluster.run(lambda client: _delete_namespace(client, namespace))


def namespace_name(text: str) -> str:
    """A text such as a test's name as the name of a namespace."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:_LONGEST_NAME].rstrip("-") or "test"


def _embedded(folder: Path, options: LocalOptions) -> AbstractAsyncContextManager[Cluster]:
    return local_cluster(folder, SystemClock(), Entropy(), options)


@asynccontextmanager
async def _kubernetes(folder: Path, options: LocalOptions) -> AsyncIterator[Cluster]:
    clock, entropy = SystemClock(), Entropy()
    async with (
        ControlPlane.start(folder / "kubernetes", clock=clock, entropy=entropy) as plane,
        kubernetes_nodes(plane, folder / "nodes", clock, entropy, options) as cluster,
    ):
        yield cluster


async def _make_namespace(client: KubeClient, name: str) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    clock = SystemClock()
    until = clock.monotonic() + _ACCOUNT_SECONDS
    while True:  # a pod is refused until its namespace has its default service account
        try:
            await client.get(SERVICEACCOUNTS, "default", name)
        except ObjectNotFound:
            if clock.monotonic() > until:
                raise
            await clock.sleep(_POLL_SECONDS)
        else:
            return


async def _delete_namespace(client: KubeClient, name: str) -> None:
    try:
        await client.delete(NAMESPACES, name)
    except ObjectNotFound:
        pass  # the test has deleted it


def _with_namespace(kubeconfig: Path, namespace: str) -> bytes:
    document = yaml.safe_load(kubeconfig.read_text())
    for context in document["contexts"]:
        context["context"]["namespace"] = namespace
    return yaml.safe_dump(document, sort_keys=False).encode()
