"""`mooring up`: a cluster, a database, the control plane and the dashboard on this machine."""

import contextlib
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import uvloop

from mooring.api.auth import Access, load_token
from mooring.api.hosting import bind
from mooring.app import Surroundings
from mooring.cli.demo import demo_nodes, start_busy_pools, start_demo
from mooring.cli.process import configure_logs, replica_name, run_process, stop_on_signals
from mooring.cli.traffic import Traffic, running_traffic
from mooring.client import AsyncMooring
from mooring.clock import Clock, Entropy, SystemClock
from mooring.control.claiming.activity import PolledActivity
from mooring.control.claiming.minting import WebhookMinter
from mooring.control.probing import HttpProbe
from mooring.control.serving.document import HttpDocuments
from mooring.kube.client import KubeClient
from mooring.kube.connection import Target, connect
from mooring.kube.crds.installing import install_crds
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.ledger.embedded import EmbeddedServer
from mooring.ledger.port import Ledger
from mooring.ledger.postgres.ledger import PostgresLedger
from mooring.model.errors import InvalidInput
from mooring.sandbox.cluster import LocalOptions, kubernetes_nodes, local_sandbox, plain_nodes
from mooring.sandbox.kubernetes.components import PlaneOptions
from mooring.sandbox.kubernetes.launcher import ControlPlane
from mooring.sandbox.state_lock import state_folder

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The options of the command."""

    port: int
    state: Path
    kube_port: int
    demo: bool
    traffic: bool
    cluster: str
    context: str
    database: str


def run_up(options: UpOptions) -> None:
    """Run until Ctrl-C."""
    if options.cluster not in ("sandbox", "kubernetes"):
        raise InvalidInput("--cluster", options.cluster, "sandbox or kubernetes")
    configure_logs("warning")
    uvloop.run(_up(options))


async def _up(options: UpOptions) -> None:
    clock, entropy = SystemClock(), Entropy()
    stop = stop_on_signals()
    existing = load_kubeconfig().target(options.context) if options.context else None
    async with AsyncExitStack() as stack:
        state = stack.enter_context(state_folder(options.state)).resolve()
        written = state / "url"
        written.unlink(missing_ok=True)  # left by a killed life: whoever waits for it must not find the old one
        stack.callback(written.unlink, missing_ok=True)
        listener = stack.enter_context(contextlib.closing(bind(HOST, options.port)))
        token = load_token(state, "", entropy)
        url = f"http://{HOST}:{listener.getsockname()[1]}"
        ledger = await _open_ledger(stack, options, state, clock, entropy)
        client = await _open_cluster(stack, options, existing, state, clock, entropy)
        await install_crds(client, clock)
        if options.demo:
            await start_demo(client, state / "demo")
        if options.traffic:
            await start_busy_pools(client)
        minter = WebhookMinter()
        stack.push_async_callback(minter.close)
        documents = HttpDocuments()
        stack.push_async_callback(documents.close)
        name, activity = replica_name(""), PolledActivity(clock)
        given = Surroundings(
            client,
            ledger,
            clock,
            entropy,
            name,
            minter,
            activity,
            documents,
            HttpProbe(),
            url,
            worker_url="" if existing is not None else url,  # other clusters' pods cannot reach this machine's loopback
        )
        access = Access(token, open_pages=True)

        def ready() -> None:
            fresh = written.with_suffix(".new")
            fresh.write_text(url + "\n")
            fresh.replace(written)  # whole from its first moment: it is waited for by name and read at once
            _tell(url, state, options.context)

        if options.traffic:
            traffic = Traffic(AsyncMooring(url, token), clock, entropy)
            stop = await stack.enter_async_context(running_traffic(traffic, stop))
        await run_process(given, access, listener, stop, ready)


async def _open_ledger(
    stack: AsyncExitStack, options: UpOptions, state: Path, clock: Clock, entropy: Entropy
) -> Ledger:
    database = options.database
    if not database:
        _say("starting PostgreSQL")
        server = EmbeddedServer(state / "postgres", clock=clock, entropy=entropy)
        database = await server.start()
        stack.push_async_callback(server.stop)
    ledger = await PostgresLedger.open(database, clock=clock, entropy=entropy)
    stack.push_async_callback(ledger.close)
    return ledger


async def _open_cluster(
    stack: AsyncExitStack, options: UpOptions, existing: Target | None, state: Path, clock: Clock, entropy: Entropy
) -> KubeClient:
    """The embedded cluster, the real control plane, or one that exists already."""
    kubeconfig = state / "kubeconfig"
    if existing is not None:
        kubeconfig.unlink(missing_ok=True)  # of an embedded cluster that ran on this state before
        connection = await connect(existing, clock)
        stack.push_async_callback(connection.close)
        return KubeClient(connection)
    nodes = demo_nodes() if options.demo else plain_nodes(3)
    if options.cluster == "kubernetes":
        _say("starting the Kubernetes control plane")
        plane_options = PlaneOptions(port=options.kube_port)
        plane = await stack.enter_async_context(
            ControlPlane.start(state / "kubernetes", clock=clock, entropy=entropy, options=plane_options)
        )
        local = kubernetes_nodes(plane, state / "nodes", clock, entropy, LocalOptions(nodes=nodes))
    else:
        _say("starting the sandbox cluster")
        local = local_sandbox(state / "sandbox", clock, entropy, LocalOptions(nodes=nodes, port=options.kube_port))
    cluster = await stack.enter_async_context(local)
    if cluster.kubeconfig is not None:
        kubeconfig.touch(0o600)
        kubeconfig.write_bytes(cluster.kubeconfig.read_bytes())
    return KubeClient(cluster.transport)


def _say(message: str) -> None:
    print(f"{message} …", file=sys.stderr, flush=True)


def _tell(url: str, state: Path, context: str) -> None:
    print(f"Mooring is up: {url}", flush=True)
    which = f"--context {context}" if context else f"--kubeconfig {state / 'kubeconfig'}"
    print(f"  kubectl {which} get workerpools -A", file=sys.stderr)
    print(f"  token in {state / 'token'}; Ctrl-C stops everything", file=sys.stderr, flush=True)
