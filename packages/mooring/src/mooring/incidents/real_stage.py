"""The stage on real programs: a Kubernetes control plane, a PostgreSQL, and the wall clock. Only pods are simulated."""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from drydock import ContainerRun, ControlPlane, LocalOptions, Nodes, Script, kubernetes_nodes, scripts_from
from hawser.clock import Entropy, SystemClock
from mooring.incidents.stage import Audience, Nobody, Setting, Stage, raise_curtain
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.postgres.ledger import PostgresLedger


@contextlib.asynccontextmanager
async def open_real_stage(
    hurry: float,
    nodes: Nodes,
    scripts: Callable[[ContainerRun], Script | None] = lambda _: None,
    audience: Audience = Nobody(),
) -> AsyncIterator[Stage]:
    """The environment, with all times divided by `hurry`.

    Everything that it started and wrote is removed at the end.
    """
    clock, entropy = SystemClock(), Entropy()
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mooring-replay-")))
        database = EmbeddedServer(folder / "postgres", clock=clock, entropy=entropy)
        url = await database.start()
        stack.push_async_callback(database.stop)
        ledger = await PostgresLedger.open(url, clock=clock, entropy=entropy)
        stack.push_async_callback(ledger.close)
        plane = await stack.enter_async_context(ControlPlane.start(folder / "kubernetes", clock=clock, entropy=entropy))
        options = LocalOptions(nodes=nodes, runtime="simulated", scripts=scripts_from(scripts))
        sandbox = await stack.enter_async_context(kubernetes_nodes(plane, folder / "nodes", clock, entropy, options))
        setting = Setting(sandbox, clock, entropy, lambda: ledger, hurry)
        yield await stack.enter_async_context(raise_curtain(setting, audience))
