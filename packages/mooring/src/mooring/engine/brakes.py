"""The brakes of the rails (`planning/rails.py`), computed from what this replica sees of the cluster and the ledger."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from mooring.engine.incarnation_trust import IncarnationTrust
from mooring.engine.informer import Informer
from mooring.engine.nodes.informer import NodeInformer
from mooring.engine.switches import Switches
from mooring.planning.rails import World, compute_brakes


class LedgerRead(Protocol):
    """Rows of the ledger, with the incarnation they were read from; empty when it could not be read."""

    @property
    def incarnation(self) -> str: ...

    @property
    def armed(self) -> bool: ...


class Brakes:
    """Answers why an invariant must do nothing destructive now. `informers` are the caches that every act believes."""

    def __init__(
        self, nodes: NodeInformer, informers: Sequence[Informer], switches: Switches, trust: IncarnationTrust
    ) -> None:
        self._nodes = nodes
        self._informers = tuple(informers)
        self._switches = switches
        self._trust = trust

    def by_cluster(self, invariant: str, *others: Informer) -> tuple[str, ...]:
        """For an invariant to which no row of the ledger is a proof; `others` are caches that it believes as well."""
        return compute_brakes(self._see(invariant, others))

    async def by_cluster_and_ledger(self, invariant: str, read: LedgerRead) -> tuple[str, ...]:
        """For an invariant that takes a row, or its absence, as a proof."""
        world = replace(
            self._see(invariant, ()),
            incarnation_expected=await self._trust.expect(read.incarnation, read.armed),
            incarnation_seen=read.incarnation,
            armed=read.armed,
        )
        return compute_brakes(world)

    def _see(self, invariant: str, others: Sequence[Informer]) -> World:
        nodes = self._nodes.by_name.values()
        return World(
            caches_fresh=all(informer.fresh for informer in (*self._informers, *others)),
            nodes_total=len(nodes),
            nodes_ready=sum(node.ready for node in nodes),
            incarnation_expected="any",
            incarnation_seen="any",
            paused=self._switches.why_paused(invariant),
        )
