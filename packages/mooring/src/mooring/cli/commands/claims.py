"""Commands for claims: list them, hold one, release one."""

from typing import Annotated

import typer

from mooring.cli.application import (
    DryRun,
    Key,
    Limit,
    Namespace,
    Output,
    Pool,
    PoolArgument,
    Priority,
    State,
    Token,
    Ttl,
    Url,
    Wait,
    Watch,
    Yes,
    app,
    call_remote,
    run_list,
)
from mooring.cli.completion import complete_claims
from mooring.cli.output import Format

OPEN_CLAIMS = "queued,claimed,running"


@app.command()
def claims(
    namespace: Namespace = "",
    pool: Pool = "",
    owner: Annotated[str, typer.Option("--owner", help="Only of this owner.")] = "",
    only: Annotated[str, typer.Option("--only", help="Only in these states, separated by commas.")] = "",
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also claims that have ended.")] = False,
    limit: Limit = 100,
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """List open claims: who holds or waits for which worker, newest first."""
    states = only or ("" if everything else OPEN_CLAIMS)
    query = {"namespace": namespace, "pool": pool, "owner": owner, "state": states, "limit": str(limit)}
    run_list("CLAIMS", query, output, watch, url, token, state)


@app.command()
def claim(
    pool: PoolArgument,
    command: Annotated[list[str], typer.Argument(help="Command to run while the claim is held.", metavar="-- CMD...")],
    owner: Annotated[
        str, typer.Option("--owner", help="Owner of the claim; counts against the pool's limit. Default: the caller.")
    ] = "",
    ttl: Ttl = "5m",
    wait: Wait = "60s",
    key: Key = "",
    priority: Priority = 0,
    detached: Annotated[
        bool, typer.Option("--detached", help="Keep its place in the queue also after this command has ended.")
    ] = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Claim a worker while a command runs here, then release it."""
    from mooring.cli.remote.claim import ClaimCommand, run_claim

    asked = ClaimCommand(pool, tuple(command), owner, ttl, wait, key, priority, detached)
    raise typer.Exit(call_remote(lambda endpoint: run_claim(asked, endpoint), url, token, state))


@app.command()
def release(
    claim_id: Annotated[str, typer.Argument(help="Id of the claim.", metavar="ID", autocompletion=complete_claims)],
    reason: Annotated[str, typer.Option("--reason", help="Reason for the holder and the audit trail.")] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Release a claim, also one of another holder."""
    from mooring.cli.remote.mutation import MutationOptions
    from mooring.cli.remote.release import run_release

    options = MutationOptions(dry_run, yes, reason, output)
    call_remote(lambda endpoint: run_release(claim_id, options, endpoint), url, token, state)
