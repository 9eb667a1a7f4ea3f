"""Karpenter's NodePools and NodeClaims, on clusters that have them.

Most have none, or do not let us read them: nothing waits for these caches, and their absence is a state, not a fault.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

import structlog

from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy
from hawser.errors import KubeError, NotPermitted, NotServed, ObjectNotFound
from hawser.reflector import Reflector
from hawser.resources import Resource
from mooring.engine.nodes.translation import template_from_node_pool
from mooring.kinds.karpenter import NODECLAIMS, NODEPOOLS, NodeClaim, NodePool
from mooring.model.duration import parse_duration
from mooring.model.node import DrainBound, NodeTemplate

T = TypeVar("T", bound=NodePool | NodeClaim)
# Kind and name: "nodepool" and its own, or "" when it becomes known which of a kind exist; "nodeclaim" and that of its
# node.
OnChange = Callable[[str, str], None]

log = structlog.get_logger()

LOOK_AGAIN_SECONDS = 60.0


class Presence(StrEnum):
    """Whether a kind can be read here."""

    UNKNOWN = "unknown"
    ABSENT = "absent"  # its CRD is not installed
    FORBIDDEN = "forbidden"
    SERVED = "served"


class OptionalKind(Generic[T]):
    """A cache of a kind that may not exist; empty while it does not."""

    def __init__(
        self,
        client: KubeClient,
        resource: Resource[T],
        clock: Clock,
        entropy: Entropy,
        on_settled: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_settled = on_settled
        self._client = client
        self._resource = resource
        self._clock = clock
        self._reflector: Reflector[T] = Reflector(client, resource, clock=clock, entropy=entropy)
        self.presence = Presence.UNKNOWN

    def subscribe(self, callback: Callable[[Change[T]], None]) -> None:
        self._reflector.subscribe(callback)

    @property
    def items(self) -> Mapping[str, T]:
        """By name."""
        return {item.metadata.name: item for item in self._reflector.cache.values()}

    @property
    def read(self) -> bool:
        """Whether all objects are in `items`. Without its CRD nothing was read: the CRD may be installed since."""
        return self._reflector.synced

    @property
    def settled(self) -> bool:
        """Whether it is known what there is: all of them, or that there are none."""
        return self.presence in (Presence.ABSENT, Presence.FORBIDDEN) or self._reflector.synced

    async def run(self) -> None:
        """Look now and then whether the kind is there; once it is, follow it like any other."""
        while (presence := await self._look()) is not Presence.SERVED:
            if presence is not self.presence:
                log.info("karpenter", kind=self._resource.plural, presence=presence.value)
                self.presence = presence
                self._on_settled()
            await self._clock.sleep(LOOK_AGAIN_SECONDS)
        self.presence = Presence.SERVED
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reflector.run())
            group.create_task(self._announce())

    async def _announce(self) -> None:
        await self._reflector.wait_synced()
        self._on_settled()

    async def _look(self) -> Presence:
        try:
            await self._client.list_page(self._resource, limit=1)
        except (NotServed, ObjectNotFound):
            return Presence.ABSENT
        except NotPermitted:
            return Presence.FORBIDDEN
        except KubeError:
            return Presence.UNKNOWN
        return Presence.SERVED


class Karpenter:
    """What Karpenter would make, and what it is about to take away."""

    def __init__(self, client: KubeClient, clock: Clock, entropy: Entropy) -> None:
        self.node_pools = OptionalKind(client, NODEPOOLS, clock, entropy, on_settled=self._on_settled)
        self.node_claims = OptionalKind(client, NODECLAIMS, clock, entropy, on_settled=self._on_settled)
        self._templates: dict[str, NodeTemplate] = {}
        self._leaving: dict[str, datetime | None] = {}  # by name of their node: since when
        self._bounds: dict[str, DrainBound] = {}  # by name of their node
        self._listeners: list[OnChange] = []
        self.node_pools.subscribe(self._on_node_pool)
        self.node_claims.subscribe(self._on_node_claim)

    @property
    def templates(self) -> tuple[NodeTemplate, ...]:
        """The nodes that could be made, one for each NodePool."""
        return tuple(self._templates.values())

    @property
    def read(self) -> bool:
        """Whether all NodePools and NodeClaims are known."""
        return self.node_pools.read and self.node_claims.read

    def subscribe(self, listener: OnChange) -> None:
        """Call `listener` for every change; it must not wait."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Until cancelled."""
        await asyncio.gather(self.node_pools.run(), self.node_claims.run())

    def _on_node_pool(self, change: Change[NodePool]) -> None:
        view = change.latest
        name = view.metadata.name
        template = template_from_node_pool(view) if change.new is not None else None
        if template == self._templates.get(name):
            return
        if template is None:
            self._templates.pop(name)
        else:
            self._templates[name] = template
        self._notify("nodepool", name)

    def is_leaving(self, node: str) -> bool:
        """Whether the NodeClaim behind a node is being deleted."""
        return node in self._leaving

    def drain_bound(self, node: str) -> DrainBound | None:
        """How long a drain of a node may take, as its own NodeClaim says; None without a known NodeClaim."""
        return self._bounds.get(node)

    def leaving_since(self, node: str) -> datetime | None:
        """When the deletion of its NodeClaim was asked for; None when it was not."""
        return self._leaving.get(node)

    def _on_node_claim(self, change: Change[NodeClaim]) -> None:
        view = change.latest
        node = view.status.node_name
        bound = DrainBound(
            view.metadata.name, parse_duration(view.spec.termination_grace_period), view.metadata.deletion_timestamp
        )
        known = self._bounds.get(node)
        if change.new is not None:
            self._bounds[node] = bound
        elif known is not None and known.node_claim == bound.node_claim:
            del self._bounds[node]
        if change.new is not None and change.new.terminating:
            self._leaving[node] = change.new.metadata.deletion_timestamp
        else:
            self._leaving.pop(node, None)
        self._notify("nodeclaim", node)

    def _on_settled(self) -> None:
        self._notify("nodepool", "")

    def _notify(self, kind: str, name: str) -> None:
        for listener in self._listeners:
            listener(kind, name)
