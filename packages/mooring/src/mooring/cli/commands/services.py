"""Commands for managed services: list them, apply one from a file, delete one."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mooring.cli.application import (
    DryRun,
    Namespace,
    Output,
    Reason,
    State,
    Target,
    Token,
    Url,
    Watch,
    Yes,
    app,
    call_remote,
)
from mooring.cli.output import Format

_SHOW = "list"


class _ListByDefault(TyperGroup):
    """`mooring services`, `mooring services NAME` and options without a command list services."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = [_SHOW, *args]
        return super().parse_args(ctx, args)


services = typer.Typer(
    cls=_ListByDefault,
    help="List services with phase, API, why and fix; apply or delete one.",
    rich_markup_mode=None,
    add_completion=False,
)
app.add_typer(services, name="services")


@services.command(_SHOW)
def list_services(
    name: Annotated[str, typer.Argument(help="Only this service (name, or namespace/name).")] = "",
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    watch: Watch = False,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """List services: phase, endpoints of their API, why, and the fix. This is the default."""
    from mooring.cli.remote.services import run_services

    call_remote(lambda endpoint: run_services(endpoint, name, namespace, output, watch=watch), url, token, state)


@services.command()
def apply(
    file: Annotated[Path, typer.Option("--file", "-f", help="A ManagedService as YAML or JSON; - for stdin.")],
    namespace: Target = "",
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, and apply what the preflight refuses.")] = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Create or update a service. The preflight answers first; what no node takes is refused."""
    from mooring.cli.remote.mutation import MutationOptions
    from mooring.cli.remote.services import run_apply

    options = MutationOptions(dry_run, yes, reason, output)
    raise typer.Exit(call_remote(lambda endpoint: run_apply(endpoint, file, namespace, options), url, token, state))


@services.command()
def delete(
    name: Annotated[str, typer.Argument(help="Name of the service (name, or namespace/name).")],
    namespace: Namespace = "",
    reason: Reason = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Output = Format.TABLE,
    url: Url = "",
    token: Token = "",
    state: State = None,
) -> None:
    """Delete a service, with its Deployment, its Service and its budget."""
    from mooring.cli.remote.mutation import MutationOptions
    from mooring.cli.remote.services import run_delete

    options = MutationOptions(dry_run, yes, reason, output)
    call_remote(lambda endpoint: run_delete(endpoint, name, namespace, options), url, token, state)
