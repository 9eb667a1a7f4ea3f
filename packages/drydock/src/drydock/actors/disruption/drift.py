"""Drift: nodes that are replaced, rolled, stopped overnight, lost, or flapping, embedded or on real Kubernetes.

The machines belong to a `NodeFleet`, which the kubelets' `Fleet` is; everything else goes through the API.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from drydock.actors.disruption.drain import DISRUPTED, Drain, DrainPolicy, DrainReport, taint_node
from drydock.actors.kubelet.machine import NodeTemplate
from drydock.actors.machinery.objects import Object, annotations_of, labels_of, name_of, spec_of, status_of, uid_of
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.errors import NotServed, ObjectNotFound
from hawser.resources import NODES, Resource

_NODE_CLAIMS = Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", False, dict)

Naming = Literal["new", "same"]

_OWN_LABELS = ("kubernetes.io/hostname",)
_OWN_TAINTS = ("node.kubernetes.io/", "karpenter.sh/disrupted")
_GENERATION = re.compile(r"-r[0-9a-f]{6}$")


class NodeFleet(Protocol):
    """The operator of the machines. A removed machine takes its disk and its Node object with it; its pods are left to
    the cluster. A paused one stops its heartbeats while its containers run on."""

    async def add_node(self, name: str, template: NodeTemplate) -> None: ...

    async def remove_node(self, name: str) -> None: ...

    async def pause(self, name: str) -> None: ...

    async def resume(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Replacement:
    """One node that took another's place; under the same name it has a new uid."""

    old: str
    new: str
    drain: DrainReport


def template_of(node: Object) -> NodeTemplate:
    """What a machine like this one is made of, without what belonged to this one alone."""
    taints = [
        {name: str(taint[name]) for name in ("key", "value", "effect") if taint.get(name)}
        for taint in spec_of(node).get("taints") or ()
        if not taint["key"].startswith(_OWN_TAINTS)
    ]
    return NodeTemplate(
        labels={key: value for key, value in labels_of(node).items() if key not in _OWN_LABELS},
        annotations={key: value for key, value in annotations_of(node).items() if not key.startswith("node.alpha.")},
        taints=tuple(taints),
        capacity=dict(status_of(node).get("capacity") or {}),
    )


class Drift:
    """Moves the ground under a cluster."""

    def __init__(self, client: KubeClient, fleet: NodeFleet, clock: Clock, entropy: Entropy) -> None:
        self._client = client
        self._fleet = fleet
        self._clock = clock
        self._entropy = entropy

    async def taint(self, node: str, taint: Object = DISRUPTED) -> None:
        """Announce that the node will go."""
        await taint_node(self._client, node, taint)

    async def drain(self, node: str, policy: DrainPolicy = DrainPolicy()) -> DrainReport:
        """Empty the node and leave it standing."""
        return await Drain(self._client, self._clock, node, policy).run()

    async def replace(
        self, node: str, policy: DrainPolicy = DrainPolicy(), *, naming: Naming = "new", surge: bool = False
    ) -> Replacement:
        """Drain the node, delete it with its NodeClaim, and put another in its place; before all that with `surge`."""
        template = template_of(await self._client.get(NODES.raw(), node))
        name = self._next_name(node) if naming == "new" else node
        if surge and naming == "new":
            await self._fleet.add_node(name, template)
        report = await self.drain(node, policy)
        await self._delete(node)
        if not (surge and naming == "new"):
            await self._fleet.add_node(name, template)
        return Replacement(node, name, report)

    async def roll(
        self,
        nodes: Sequence[str],
        policy: DrainPolicy = DrainPolicy(),
        *,
        at_once: int = 1,
        naming: Naming = "new",
        surge: bool = False,
        pause_seconds: float = 0.0,
    ) -> list[Replacement]:
        """Replace the nodes in their order, a few at a time, with a pause after each group."""
        replaced: list[Replacement] = []
        for begin in range(0, len(nodes), at_once):
            if begin:
                await self._clock.sleep(pause_seconds)
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self.replace(node, policy, naming=naming, surge=surge))
                    for node in nodes[begin : begin + at_once]
                ]
            replaced += [task.result() for task in tasks]
        return replaced

    async def stop_start(
        self,
        nodes: Sequence[str],
        *,
        naming: Naming = "same",
        down_seconds: float = 600.0,
        return_seconds: float = 60.0,
    ) -> dict[str, str]:
        """All nodes vanish at once, without a drain; they return one by one, with cold disks. Old name -> new name."""
        found = [await self._client.get(NODES.raw(), node) for node in nodes]
        for node in found:
            await self._delete(name_of(node))
        await self._clock.sleep(down_seconds)
        returned: dict[str, str] = {}
        for node in found:
            if returned:
                await self._clock.sleep(return_seconds / max(1, len(found) - 1))
            name = self._next_name(name_of(node)) if naming == "new" else name_of(node)
            await self._fleet.add_node(name, template_of(node))
            returned[name_of(node)] = name
        return returned

    async def lose(self, node: str, *, notice_seconds: float = 0.0, lingers_seconds: float = 0.0) -> DrainReport:
        """A spot machine is taken away: after a notice during which its pods are asked to go, and without mercy.

        `lingers_seconds` is how long its Node object stays after the machine is gone.
        """
        report = DrainReport(node)
        if notice_seconds > 0:
            report = await self._drain_for(node, notice_seconds)
        await self._fleet.pause(node)
        await self._clock.sleep(lingers_seconds)
        await self._delete(node)
        return report

    async def flap(self, node: str, *, down_seconds: float, up_seconds: float, times: int = 1) -> None:
        """Heartbeats stop and come back."""
        for _ in range(times):
            await self._fleet.pause(node)
            await self._clock.sleep(down_seconds)
            await self._fleet.resume(node)
            await self._clock.sleep(up_seconds)

    async def _drain_for(self, node: str, seconds: float) -> DrainReport:
        drain = Drain(self._client, self._clock, node, DrainPolicy(deadline_seconds=None))
        begin = self._clock.monotonic()
        try:
            async with asyncio.timeout(seconds):
                await drain.run()
        except TimeoutError:
            pass  # the machine goes all the same
        await self._clock.sleep(begin + seconds - self._clock.monotonic())
        return drain.report

    async def _delete(self, node: str) -> None:
        """The machine, its Node, and the NodeClaim behind it."""
        await self._fleet.remove_node(node)
        try:
            claims = (await self._client.list(_NODE_CLAIMS)).items
        except (ObjectNotFound, NotServed):
            return  # no Karpenter here
        for claim in claims:
            if status_of(claim).get("nodeName") == node:
                try:
                    await self._client.delete(_NODE_CLAIMS, name_of(claim), uid=uid_of(claim))
                except ObjectNotFound:
                    continue

    def _next_name(self, node: str) -> str:
        return f"{_GENERATION.sub('', node)}-r{self._entropy.token(3)}"
