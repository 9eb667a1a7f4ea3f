"""`warmups` and `warm`: datasets on nodes, one in full with its shards and its evidence, and warming one again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mooring.cli.changes import Change, Manner, acting_user, carry_out
from mooring.cli.listings import WARMUPS, progress_bar, run_listing
from mooring.cli.lookup import find_one, run_one
from mooring.cli.output import Column, Format, Row, printable, show_table
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput, Refused

_SHARDS = (
    Column("SHARD", lambda row: row["shard"]),
    Column("NODE", lambda row: row["node"]),
    Column("STATE", lambda row: row["state"]),
    Column("PROGRESS", lambda row: progress_bar(row["progress"])),
    Column("WARM", lambda row: row["warm"]),
    Column("WHY", lambda row: row["why"]),
    Column("JOB", lambda row: row["job"], wide=True),
    Column("RESTARTS", lambda row: row["restarts"], wide=True),
    Column("NODE UID", lambda row: row["nodeUID"], wide=True),
)


@dataclass(frozen=True, slots=True)
class WarmCommand:
    """What `warm` was asked to do."""

    name: str
    force: bool
    close_circuit: bool
    namespace: str = ""


def run_warmups(endpoint: Endpoint, name: str, namespace: str, form: Format, *, watch: bool) -> None:
    """All of them as a table, or one in full."""
    if name:
        run_one(Connection(endpoint), WARMUPS, name, namespace, form, watch, _show_in_full)
    else:
        run_listing(WARMUPS, endpoint, {"namespace": namespace}, form, watch)


def run_warm(asked: WarmCommand, manner: Manner, endpoint: Endpoint) -> None:
    """Write the wish down; it is carried out once, also when this terminal is long gone."""
    if asked.force == asked.close_circuit:
        raise InvalidInput("warm", "--force, --close-circuit", "given one of --force and --close-circuit")
    connection = Connection(endpoint)
    warmup = find_one(connection, WARMUPS, asked.name, asked.namespace)
    key = f"{warmup['namespace']}/{warmup['name']}"
    if asked.close_circuit and (warmup["status"]["circuit"] or {}).get("state") != "open":
        raise Refused(f"the circuit of {key} is not open", fix=f"mooring warmups {key} shows how it stands")
    deed = "tries again at once" if asked.close_circuit else f"fetches {warmup['spec']['shards']} shard(s) again"
    verb = "close-circuit" if asked.close_circuit else "rewarm"
    body = {"reason": manner.reason, "actor": acting_user()}
    path = f"/v1/warmups/{quote(warmup['namespace'], safe='')}/{quote(warmup['name'], safe='')}/{verb}"
    change = Change(
        kind="Warmup",
        name=f"warmup/{key}",
        before=warmup,
        impact=(f"warmup/{key} {deed}, once, when its nodes are Ready",),
        act=lambda: {**warmup, "request": connection.request("POST", path, body=body)},
        told=lambda after: f"warmup/{key} {deed}, once, when its nodes are Ready (request {after['request']['id']})",
    )
    carry_out(change, manner)


def _show_in_full(warmup: Row, form: Format) -> None:
    status: dict[str, Any] = warmup["status"]
    _say(f"{warmup['namespace']}/{warmup['name']}: {status['phase'] or 'Pending'}")
    why = warmup["why"]
    _say(
        f"  {why['message']}, since {why['since']}" + (f" (next check {why['nextCheck']})" if why["nextCheck"] else "")
    )
    _say(f"  dataset {warmup['spec']['dataset']}, generation {warmup['spec']['generation']}")
    _say(f"  {status['nodesReady']} of {status['nodesTotal']} warm")
    for title, read in _NOTES:
        if text := read(status):
            _say(f"  {title}: {text}")
    if why["fix"]:
        _say(f"  fix: {why['fix']}")
    if status["shards"]:
        print()
        show_table(status["shards"], _SHARDS, wide=form is Format.WIDE)
    if failure := status["failure"]:
        print()
        who = f"{failure['pod']} / {failure['container']}: " if failure["container"] else ""
        _say(f"{who}{failure['reason']} ({failure['restarts']} restarts)" if who else failure["reason"])
        for line in failure["logs"]:
            _say(f"  {line}")


def _released(status: dict[str, Any]) -> str:
    release = status["release"]
    if not release:
        return ""
    told = f"{release['status']}, {len(release['deleted'])} deleted, {len(release['kept'])} kept"
    return "; ".join([told, *release["errors"]])


def _circuit(status: dict[str, Any]) -> str:
    circuit = status["circuit"] or {}
    if circuit.get("state") != "open":
        return ""
    return f"open until {circuit['openUntil']} after {len(circuit['failures'])} failures"


_NOTES: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("last release of stale Jobs", _released),
    ("circuit", _circuit),
)


def _say(text: str) -> None:
    print(printable(text))
