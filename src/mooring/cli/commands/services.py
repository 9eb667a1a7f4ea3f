"""Services: whether they serve, and why not."""

from typing import Annotated

import typer

from mooring.cli.application import Output, State, Token, Url, Watch, app, run_list
from mooring.cli.output import Format


@app.command()
def services(
    name: Annotated[str, typer.Argument(help="Only this one (name, or namespace/name).")] = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Services: phase, endpoints of their API, why, and the fix."""
    run_list("SERVICES", {"name": name}, output, watch, url, token, state)
