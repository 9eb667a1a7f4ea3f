"""`mooring warmups` and `mooring warm`: datasets on nodes, and warming one again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mooring.cli.output import Column, Format, Row, print_line, show_table
from mooring.cli.remote.columns import progress_bar
from mooring.cli.remote.listing import run_listing
from mooring.cli.remote.listings import WARMUPS
from mooring.cli.remote.lookup import Lookup, find_one, run_one
from mooring.cli.remote.mutation import Mutation, MutationOptions, run_mutation
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput, Refused

_SHARDS = (
    Column("SHARD", lambda row: row["shard"]),
    Column("NODE", lambda row: row["node"]),
    Column("STATE", lambda row: row["state"]),
    Column("PROGRESS", lambda row: progress_bar(row["progress"])),
    Column("WARM", lambda row: row["warm"]),
    Column("WHY", lambda row: row["why"], text=True),
    Column("JOB", lambda row: row["job"], wide=True),
    Column("RESTARTS", lambda row: row["restarts"], wide=True),
    Column("NODE UID", lambda row: row["nodeUID"], wide=True),
)


@dataclass(frozen=True, slots=True)
class WarmCommand:
    """The arguments of `warm`."""

    name: str
    force: bool
    close_circuit: bool
    namespace: str = ""


def run_warmups(endpoint: Endpoint, name: str, namespace: str, output: Format, *, watch: bool) -> None:
    """Print a table of all warmups, or one in full."""
    if name:
        run_one(Connection(endpoint), Lookup(WARMUPS, name, namespace), output, watch, _print_warmup)
    else:
        run_listing(WARMUPS, endpoint, {"namespace": namespace}, output, watch=watch)


def run_warm(asked: WarmCommand, options: MutationOptions, endpoint: Endpoint) -> None:
    """Request it. The server carries it out once, also after this command has ended."""
    if asked.force == asked.close_circuit:
        raise InvalidInput("warm", "--force, --close-circuit", "given exactly one of --force and --close-circuit")
    connection = Connection(endpoint)
    warmup = find_one(connection, Lookup(WARMUPS, asked.name, asked.namespace))
    key = f"{warmup['namespace']}/{warmup['name']}"
    if asked.close_circuit and (warmup["status"]["circuit"] or {}).get("state") != "open":
        raise Refused(f"the circuit of {key} is not open", fix=f"mooring warmups {key}")
    effect = "retries at once" if asked.close_circuit else f"fetches {warmup['spec']['shards']} shard(s) again"
    impact = f"warmup/{key} {effect}, once, when its nodes are Ready"
    verb = "close-circuit" if asked.close_circuit else "rewarm"
    body = {"reason": options.reason}
    path = f"/v1/warmups/{quote(warmup['namespace'], safe='')}/{quote(warmup['name'], safe='')}/{verb}"
    mutation = Mutation(
        kind="Warmup",
        name=f"warmup/{key}",
        before=warmup,
        impact=(impact,),
        apply=lambda: {**warmup, "request": connection.request("POST", path, body=body)},
        describe=lambda after: f"{impact} (request {after['request']['id']})",
    )
    run_mutation(mutation, options)


def _print_warmup(warmup: Row, output: Format) -> None:
    status: dict[str, Any] = warmup["status"]
    print_line(f"{warmup['namespace']}/{warmup['name']}: {status['phase'] or 'Pending'}")
    why = warmup["why"]
    print_line(
        f"  {why['message']}, since {why['since']}" + (f" (next check {why['nextCheck']})" if why["nextCheck"] else "")
    )
    print_line(f"  dataset {warmup['spec']['dataset']}, generation {warmup['spec']['generation']}")
    print_line(f"  {status['nodesReady']} of {status['nodesTotal']} warm")
    for title, read in _NOTES:
        if text := read(status):
            print_line(f"  {title}: {text}")
    if why["fix"] and why["fix"] != f"mooring warmups {warmup['namespace']}/{warmup['name']}":  # this command
        print_line(f"  fix: {why['fix']}")
    if status["shards"]:
        print()
        show_table(status["shards"], _SHARDS, wide=output is Format.WIDE)
    if failure := status["failure"]:
        print()
        who = f"{failure['pod']} / {failure['container']}: " if failure["container"] else ""
        print_line(f"{who}{failure['reason']} ({failure['restarts']} restarts)" if who else failure["reason"])
        for line in failure["logs"]:
            print_line(f"  {line}")


def _describe_release(status: dict[str, Any]) -> str:
    release = status["release"]
    if not release:
        return ""
    summary = f"{release['status']}, {len(release['deleted'])} deleted, {len(release['kept'])} kept"
    return "; ".join([summary, *release["errors"]])


def _describe_circuit(status: dict[str, Any]) -> str:
    circuit = status["circuit"] or {}
    if circuit.get("state") != "open":
        return ""
    return f"open until {circuit['openUntil']} after {len(circuit['failures'])} failures"


def _describe_adoption(status: dict[str, Any]) -> str:
    adoption = status.get("adoption")
    if not adoption:
        return ""
    rows = [f"{job['name']} {job['state']}: {job['why']}" for job in adoption["jobs"]]
    found = f"{adoption['found']} Job(s) match {adoption['selector']}"
    return "; ".join(filter(None, [found, adoption["error"], *rows]))


def _describe_copies(status: dict[str, Any]) -> str:
    removing = [copy for copy in status.get("copies") or [] if copy["state"]]
    return "; ".join(f"{copy['path']} on {copy['node']} {copy['state']} {copy['why']}".strip() for copy in removing)


_NOTES: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("last release of stale Jobs", _describe_release),
    ("circuit", _describe_circuit),
    ("adopted", _describe_adoption),
    ("removal of the data", _describe_copies),
)
