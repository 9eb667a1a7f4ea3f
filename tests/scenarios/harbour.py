"""The world of the scenarios: the stage of the replays, with nodes that are all alike."""

import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, ParamSpec

from mooring.incidents.replica import LedgerFault, Replica, no_fault
from mooring.incidents.stage import NAMESPACE, START, Stage, open_stage
from mooring.sandbox.actors.runtime.script import Script
from mooring.sandbox.cluster import plain_nodes
from mooring.sandbox.virtual import run_virtual

__all__ = ["NAMESPACE", "Harbour", "LedgerFault", "Replica", "harbour", "no_fault", "play", "plays_in"]

Harbour = Stage
P = ParamSpec("P")
Test = Callable[..., Awaitable[None]]


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


def plays_in(
    open_world: Callable[P, contextlib.AbstractAsyncContextManager[Any]], *given: P.args, **named: P.kwargs
) -> Callable[[Test], Callable[..., None]]:
    """The test plays in virtual time, in a world that is opened for it; what pytest gives it comes after the world."""

    def stage(test: Test) -> Callable[..., None]:
        def run(**fixtures: Any) -> None:
            async def scenario() -> None:
                async with open_world(*given, **named) as world:
                    await test(world, **fixtures)

            play(scenario)

        asked = list(inspect.signature(test).parameters.values())[1:]
        run.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return stage
