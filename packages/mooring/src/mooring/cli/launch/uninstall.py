"""`mooring uninstall`: take Mooring out of a cluster, and leave the work of users running."""

import asyncio
import sys
from dataclasses import dataclass, field

from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.connection import connect
from mooring.cli.launch.cluster_view import find_target
from mooring.cli.output import print_line
from mooring.cli.remote.mutation import is_interactive
from mooring.kinds.release import Release
from mooring.kinds.removal import Removal, RemovalOptions
from mooring.model.errors import Refused


@dataclass(frozen=True, slots=True)
class UninstallOptions:
    """The arguments of `uninstall`."""

    release: Release
    removal: RemovalOptions
    yes: bool = False
    watch_namespaces: list[str] = field(default_factory=list)
    context: str = ""
    kubeconfig: str = ""


def run_uninstall(options: UninstallOptions) -> None:
    """Print each act; ask first on a terminal."""
    if not options.yes and not options.removal.dry_run:
        _confirm(options)
    asyncio.run(_uninstall(options))
    if options.removal.dry_run:
        print("dry run: nothing was changed")


def _confirm(options: UninstallOptions) -> None:
    if not is_interactive():
        raise Refused(
            "uninstall was not confirmed: nothing was changed", fix="give --yes, or look with --dry-run first"
        )
    where = f"{options.release.name} in namespace {options.release.namespace}"
    definitions = ", with all pools, warmups, submissions and services" if options.removal.crds else ""
    print(
        f"This stops and removes Mooring {where}{definitions}. Pods, Jobs and Services of users stay.", file=sys.stderr
    )
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("not confirmed: nothing was changed", fix="answer y, or give --yes")


async def _uninstall(options: UninstallOptions) -> None:
    clock = SystemClock()
    connection = await connect(find_target(options.kubeconfig, options.context), clock)
    try:
        client = KubeClient(connection, namespaces=options.watch_namespaces)
        await Removal(client, clock, options.release, print_line).run(options.removal)
    finally:
        await connection.close()
