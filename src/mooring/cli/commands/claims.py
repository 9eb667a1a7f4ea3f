"""Claims: list them, hold one, give one back."""

from typing import Annotated

import typer

from mooring.cli.application import (
    DryRun,
    Limit,
    Namespace,
    Output,
    Pool,
    State,
    Token,
    Url,
    Watch,
    Yes,
    app,
    ask,
    run_list,
)
from mooring.cli.output import Format


@app.command()
def claims(
    namespace: Namespace = "",
    pool: Pool = "",
    owner: Annotated[str, typer.Option("--owner", help="Only of this owner.")] = "",
    only: Annotated[str, typer.Option("--only", help="Only in these states, with commas.")] = "",
    limit: Limit = 100,
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Claims: who holds or waits for which worker, newest first."""
    query = {"namespace": namespace, "pool": pool, "owner": owner, "state": only, "limit": str(limit)}
    run_list("CLAIMS", query, output, watch, url, token, state)


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

    asked = ClaimCommand(pool, tuple(command), owner, ttl, wait, key, priority)
    raise typer.Exit(ask(lambda endpoint: run_claim(asked, endpoint), url, token, state))


@app.command()
def release(
    claim_id: Annotated[str, typer.Argument(help="Id of the claim.", metavar="ID")],
    reason: Annotated[str, typer.Option("--reason", help="Why; told to its holder, kept in the audit trail.")] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Take a claim's worker back, whoever holds it."""
    from mooring.cli.changes import Manner
    from mooring.cli.releasing import run_release

    manner = Manner(dry_run, yes, reason, output)
    ask(lambda endpoint: run_release(claim_id, manner, endpoint), url, token, state)
