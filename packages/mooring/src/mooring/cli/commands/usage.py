"""The command for the use of workers."""

from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, app, call_remote
from mooring.cli.output import Format


@app.command()
def usage(
    days: Annotated[int, typer.Option("--days", min=1, max=400, help="How many days, today included.")] = 7,
    price: Annotated[float | None, typer.Option("--price", min=0, help="Price of one worker-hour.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """List worker-hours by day, pool and owner; with a price also what they and other wait targets cost."""
    from mooring.cli.remote.usage import UsageCommand, run_usage

    asked = UsageCommand(days, price, csv)
    call_remote(lambda endpoint: run_usage(asked, endpoint, output), url, token, state)
