"""`mooring serve`: one replica of the control plane in a cluster. All settings come from the environment."""

import contextlib
import sys
from contextlib import AsyncExitStack

import uvloop

from hawser.client import KubeClient
from hawser.clock import Clock, Entropy, SystemClock
from hawser.connection import Target, connect, in_cluster_target, runs_in_cluster
from hawser.kubeconfig import load_kubeconfig
from mooring.api.auth import Access, load_token
from mooring.api.hosting import bind
from mooring.app import Adapters, ReplicaOptions, Surroundings
from mooring.cli.launch.process import configure_logs, replica_name, run_process, stop_on_signals
from mooring.controllers.activity import PolledActivity
from mooring.controllers.claims.mint import WebhookMinter
from mooring.controllers.claims.mint_auth import MintKeys
from mooring.controllers.pools.probe import HttpProbe
from mooring.controllers.services.document import HttpDocuments
from mooring.engine.housekeeping import Retention
from mooring.ledger.postgres.database import DatabaseOptions
from mooring.ledger.postgres.ledger import PostgresLedger
from mooring.model.errors import Misconfigured
from mooring.model.timeouts import Timeouts
from mooring.settings import Settings, load_settings


def run_serve() -> None:
    """Run until a signal stops it."""
    settings = load_settings()
    if not settings.database:
        raise Misconfigured("MOORING_DATABASE is not set", fix="give the URL of a PostgreSQL database")
    configure_logs(settings.log_level)
    uvloop.run(serve(settings, Timeouts()))


async def serve(settings: Settings, timeouts: Timeouts) -> None:
    """Run one replica until a signal stops it."""
    clock, entropy = SystemClock(), Entropy()
    stop = stop_on_signals()
    async with AsyncExitStack() as stack:
        settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        listener = stack.enter_context(contextlib.closing(bind(settings.host, settings.port)))
        access = Access(load_token(settings.state, settings.token, entropy), settings.open_pages)
        options = DatabaseOptions(pool_size=settings.database_connections)
        ledger = await PostgresLedger.open(settings.database, clock=clock, entropy=entropy, options=options)
        stack.push_async_callback(ledger.close)
        client = await _client(stack, settings, clock)
        address = f"http://{settings.host}:{listener.getsockname()[1]}"
        minter = WebhookMinter(MintKeys(client, clock))
        stack.push_async_callback(minter.close)
        documents = HttpDocuments()
        stack.push_async_callback(documents.close)
        given = Surroundings(
            client,
            ledger,
            clock,
            entropy,
            ReplicaOptions(
                replica_name(settings.replica),
                address,
                settings.submission_ceiling,
                settings.worker_url,
                Retention.of_days(settings.keep_claims_days, settings.keep_audit_days),
            ),
            Adapters(minter, PolledActivity(clock, timeouts.worker_word), documents, HttpProbe()),
        )
        await run_process(given, access, [listener], stop, lambda: _print_address(address), timeouts)


async def _client(stack: AsyncExitStack, settings: Settings, clock: Clock) -> KubeClient:
    connection = await connect(_target(settings), clock)
    stack.push_async_callback(connection.close)
    return KubeClient(connection)


def _target(settings: Settings) -> Target:
    if not settings.kubeconfig and not settings.context and runs_in_cluster():
        return in_cluster_target()
    return load_kubeconfig(settings.kubeconfig).target(settings.context)


def _print_address(address: str) -> None:
    print(f"mooring serves {address}", file=sys.stderr, flush=True)
