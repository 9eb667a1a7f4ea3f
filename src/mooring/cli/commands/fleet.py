"""Pools, workers, nodes."""

from typing import Annotated

import typer

from mooring.cli.application import Namespace, Output, Pool, State, Token, Url, Watch, app, ask, run_list
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
    """Pools: floor, counts by state, and why."""
    run_list("POOLS", {"namespace": namespace}, output, watch, url, token, state)


@app.command()
def workers(
    namespace: Namespace = "",
    pool: Pool = "",
    node: Annotated[str, typer.Option("--node", help="Only on this node.")] = "",
    only: Annotated[str, typer.Option("--only", help="Only in this state.")] = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Workers: state, node, owner, and why."""
    query = {"namespace": namespace, "pool": pool, "node": node, "state": only}
    run_list("WORKERS", query, output, watch, url, token, state)


@app.command()
def nodes(
    output: Output = Format.TABLE, watch: Watch = False, url: Url = "", token: Token = "", state: State = None
) -> None:
    """Nodes: whether they drain, and the workers on them."""
    run_list("NODES", {}, output, watch, url, token, state)


@app.command("drain-check")
def drain_check(
    node: Annotated[str, typer.Argument(help="The node that would go.")],
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """What would happen if a node went now: which sessions wait, finish, are rebound or lost. Exit 1 when work is."""
    from mooring.cli.drain_check import run_drain_check

    ask(lambda endpoint: run_drain_check(node, endpoint, output), url, token, state)
