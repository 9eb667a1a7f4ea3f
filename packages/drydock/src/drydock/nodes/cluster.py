"""A cluster of real nodes that runs, as its users see it."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drydock.kubernetes.components import PlaneOptions
from drydock.kubernetes.launcher import ControlPlane
from drydock.nodes.node import NodeFailed, RealNode
from drydock.nodes.settings import Membership
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.resources import NODES
from hawser.transport import Transport

_READY_SECONDS = 120.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class RealOptions:
    """What callers may choose about a cluster of real nodes."""

    nodes: int = 3
    plane: PlaneOptions = field(default_factory=PlaneOptions)


@dataclass(frozen=True, slots=True)
class Supplies:
    """What a machine gets that joins the cluster."""

    membership: Membership
    shared: Path  # every node has this folder at `settings.SHARED`, as if it were on a file server
    archives: list[Path] = field(default_factory=list)  # kept copies of what was loaded since the start

    def keep(self, archive: Path) -> Path:
        """A copy of the archive, which may itself be removed."""
        kept = self.shared.with_name(f"archive-{len(self.archives)}.tar")
        kept.unlink(missing_ok=True)
        try:
            os.link(archive, kept)
        except OSError:  # another file system
            shutil.copyfile(archive, kept)
        self.archives.append(kept)
        return kept


@dataclass(frozen=True, slots=True)
class RealCluster:
    """A cluster of real nodes that runs. `transport` acts as the administrator."""

    plane: ControlPlane
    transport: Transport
    client: KubeClient
    host: str  # this machine's address, as nodes and pods reach it
    nodes: Mapping[str, RealNode]
    clock: Clock
    supplies: Supplies

    @property
    def shared(self) -> Path:
        return self.supplies.shared

    @property
    def url(self) -> str:
        return self.plane.url

    @property
    def token(self) -> str:
        return self.plane.token

    @property
    def kubeconfig(self) -> Path:
        return self.plane.kubeconfig

    async def load_images(self, archive: Path) -> None:
        """Import a docker or OCI archive on every node."""
        kept = await asyncio.to_thread(self.supplies.keep, archive)
        await asyncio.gather(*(node.load_images(kept) for node in self.nodes.values()))

    async def replace_node(self, name: str) -> None:
        """Delete the node and its disk, and start a new machine under its name: the Node has another uid.

        It has the images that were loaded before, as if a registry had brought them.
        """
        node = self.nodes[name]
        await node.power_off()
        await self.client.delete(NODES, name)
        await node.wipe()
        await node.power_on()
        for archive in self.supplies.archives:
            await node.load_images(archive)
        await node.join(self.supplies.membership)

    async def until_ready(self) -> None:
        """Wait until every node is Ready."""
        await until(self._all_ready, self.clock, self._unready)

    async def _all_ready(self) -> bool:
        for node in self.nodes.values():
            node.check()
        found = {node["metadata"]["name"]: node for node in (await self.client.list(NODES.raw())).items}
        return all(name in found and is_ready(found[name], node.boot_id) for name, node in self.nodes.items())

    def _unready(self) -> str:
        return f"the nodes are not Ready: see {', '.join(str(node.root) for node in self.nodes.values())}/var/log"


def is_ready(node: dict[str, Any], boot_id: str) -> bool:
    """Ready in the words of the kubelet of this boot: the object may hold those of an earlier one."""
    status = node.get("status", {})
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
    return ready and bool(status.get("nodeInfo", {}).get("bootID") == boot_id)


async def until(holds: Callable[[], Awaitable[bool]], clock: Clock, told: Callable[[], str]) -> None:
    deadline = clock.monotonic() + _READY_SECONDS
    while not await holds():
        if clock.monotonic() > deadline:
            raise NodeFailed(f"after {_READY_SECONDS:.0f} s {told()}", fix="try again on a less busy machine")
        await clock.sleep(_POLL_SECONDS)
