"""Start a cluster of real nodes: a real control plane, and nodes with kubelets, containerd and containers."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from drydock.certificates import Authority
from drydock.kubernetes.binaries import find_binaries
from drydock.kubernetes.launcher import ControlPlane
from drydock.nodes import cgroups, images
from drydock.nodes.cluster import RealCluster, RealOptions, Supplies, until
from drydock.nodes.control import serving_control
from drydock.nodes.dns import dns_ready, install_dns
from drydock.nodes.links import Switch, choose_network
from drydock.nodes.machine import check_machine, find_program
from drydock.nodes.network import ClusterNetwork
from drydock.nodes.node import NodeKit, RealNode
from drydock.nodes.programs import NodePrograms, find_node_programs
from drydock.nodes.settings import Membership, NodeIdentity
from drydock.state_lock import state_folder
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.connection import connect
from hawser.errors import ObjectNotFound
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NODES

_DIGEST_CHARACTERS = 8


@contextlib.asynccontextmanager
async def real_cluster(
    folder: Path, clock: Clock, entropy: Entropy, options: RealOptions = RealOptions()
) -> AsyncIterator[RealCluster]:
    """A cluster under `folder`. What it holds is there again at the next start; what it ran ends with this process."""
    check_machine()
    find_binaries()
    programs = find_node_programs()
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(state_folder(folder)).resolve()
        cgroups.remove_stale_groups()
        digest = sha256(str(folder).encode()).hexdigest()[:_DIGEST_CHARACTERS]
        group = cgroups.cluster_group(digest)
        await stack.enter_async_context(cgroups.keeping_group(group))
        cgroups.make_group(group)
        cgroups.raise_weight(group)
        network = await choose_network(int(digest, 16))
        switch = await stack.enter_async_context(Switch(f"{folder}/switch", f"dry{digest}", network))
        numbers = range(1, options.nodes + 1)
        addresses = tuple(network.node(number) for number in numbers)
        shared = folder / "shared"
        shared.mkdir(exist_ok=True)
        kit = NodeKit(switch, programs, _write_images(folder, programs), addresses, shared, clock, entropy)
        nodes = [_node(folder, network, number, group, kit) for number in numbers]
        for node in nodes:
            stack.push_async_callback(node.power_off)
        booting = asyncio.gather(*(node.power_on() for node in nodes))
        try:
            plane_options = replace(options.plane, address=network.host)
            starting = ControlPlane.start(folder / "kubernetes", clock=clock, entropy=entropy, options=plane_options)
            plane = await stack.enter_async_context(starting)
        finally:
            await asyncio.gather(booting, return_exceptions=True)
        await booting
        connection = await connect(load_kubeconfig(plane.kubeconfig).target(), clock)
        stack.push_async_callback(connection.close)
        membership = Membership(plane.url, Authority(folder / "kubernetes" / "pki", clock.now()))
        cluster = RealCluster(
            plane=plane,
            transport=connection,
            client=KubeClient(connection, user_agent="drydock"),
            host=network.host,
            nodes={node.name: node for node in nodes},
            clock=clock,
            supplies=Supplies(membership, shared),
        )
        await _join(cluster)
        await stack.enter_async_context(serving_control(folder, cluster))
        yield cluster


async def _join(cluster: RealCluster) -> None:
    await _forget_other_nodes(cluster)
    await asyncio.gather(*(node.join(cluster.supplies.membership) for node in cluster.nodes.values()))
    await install_dns(cluster.client, replicas=min(2, len(cluster.nodes)))
    await cluster.until_ready()
    if cluster.nodes:
        await until(lambda: dns_ready(cluster.client), cluster.clock, lambda: "CoreDNS is not ready in kube-system")


async def _forget_other_nodes(cluster: RealCluster) -> None:
    """An earlier life may have had more of them."""
    for node in (await cluster.client.list(NODES)).items:
        if node.metadata.name not in cluster.nodes:
            with contextlib.suppress(ObjectNotFound):
                await cluster.client.delete(NODES, node.metadata.name)


def _node(folder: Path, network: ClusterNetwork, number: int, group: str, kit: NodeKit) -> RealNode:
    name = f"node-{number}"
    identity = NodeIdentity(name, number, network.node(number), f"{group}/{name}")
    return RealNode(folder / "nodes" / name, identity, kit)


def _write_images(folder: Path, programs: NodePrograms) -> Path:
    """The archive of the images that every node has; written once for the programs it is made of."""
    archive, sources = folder / "images.tar", folder / "images.json"
    found = find_program("busybox")
    assert found is not None  # checked before anything starts
    busybox = Path(found)
    made_of = json.dumps([[str(path), path.stat().st_mtime_ns] for path in (busybox, programs.coredns)])
    if not (archive.exists() and sources.exists() and sources.read_text() == made_of):
        made = [images.pause_image(busybox), images.busybox_image(busybox), images.coredns_image(programs.coredns)]
        images.write_archive(archive, made)
        sources.write_text(made_of)
    return archive
