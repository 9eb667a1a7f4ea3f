"""The command line. Every command's body is imported when it runs, so that `mooring --help` is quick."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.output import Format

app = typer.Typer(
    name="mooring",
    help="Worker fleets on Kubernetes, kept true to the cluster.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the rich help costs more than 100 ms of imports
)

Output = Annotated[Format, typer.Option("-o", "--output", help="table, wide, json, yaml, ndjson or name.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Show again whenever something changed.")]
Url = Annotated[str, typer.Option("--url", help="Where Mooring answers; else MOORING_URL or the state folder.")]
Token = Annotated[str, typer.Option("--token", help="Bearer token; else MOORING_TOKEN or the state folder.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder of a local 'mooring up'.")]


@app.command()
def pools(
    output: Output = Format.TABLE, watch: Watch = False, url: Url = "", token: Token = "", state: State = None
) -> None:
    """Pools: floor, counts by state, and why."""
    _list("POOLS", {}, output, watch, url, token, state)


@app.command()
def workers(
    pool: Annotated[str, typer.Option("--pool", "-p", help="Only of this pool (namespace/name).")] = "",
    node: Annotated[str, typer.Option("--node", help="Only on this node.")] = "",
    only: Annotated[str, typer.Option("--only", help="Only in this state.")] = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Workers: state, node, owner, and why."""
    _list("WORKERS", {"pool": pool, "node": node, "state": only}, output, watch, url, token, state)


@app.command()
def nodes(
    output: Output = Format.TABLE, watch: Watch = False, url: Url = "", token: Token = "", state: State = None
) -> None:
    """Nodes: whether they drain, and the workers on them."""
    _list("NODES", {}, output, watch, url, token, state)


@app.command()
def claims(
    pool: Annotated[str, typer.Option("--pool", "-p", help="Only of this pool (namespace/name).")] = "",
    owner: Annotated[str, typer.Option("--owner", help="Only of this owner.")] = "",
    only: Annotated[str, typer.Option("--only", help="Only in these states, with commas.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many rows.")] = 100,
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Claims: who holds or waits for which worker, newest first."""
    namespace, _, name = pool.rpartition("/")
    query = {"namespace": namespace, "pool": name, "owner": owner, "state": only, "limit": str(limit)}
    _list("CLAIMS", query, output, watch, url, token, state)


@app.command()
def claim(
    pool: Annotated[str, typer.Argument(help="Pool to take a worker of (namespace/name).")],
    command: Annotated[list[str], typer.Argument(help="What to run while the worker is held.", metavar="-- CMD...")],
    owner: Annotated[str, typer.Option("--owner", help="For whom; counts against the pool's limit.")],
    ttl: Annotated[str, typer.Option("--ttl", help="How long the claim outlives us.")] = "5m",
    wait: Annotated[str, typer.Option("--wait", help="How long to wait for a free worker.")] = "60s",
    key: Annotated[str, typer.Option("--key", help="Idempotency key: the same key gets the same claim.")] = "",
    priority: Annotated[int, typer.Option("--priority", help="Higher is served first.")] = 0,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Hold a worker while a command runs, and give it back."""
    from mooring.cli.claiming import ClaimCommand, run_claim
    from mooring.cli.failures import guarded
    from mooring.client.connection import find_endpoint

    asked = ClaimCommand(pool, tuple(command), owner, ttl, wait, key, priority)
    raise typer.Exit(guarded(lambda: run_claim(asked, find_endpoint(url, token, state))))


@app.command()
def release(
    claim_id: Annotated[str, typer.Argument(help="Id of the claim.", metavar="ID")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")] = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Give a claim's worker back, whoever holds it."""
    from mooring.cli.claiming import run_release
    from mooring.cli.failures import guarded
    from mooring.client.connection import find_endpoint

    guarded(lambda: run_release(claim_id, dry_run, find_endpoint(url, token, state)))


@app.command()
def audit(
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many rows.")] = 50,
    actor: Annotated[str, typer.Option("--actor", help="Only by this actor.")] = "",
    name: Annotated[str, typer.Option("--name", help="Only on objects of this name.")] = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """What was done, by whom, and on what evidence."""
    _list("AUDIT", {"limit": str(limit), "actor": actor, "name": name}, output, watch, url, token, state)


@app.command()
def invariants(
    output: Output = Format.TABLE, watch: Watch = False, url: Url = "", token: Token = "", state: State = None
) -> None:
    """The rules, and whether they hold."""
    _list("INVARIANTS", {}, output, watch, url, token, state)


@app.command()
def pause(
    invariant: str,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the audit trail.")] = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Stop an invariant from acting, on all replicas."""
    _switch("pause", invariant, reason, url, token, state)


@app.command()
def resume(
    invariant: str,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the audit trail.")] = "",
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Let an invariant act again."""
    _switch("resume", invariant, reason, url, token, state)


@app.command()
def up(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the API and the dashboard.")] = 8080,
    state: Annotated[Path, typer.Option("--state", help="Folder for everything that is kept.")] = Path(".state"),
    kube_port: Annotated[int, typer.Option("--kube-port", min=0, max=65535, help="Port of the embedded cluster.")] = 0,
    demo: Annotated[
        bool | None, typer.Option("--demo/--no-demo", help="Start the demo fleet; off with --context unless asked for.")
    ] = None,
    cluster: Annotated[
        str, typer.Option("--cluster", help="sandbox, or kubernetes for the real control plane.")
    ] = "sandbox",
    context: Annotated[str, typer.Option("--context", help="Use an existing cluster of your kubeconfig.")] = "",
    database: Annotated[str, typer.Option("--database", help="PostgreSQL URL instead of the embedded server.")] = "",
) -> None:
    """A cluster, a database, the control plane and the dashboard, on this machine."""
    from mooring.cli.failures import guarded
    from mooring.cli.up import UpOptions, run_up

    with_demo = not context if demo is None else demo
    guarded(lambda: run_up(UpOptions(port, state, kube_port, with_demo, cluster, context, database)))


@app.command()
def sandbox(
    nodes: Annotated[int, typer.Option("--nodes", min=0, max=1000, help="How many nodes, all alike.")] = 1,
    state: Annotated[Path, typer.Option("--state", help="Folder for everything that is kept.")] = Path(".sandbox"),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of the API; 0 takes a free one.")] = 0,
    runtime: Annotated[str, typer.Option("--runtime", help="process, or simulated.")] = "process",
) -> None:
    """An embedded Kubernetes alone, for anyone's tests."""
    from mooring.cli.failures import guarded
    from mooring.cli.sandbox import SandboxCommand, run_sandbox

    guarded(lambda: run_sandbox(SandboxCommand(nodes, state, port, runtime)))


@app.command()
def serve() -> None:
    """The control plane and its API, as it runs in a cluster; settings come from MOORING_* variables."""
    from mooring.cli.failures import guarded
    from mooring.cli.serve import run_serve

    guarded(run_serve)


@app.command()
def install(
    image: Annotated[str, typer.Option("--image", help="Image of the control plane.")] = "mooring:latest",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Namespace to run in.")] = "mooring",
) -> None:
    """Print CRDs, permissions and the Deployment, for kubectl apply -f -."""
    from mooring.cli.install import print_manifests

    print_manifests(image, namespace)


@app.command()
def replay(
    name: Annotated[str, typer.Argument(help="A replay, or 'all'; without a name they are listed.")] = "",
    without_protection: Annotated[
        bool, typer.Option("--without-protection", help="Only the half in which the outage happens.")
    ] = False,
    cluster: Annotated[str, typer.Option("--cluster", help="sandbox, or kubernetes for those that can.")] = "sandbox",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides the order of everything.")] = 1,
    output: Annotated[Format, typer.Option("-o", "--output", help="table or json.")] = Format.TABLE,
) -> None:
    """Play an outage again, without and with protection, in virtual time."""
    from mooring.cli.failures import guarded
    from mooring.cli.replay import ReplayCommand, run_replays

    guarded(lambda: run_replays(ReplayCommand(name, without_protection, cluster, seed, output)))


def _list(
    name: str, query: dict[str, str], output: Format, watch: bool, url: str, token: str, state: Path | None
) -> None:
    from mooring.cli import listings
    from mooring.cli.failures import guarded
    from mooring.client.connection import find_endpoint

    listing = getattr(listings, name)
    guarded(lambda: listings.run_listing(listing, find_endpoint(url, token, state), query, output, watch))


def _switch(verb: str, invariant: str, reason: str, url: str, token: str, state: Path | None) -> None:
    from mooring.cli.failures import guarded
    from mooring.cli.switching import flip
    from mooring.client.connection import find_endpoint

    guarded(lambda: flip(verb, invariant, reason, find_endpoint(url, token, state)))


def main() -> None:
    """The entry point."""
    app()
