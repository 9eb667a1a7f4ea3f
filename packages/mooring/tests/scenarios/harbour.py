"""The world of the scenarios: the stage of the replays, with nodes that are all alike."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from drydock import Script, plain_nodes, run_virtual
from mooring.incidents.replica import LedgerFault, Replica, no_fault
from mooring.incidents.stage import NAMESPACE, START, Stage, open_stage

__all__ = ["NAMESPACE", "Harbour", "LedgerFault", "Replica", "harbour", "no_fault", "play"]

Harbour = Stage


@contextlib.asynccontextmanager
async def harbour(
    seed: int = 1, nodes: int = 4, scripts: Callable[[Any], Script | None] = lambda _: None
) -> AsyncIterator[Harbour]:
    """The world, with its CRDs, one namespace and a witness."""
    async with open_stage(seed, plain_nodes(nodes), scripts) as world:
        yield world


def play(scenario: Callable[[], Any], seed: int | None = 1) -> Any:
    """Run a scenario in virtual time."""
    return run_virtual(scenario, seed=seed, start=START)
