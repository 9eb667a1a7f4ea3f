"""`mooring explain KIND/NAME` for pools, workers, nodes, claims and services: the why of the object, in lines."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from hawser.clock import SystemClock
from mooring.cli.output import Format, Row, print_line, show_one
from mooring.cli.remote.columns import describe_node
from mooring.cli.remote.diagnosis import run_explain as explain_pod
from mooring.cli.remote.listing import Listing
from mooring.cli.remote.listings import NODES, POOLS, SERVICES, WORKERS
from mooring.cli.remote.lookup import Lookup, find_one
from mooring.client.claims_api import claim_path
from mooring.client.connection import Connection, Endpoint
from mooring.model.errors import InvalidInput
from mooring.model.time_format import describe_span

KINDS = ("pod", "pool", "worker", "node", "claim", "service")
_SHORT = {"po": "pod", "wp": "pool", "no": "node", "svc": "service", "msvc": "service"}
_LISTINGS: dict[str, Listing] = {"pool": POOLS, "node": NODES, "service": SERVICES, "worker": WORKERS}
_WELL = ("idle", "claimed", "busy")
_DEFAULT_NAMESPACE = "default"
_BROKEN = "broken"
_OWN_NAME = re.compile(r" pod=\S+")  # in messages of kubelets: it makes equal reasons differ


@dataclass(frozen=True, slots=True)
class ExplainCommand:
    """The arguments of `explain`."""

    target: str
    namespace: str


def run_explain(asked: ExplainCommand, endpoint: Endpoint, output: Format) -> None:
    """Print why the object is in its state, since when, what blocks it, and the fix."""
    kind, _, name = asked.target.partition("/")
    kind = _SHORT.get(kind, kind.removesuffix("s"))
    if kind not in KINDS or not name:
        raise InvalidInput("target", asked.target, f"KIND/NAME with one of the kinds {', '.join(KINDS)}")
    connection = Connection(endpoint)
    if kind == "pod":
        explain_pod(endpoint, f"pod/{_qualify_pod(connection, name, asked.namespace)}", "", output)
        return
    if kind == "claim":
        found: Row = connection.get(claim_path(name))
    else:
        found = find_one(connection, Lookup(_LISTINGS[kind], name, asked.namespace))
    if kind == "worker":
        explain_pod(endpoint, f"pod/{found['namespace']}/{found['name']}", "", output)
        return
    rows = _read_workers(connection, kind, found)
    shown = f"claim/{found['id']}" if kind == "claim" else _LISTINGS[kind].name.format(**found)
    verdict = found.get("verdict") if kind == "pool" else None
    report = {
        "object": shown,
        "state": _state(kind, found),
        "why": found["why"],
        "workers": _count_reasons(rows),
        "verdict": verdict,
    }
    if kind == "pool" and (found["status"] or {}).get("demand"):
        path = f"/v1/pools/{found['namespace']}/{found['name']}/demand"
        report["demand"] = connection.get(path)
    show_one("WhyReport", report, output, shown, lambda: _print(report, rows))


def _qualify_pod(connection: Connection, name: str, namespace: str) -> str:
    """A pod without a namespace is the worker with that name, if there is exactly one; else a pod of `default`."""
    if namespace or "/" in name:
        return name if "/" in name else f"{namespace}/{name}"
    workers = [row for row in connection.get(WORKERS.path)["items"] if row["name"] == name]
    return f"{workers[0]['namespace'] if len(workers) == 1 else _DEFAULT_NAMESPACE}/{name}"


def _read_workers(connection: Connection, kind: str, found: Row) -> list[Row]:
    """The workers of a pool or on a node."""
    if kind not in ("pool", "node"):
        return []
    query = {"pool": f"{found['namespace']}/{found['name']}"} if kind == "pool" else {"node": found["name"]}
    rows: list[Row] = connection.get("/v1/workers", query)["items"]
    return rows


def _count_reasons(rows: Sequence[Row]) -> dict[str, int]:
    """Why workers do not serve: each reason once, with the number of workers."""
    reasons = (f"{row['state']}: {_OWN_NAME.sub('', row['reason'])}" for row in rows if row["state"] not in _WELL)
    return dict(Counter(reasons).most_common())


def _state(kind: str, found: Row) -> str:
    match kind:
        case "claim":
            return str(found["state"])
        case "node":
            return describe_node(found)
        case "service":
            return str(found["status"]["phase"])
        case _:
            counts = ((state, found["status"].get(state, 0)) for state in (*_WELL, "starting", "draining", "lost"))
            return ", ".join(f"{count} {state}" for state, count in counts if count) or "no workers"


def _print(report: Row, workers: Sequence[Row]) -> None:
    unplaced = {f"{row['namespace']}/{row['name']}" for row in workers if row.get("node") == ""}
    for line in _lines(report, unplaced):
        print_line(line)


def _lines(report: Row, unplaced: Set[str]) -> Iterator[str]:
    why, verdict = report["why"] or {}, report["verdict"] or {}
    broken = verdict.get("state") == _BROKEN
    yield f"{report['object']}: {report['state']}"
    if broken:
        yield f"  broken: {verdict['cause']}{_since(why.get('since'))}"
    elif why.get("message"):
        yield f"  {why['message']}{_since(why.get('since'))}"
    for blocker in why.get("blockers") or ():
        yield f"  blocked by: {blocker}"
    for line in (report.get("demand") or {}).get("sum", ()):
        yield f"  demand: {line}"
    for reason, count in report["workers"].items():
        yield f"  {count} worker{'' if count == 1 else 's'} {reason}"
    if broken and verdict.get("worker") and verdict["worker"] not in unplaced:  # without a node there is no log
        yield f"  log: mooring logs {verdict['worker']}"
    if why.get("fix"):
        yield f"  fix: {why['fix']}"


def _since(text: str | None) -> str:
    if not text:
        return ""
    return f" (for {describe_span((SystemClock().now() - datetime.fromisoformat(text)).total_seconds())})"
