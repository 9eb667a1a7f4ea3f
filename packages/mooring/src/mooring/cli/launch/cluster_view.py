"""One look at a cluster before anything is installed there: its nodes, what they hold, and what could be made."""

import asyncio
from dataclasses import dataclass

from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.connection import Target, connect, in_cluster_target, runs_in_cluster
from hawser.errors import HawserError, KubeError
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NODES, PODS
from mooring.engine.nodes.translation import node_from_view, template_from_node_pool
from mooring.kinds.karpenter import NODEPOOLS
from mooring.model.errors import Unavailable
from mooring.model.node import Node, NodeTemplate
from mooring.planning.fit import UNREAD, Usage
from mooring.planning.fit.usage import read_residents

LOOK_SECONDS = 15.0
_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"


class ClusterUnread(Unavailable):
    """The nodes could not be read."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster as it is now. Pods that may not be read leave the nodes empty, and the usage says so."""

    name: str
    nodes: tuple[Node, ...]
    templates: tuple[NodeTemplate, ...]
    usage: Usage


async def read_cluster(kubeconfig: str = "", context: str = "") -> ClusterView:
    """The cluster of a kubeconfig, or the one that this process runs in. Raises `ClusterUnread`."""
    try:
        target = find_target(kubeconfig, context)
        async with asyncio.timeout(LOOK_SECONDS):
            connection = await connect(target, SystemClock())
            try:
                return await _read(KubeClient(connection), target)
            finally:
                await connection.close()
    except TimeoutError:
        raise ClusterUnread(f"no answer within {LOOK_SECONDS:.0f} s") from None
    except HawserError as error:
        raise ClusterUnread(error.message, fix=error.fix) from error


def find_target(kubeconfig: str, context: str) -> Target:
    """The cluster of a kubeconfig, or the one that this process runs in."""
    if not kubeconfig and not context and runs_in_cluster():
        return in_cluster_target()
    return load_kubeconfig(kubeconfig).target(context)


async def _read(client: KubeClient, target: Target) -> ClusterView:
    nodes = await client.list(NODES)
    try:
        templates = tuple(template_from_node_pool(one) for one in (await client.list(NODEPOOLS)).items)
    except KubeError:
        templates = ()  # most clusters have no Karpenter
    try:
        pods = await client.list(PODS.raw(), field_selector=_NOT_ENDED)
        usage = Usage(read_residents(pods.items))
    except KubeError:
        usage = UNREAD
    return ClusterView(target.context or target.server, tuple(map(node_from_view, nodes.items)), templates, usage)
