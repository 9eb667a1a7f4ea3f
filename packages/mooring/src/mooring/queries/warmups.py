"""The read side of Warmups: what api, pages and terminal may know, and where each dataset is warm."""

from __future__ import annotations

from datetime import datetime

import msgspec

from mooring.model.warmup import Warmup, WarmupSpec, WarmupStatus
from mooring.model.why import Why
from mooring.planning.explanations.warmups import explain_warmup
from mooring.planning.warmups.warm_nodes import warm_nodes
from mooring.queries.sources import NodeSource, WarmupSource
from mooring.queries.visibility import LimitedQueries


class WarmupReading(msgspec.Struct, frozen=True, rename="camel"):
    """A Warmup of the contract. `rewarmPending` is a forced re-warm that has not fired yet."""

    namespace: str
    name: str
    uid: str
    spec: WarmupSpec
    status: WarmupStatus
    generation: int
    terminating: bool
    created_at: datetime
    warm_nodes: tuple[str, ...]
    rewarm_pending: bool
    why: Why


class WarmupQueries(LimitedQueries):
    """Answers questions from caches; changes nothing."""

    def __init__(self, informer: WarmupSource, nodes: NodeSource) -> None:
        self._informer = informer
        self._nodes = nodes

    def namespaces(self) -> set[str]:
        """The namespaces that have Warmups."""
        return {warmup.namespace for warmup in self._informer.warmups.values()}

    def warmups(self) -> list[WarmupReading]:
        """All Warmups, by namespace and name."""
        seen = self._visibility.warmups
        return [self._read(one) for _, one in sorted(self._informer.warmups.items()) if one.namespace in seen]

    def warmup(self, namespace: str, name: str) -> WarmupReading:
        """One Warmup, or `NotFound`."""
        return self._read(self._informer.find(namespace, name))

    def _read(self, warmup: Warmup) -> WarmupReading:
        return WarmupReading(
            namespace=warmup.namespace,
            name=warmup.name,
            uid=warmup.uid,
            spec=warmup.spec,
            status=warmup.status,
            generation=warmup.generation,
            terminating=warmup.terminating,
            created_at=warmup.created_at,
            warm_nodes=warm_nodes(warmup.status, self._nodes.by_name),
            rewarm_pending=bool(warmup.rewarm_wish),
            why=explain_warmup(warmup),
        )
