"""A cluster in the foreground of a terminal: one line says when it is ready, SIGINT or SIGTERM ends it."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from drydock.certificates import write_private
from drydock.cluster import Cluster, LocalOptions, kubernetes_nodes, local_cluster
from drydock.kubernetes.components import PlaneOptions
from drydock.kubernetes.launcher import ControlPlane
from drydock.nodes.cluster import RealCluster, RealOptions
from drydock.nodes.launcher import real_cluster
from drydock.state_lock import state_folder
from hawser.clock import Entropy, SystemClock


def run_local_cluster(state: Path, options: LocalOptions) -> None:
    """The embedded cluster, with everything it keeps in `state`."""
    asyncio.run(_run(local_cluster(state, SystemClock(), Entropy(), options), state / "kubeconfig"))


def run_kubernetes(state: Path, options: LocalOptions) -> None:
    """A real control plane with nodes of drydock's."""
    asyncio.run(_run(_kubernetes(state, options), state / "kubeconfig"))


def run_nodes(state: Path, options: RealOptions) -> None:
    """A real control plane with real nodes."""
    asyncio.run(_run(_nodes(state, options), state / "kubeconfig"))


async def _run(starting: AbstractAsyncContextManager[Cluster | RealCluster], kubeconfig: Path) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with starting as cluster:
        print(f"ready: {cluster.url}  kubectl --kubeconfig {kubeconfig} get nodes", flush=True)
        await stop.wait()
        print("stopping", file=sys.stderr)


@contextlib.asynccontextmanager
async def _nodes(state: Path, options: RealOptions) -> AsyncIterator[RealCluster]:
    print(f"starting the Kubernetes control plane and {options.nodes} nodes", file=sys.stderr, flush=True)
    async with real_cluster(state, SystemClock(), Entropy(), options) as cluster:
        write_private(state / "kubeconfig", cluster.kubeconfig.read_bytes())
        yield cluster


@contextlib.asynccontextmanager
async def _kubernetes(state: Path, options: LocalOptions) -> AsyncIterator[Cluster]:
    clock, entropy = SystemClock(), Entropy()
    plane_options = PlaneOptions(port=options.port)
    with state_folder(state):
        print("starting the Kubernetes control plane", file=sys.stderr, flush=True)
        async with (
            ControlPlane.start(state / "kubernetes", clock=clock, entropy=entropy, options=plane_options) as plane,
            kubernetes_nodes(plane, state / "nodes", clock, entropy, options) as cluster,
        ):
            write_private(state / "kubeconfig", plane.kubeconfig.read_bytes())
            yield cluster
