"""The world as the brakes of the rails look at it (`planning/rails.py`)."""

from dataclasses import replace
from typing import Protocol

from mooring.control.fleet import Fleet
from mooring.control.trust import LedgerTrust
from mooring.control.watch import Watch
from mooring.planning.rails import World


class LedgerRead(Protocol):
    """Rows of the ledger, with the incarnation they were read from; empty when it could not be read."""

    @property
    def incarnation(self) -> str: ...

    @property
    def armed(self) -> bool: ...


def see_cluster(fleet: Fleet, paused: str, *others: Watch) -> World:
    """For a rule to which no row of the ledger is a proof; `others` are the caches it believes beside the fleet's."""
    nodes = fleet.nodes.values()
    return World(
        caches_fresh=all(watch.fresh for watch in (fleet, *others)),
        nodes_total=len(nodes),
        nodes_ready=sum(node.ready for node in nodes),
        incarnation_expected="any",
        incarnation_seen="any",
        paused=paused,
    )


def see_cluster_and_ledger(fleet: Fleet, paused: str, trust: LedgerTrust, read: LedgerRead) -> World:
    """For a rule that takes a row, or its absence, as a proof."""
    return replace(
        see_cluster(fleet, paused),
        incarnation_expected=trust.expect(read.incarnation, read.armed),
        incarnation_seen=read.incarnation,
        armed=read.armed,
    )
