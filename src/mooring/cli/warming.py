"""`warmups` and `warm`: datasets on nodes, one in full with its shards and its evidence, and warming one again."""

import getpass
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mooring.cli.listings import WARMUPS, progress_bar, reasons_to_look, run_listing
from mooring.cli.output import API_VERSION, Column, Format, Row, printable, show
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import Unreachable
from mooring.model.errors import InvalidInput, NotFound, Refused
from mooring.model.spelling import suggest

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
    reason: str
    dry_run: bool


def run_warmups(endpoint: Endpoint, name: str, form: Format, watch: bool) -> None:
    """All of them as a table, or one in full."""
    if not name:
        run_listing(WARMUPS, endpoint, {}, form, watch)
        return
    connection = Connection(endpoint)
    if not watch:
        _show_one(find_one(connection, name), form)
        return
    for _ in reasons_to_look(connection, WARMUPS.watches):
        if sys.stdout.isatty():
            print("\x1b[H\x1b[2J", end="")
        _show_one(find_one(connection, name), form)
        sys.stdout.flush()
    raise Unreachable("the stream of changes ended", fix="is Mooring still running? watch again")


def run_warm(asked: WarmCommand, endpoint: Endpoint) -> None:
    """Write the wish down; it is carried out once, also when this terminal is long gone."""
    if asked.force == asked.close_circuit:
        raise InvalidInput("warm", "--force, --close-circuit", "given one of --force and --close-circuit")
    connection = Connection(endpoint)
    warmup = find_one(connection, asked.name)
    key = f"{warmup['namespace']}/{warmup['name']}"
    if asked.close_circuit and (warmup["status"]["circuit"] or {}).get("state") != "open":
        raise Refused(f"the circuit of {key} is not open", fix=f"mooring warmups {key} shows how it stands")
    deed = "tries again at once" if asked.close_circuit else f"fetches {warmup['spec']['shards']} shard(s) again"
    if asked.dry_run:
        print(f"warmup/{key} {deed} (dry run: nothing was asked for)")
        return
    verb = "close-circuit" if asked.close_circuit else "rewarm"
    body = {"reason": asked.reason, "actor": f"cli/{getpass.getuser()}"}
    path = f"/v1/warmups/{quote(warmup['namespace'], safe='')}/{quote(warmup['name'], safe='')}/{verb}"
    answer = connection.request("POST", path, body=body)
    print(f"warmup/{key} {deed}, once, when its nodes are Ready (request {answer['id']})")


def find_one(connection: Connection, name: str) -> Row:
    """By `namespace/name`, or by a name that only one has."""
    rows: list[Row] = connection.get(WARMUPS.path)["items"]
    keys = {f"{row['namespace']}/{row['name']}": row for row in rows}
    found = [row for key, row in keys.items() if name in (key, row["name"])]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput("NAME", name, f"one of {', '.join(key for key in keys if key.endswith(f'/{name}'))}")
    raise NotFound(f"there is no warmup {name!r}", fix=suggest(name, keys, "warmups"))


def _show_one(warmup: Row, form: Format) -> None:
    match form:
        case Format.JSON | Format.NDJSON:
            print(json.dumps({"apiVersion": API_VERSION, "kind": "Warmup", **warmup}, indent=_indent(form)))
        case Format.YAML:
            import yaml

            print(yaml.safe_dump({"apiVersion": API_VERSION, "kind": "Warmup", **warmup}, sort_keys=False), end="")
        case Format.NAME:
            print(WARMUPS.name.format(**warmup))
        case _:
            _show_in_full(warmup, form)


def _indent(form: Format) -> int | None:
    return 2 if form is Format.JSON else None


def _show_in_full(warmup: Row, form: Format) -> None:
    status: dict[str, Any] = warmup["status"]
    _say(f"{warmup['namespace']}/{warmup['name']}: {status['phase'] or 'Pending'}")
    _say(f"  {status['reason'] or 'not looked at yet'}")
    _say(f"  dataset {warmup['spec']['dataset']}, generation {warmup['spec']['generation']}")
    _say(f"  {status['nodesReady']} of {status['nodesTotal']} warm")
    for title, read in _NOTES:
        if text := read(status):
            _say(f"  {title}: {text}")
    if status["shards"]:
        print()
        show("ShardList", status["shards"], _SHARDS, form, lambda row: str(row["shard"]))
    if failure := status["failure"]:
        print()
        _say(f"{failure['pod']} / {failure['container']}: {failure['reason']} ({failure['restarts']} restarts)")
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
