"""Commands for the fleet: pools, workers, nodes."""

from typing import Annotated

import typer

from mooring.cli.application import (
    DryRun,
    Namespace,
    Output,
    Pool,
    Reason,
    State,
    Token,
    Url,
    Watch,
    Worker,
    Yes,
    app,
    call_remote,
    run_list,
)
from mooring.cli.completion import complete_nodes, complete_pools
from mooring.cli.output import Format


@app.command()
def pools(
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """List pools: warm floor, workers by state, and why."""
    run_list("POOLS", {"namespace": namespace}, output, watch, url, token, state)


@app.command()
def workers(
    namespace: Namespace = "",
    pool: Pool = "",
    node: Annotated[str, typer.Option("--node", help="Only on this node.", autocompletion=complete_nodes)] = "",
    only: Annotated[str, typer.Option("--only", help="Only in this state.")] = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """List workers: state, node, owner, and why."""
    query = {"namespace": namespace, "pool": pool, "node": node, "state": only}
    run_list("WORKERS", query, output, watch, url, token, state)


@app.command()
def nodes(
    output: Output = Format.TABLE, watch: Watch = False, url: Url = "", token: Token = "", state: State = None
) -> None:
    """List nodes: whether they drain, and the workers on them."""
    run_list("NODES", {}, output, watch, url, token, state)


@app.command()
def retire(
    worker: Worker,
    reason: Reason = "",
    force: Annotated[bool, typer.Option("--force", help="Revoke the claims that hold the worker first.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Delete a worker and have it replaced; refused while a live claim holds it, unless --force is given."""
    from mooring.cli.remote.mutation import MutationOptions
    from mooring.cli.remote.retirement import run_retire

    options = MutationOptions(dry_run, yes, reason, output)
    call_remote(lambda endpoint: run_retire(worker, force, options, endpoint), url, token, state)


@app.command()
def adopt(
    pool: Annotated[
        str,
        typer.Option(
            "--pool", help="Pool (namespace/name, or a unique name).", metavar="NS/NAME", autocompletion=complete_pools
        ),
    ],
    selector: Annotated[str, typer.Option("--selector", "-l", help="Label selector of the pods, such as app=runner.")],
    idle: Annotated[bool, typer.Option("--idle", help="State that the pods run no session; audited.")] = False,
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Make running pods workers of a pool; they count as busy until they are proven to be idle."""
    from mooring.cli.remote.adoption import AdoptCommand, run_adopt
    from mooring.cli.remote.mutation import MutationOptions

    options = MutationOptions(dry_run, yes, reason, output)
    call_remote(lambda endpoint: run_adopt(AdoptCommand(pool, selector, idle), options, endpoint), url, token, state)


@app.command("drain-check")
def drain_check(
    node: Annotated[str, typer.Argument(help="Name of the node.", autocompletion=complete_nodes)],
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Print what a drain of the node would do to each session now; exit code 1 when work would be lost."""
    from mooring.cli.remote.drain_check import run_drain_check

    call_remote(lambda endpoint: run_drain_check(node, endpoint, output), url, token, state)
