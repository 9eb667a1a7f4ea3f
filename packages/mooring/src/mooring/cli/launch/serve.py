"""`mooring serve`: one replica of the control plane in a cluster. All settings come from the environment."""

import contextlib
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import uvloop

from hawser.client import KubeClient
from hawser.clock import Clock, Entropy, SystemClock
from hawser.connection import Target, connect, in_cluster_target, runs_in_cluster
from hawser.kubeconfig import load_kubeconfig
from mooring.api.access.control import AccessOptions
from mooring.api.access.operator_token import load_token
from mooring.api.certificate import ServingCertificate, TlsFiles
from mooring.api.hosting import bind, refuse_plain_http
from mooring.api.limits import LimitOptions
from mooring.app import Adapters, Dependencies, ReplicaOptions
from mooring.cli.launch.process import (
    Entrance,
    configure_logs,
    replica_name,
    run_process,
    stop_on_signals,
    tokens_file,
)
from mooring.controllers.activity import PolledActivity
from mooring.controllers.claims.mint import WebhookMinter
from mooring.controllers.claims.mint_auth import MintKeys
from mooring.controllers.pools.probe import HttpProbe
from mooring.controllers.services.document import HttpDocuments
from mooring.engine.housekeeping import Retention
from mooring.engine.own_api import HttpOwnApi
from mooring.engine.trust_bundle import TrustBundle
from mooring.ledger.postgres.database import DatabaseOptions
from mooring.ledger.postgres.ledger import PostgresLedger
from mooring.model.errors import Misconfigured
from mooring.model.timeouts import Timeouts
from mooring.planning.destinations import parse_policy
from mooring.settings import Settings, load_settings, read_namespaces


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
    outgoing = parse_policy(settings.outgoing_allow, settings.outgoing_loopback)
    certificate = _certificate(settings, clock)
    worker_ca = TrustBundle(Path(settings.worker_ca)).read if settings.worker_ca else str
    async with AsyncExitStack() as stack:
        settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        listener = stack.enter_context(contextlib.closing(bind(settings.host, settings.port)))
        token = load_token(settings.state, settings.token, entropy)
        access = AccessOptions(token, settings.open_pages, tokens_file(settings))
        options = DatabaseOptions(pool_size=settings.database_connections)
        ledger = await PostgresLedger.open(settings.database, clock=clock, entropy=entropy, options=options)
        stack.push_async_callback(ledger.close)
        client = await _client(stack, settings, clock)
        address = f"{'https' if certificate else 'http'}://{settings.host}:{listener.getsockname()[1]}"
        minter = WebhookMinter(MintKeys(client, clock), outgoing)
        stack.push_async_callback(minter.close)
        documents = HttpDocuments(outgoing)
        stack.push_async_callback(documents.close)
        given = Dependencies(
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
                worker_ca,
                lambda: certificate.state if certificate else None,
            ),
            Adapters(
                minter,
                PolledActivity(clock, timeouts.worker_report),
                documents,
                HttpProbe(outgoing),
                HttpOwnApi(settings.worker_url or address),
            ),
        )
        entrance = Entrance([listener], access, certificate, _limits(settings))
        await run_process(given, entrance, stop, lambda: _print_address(address), timeouts)


def _limits(settings: Settings) -> LimitOptions:
    return LimitOptions(
        settings.requests_per_second,
        settings.request_burst,
        settings.open_requests,
        settings.event_streams_each,
        settings.event_streams,
        settings.connections_each,
        settings.connections,
    )


def _certificate(settings: Settings, clock: Clock) -> ServingCertificate | None:
    """None for plain HTTP; raises `Misconfigured` if that is neither local nor asked for."""
    if settings.tls_certificate and settings.tls_key:
        return ServingCertificate(TlsFiles(Path(settings.tls_certificate), Path(settings.tls_key)), clock)
    if settings.tls_certificate or settings.tls_key:
        missing = "MOORING_TLS_KEY" if settings.tls_certificate else "MOORING_TLS_CERTIFICATE"
        raise Misconfigured(f"{missing} is not set", fix="HTTPS needs a certificate and its key: set both, or none")
    if not settings.plain_http:
        refuse_plain_http(settings.host)
    return None


async def _client(stack: AsyncExitStack, settings: Settings, clock: Clock) -> KubeClient:
    connection = await connect(_target(settings), clock)
    stack.push_async_callback(connection.close)
    return KubeClient(connection, namespaces=read_namespaces(settings))


def _target(settings: Settings) -> Target:
    if not settings.kubeconfig and not settings.context and runs_in_cluster():
        return in_cluster_target()
    return load_kubeconfig(settings.kubeconfig).target(settings.context)


def _print_address(address: str) -> None:
    print(f"mooring serves {address}", file=sys.stderr, flush=True)
