"""`pools`, `workers`, `nodes`, `claims`, `services`, `audit`, `invariants`: one listing each, all of the same make."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

from mooring.cli.narrowing import refuse_unknown
from mooring.cli.output import Column, Format, Row, show
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import Unreachable
from mooring.clock import SystemClock
from mooring.model.spans import describe_span

_STATE_STYLES = {
    "idle": "bright_black",
    "claimed": "blue",
    "running": "bold blue",
    "queued": "yellow",
    "released": "bright_black",
    "expired": "bold red",
    "busy": "bold blue",
    "starting": "yellow",
    "draining": "magenta",
    "lost": "bold red",
    "serving": "green",
    "absent": "bright_black",
    "holds": "green",
    "broken": "bold red",
    "paused": "yellow",
    "unknown": "bright_black",
    "done": "green",
    "failed": "bold red",
    "ready": "green",
    "warming": "yellow",
    "stale": "magenta",
    "pending": "yellow",
    "skipped": "bright_black",
    "succeeded": "green",
    "submitting": "yellow",
    "refused": "bold red",
}


@dataclass(frozen=True, slots=True)
class Listing:
    """What a listing shows and where it comes from."""

    kind: str
    path: str
    columns: tuple[Column, ...]
    name: str
    watches: frozenset[str]
    narrowed_by: Mapping[str, str] = field(default_factory=dict)  # filters by name, and the list that has these names

    @property
    def noun(self) -> str:
        """What one of them is called."""
        return self.name.partition("/")[0]


def _field(title: str, key: str, *, wide: bool = False, styled: bool = False) -> Column:
    style = (lambda row: _STATE_STYLES.get(str(row.get(key)), "")) if styled else None
    return Column(title, lambda row: row.get(key), wide, style)


def _told(title: str, key: str, *, wide: bool = False) -> Column:
    """A part of the row's why."""
    return Column(title, lambda row: (row.get("why") or {}).get(key), wide)


_BLOCKERS = Column("BLOCKERS", lambda row: "; ".join((row.get("why") or {}).get("blockers") or ()), wide=True)


def _status(title: str, key: str) -> Column:
    return Column(title, lambda row: row["status"].get(key, 0))


def _phase(unset: str = "") -> Column:
    return Column(
        "PHASE",
        lambda row: row["status"]["phase"] or unset,
        style=lambda row: _STATE_STYLES.get(row["status"]["phase"].lower(), ""),
    )


def _condition(row: Row, type_: str) -> dict[str, Any]:
    conditions = row["status"].get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == type_), {})


def _node_state(row: Row) -> str:
    if row["draining"]:
        return str(row["draining"])
    if quarantine := row.get("quarantine"):
        return f"quarantined until {quarantine['until']}: {quarantine['reason']}"
    return "system" if row["system"] else "open"


def _protection(row: Row) -> str:
    """How long a worker is still kept from being disturbed."""
    if not row["protected"]:
        return ""
    if not row["protectedUntil"]:
        return "yes"
    left = (datetime.fromisoformat(row["protectedUntil"]) - SystemClock().now()).total_seconds()
    return f"{describe_span(left)} left" if left > 0 else "ends now"


def _joined(row: Row, key: str) -> str:
    return ", ".join(row.get(key) or ())


POOLS = Listing(
    "PoolList",
    "/v1/pools",
    (
        _field("NAMESPACE", "namespace"),
        _field("NAME", "name"),
        Column("WARM", lambda row: row["spec"]["warm"]),
        Column("MAX", lambda row: row["spec"]["max"]),
        _status("IDLE", "idle"),
        _status("BUSY", "busy"),
        _status("STARTING", "starting"),
        _status("DRAINING", "draining"),
        _status("LOST", "lost"),
        _status("QUEUED", "queued"),
        Column("READY", lambda row: _condition(row, "Ready").get("status", "Unknown")),
        _told("SINCE", "since"),
        _told("WHY", "message"),
        Column("SCHEDULABLE", lambda row: _condition(row, "Schedulable").get("message"), wide=True),
        _BLOCKERS,
        _told("FIX", "fix", wide=True),
    ),
    "pool/{namespace}/{name}",
    frozenset({"pool", "worker"}),
)
WORKERS = Listing(
    "WorkerList",
    "/v1/workers",
    (
        _field("NAMESPACE", "namespace"),
        _field("NAME", "name"),
        _field("STATE", "state", styled=True),
        _field("NODE", "node"),
        _field("OWNER", "owner"),
        _field("ADDRESS", "address"),
        _field("SINCE", "since"),
        Column("PROTECTED", _protection),
        _field("WHY", "reason"),
        _BLOCKERS,
        _field("HEALTH", "health", wide=True),
        _field("PROTECTED UNTIL", "protectedUntil", wide=True),
        _field("RESTARTS", "restarts", wide=True),
        _field("UID", "uid", wide=True),
    ),
    "worker/{namespace}/{name}",
    frozenset({"worker", "node"}),
    {"pool": "pools", "node": "nodes"},
)
NODES = Listing(
    "NodeList",
    "/v1/nodes",
    (
        _field("NAME", "name"),
        Column("READY", lambda row: "yes" if row["ready"] else "no"),
        Column("WORKERS", lambda row: sum(row["workers"].values())),
        Column("IDLE", lambda row: row["workers"]["idle"]),
        Column("BUSY", lambda row: row["workers"]["busy"] + row["workers"]["claimed"]),
        Column("STATE", _node_state),
        _told("SINCE", "since"),
        Column("TAINTS", lambda row: _joined(row, "taints")),
        _told("WHY", "message", wide=True),
        _BLOCKERS,
        _told("NEXT CHECK", "nextCheck", wide=True),
        _field("UID", "uid", wide=True),
        _field("CREATED", "createdAt", wide=True),
    ),
    "node/{name}",
    frozenset({"worker", "node"}),
)
CLAIMS = Listing(
    "ClaimList",
    "/v1/claims",
    (
        _field("ID", "id"),
        _field("STATE", "state", styled=True),
        Column("POOL", lambda row: f"{row['namespace']}/{row['pool']}"),
        _field("OWNER", "owner"),
        Column("WORKER", lambda row: (row["worker"] or {}).get("name")),
        _told("SINCE", "since"),
        _field("HEARTBEAT", "heartbeatAt"),
        _told("WHY", "message"),
        _BLOCKERS,
        _field("CREATED", "createdAt", wide=True),
        _field("EPOCH", "epoch", wide=True),
        _field("TTL", "ttlSeconds", wide=True),
        _field("PRIORITY", "priority", wide=True),
        _field("ENDED", "endedAt", wide=True),
        _field("KEY", "idempotencyKey", wide=True),
    ),
    "claim/{id}",
    frozenset({"worker", "pool"}),
    {"pool": "pools"},
)
AUDIT = Listing(
    "AuditList",
    "/v1/audit",
    (
        _field("AT", "at"),
        _field("ACTOR", "actor"),
        _field("ACTION", "action"),
        Column(
            "OBJECT", lambda row: f"{row['kind']} {row['namespace'] + '/' if row['namespace'] else ''}{row['name']}"
        ),
        _field("OUTCOME", "outcome", styled=True),
        _field("REASON", "reason"),
        Column("EVIDENCE", lambda row: json.dumps(row["evidence"]), wide=True),
        _field("ERROR", "error", wide=True),
    ),
    "audit/{sequence}",
    frozenset({"audit"}),
)
INVARIANTS = Listing(
    "InvariantList",
    "/v1/invariants",
    (
        _field("ID", "id"),
        _field("STATE", "state", styled=True),
        Column("BROKEN", lambda row: row["broken"] if row["known"] else "?"),
        _field("FOUND", "found"),
        _field("HEALED", "healed"),
        _told("SINCE", "since"),
        _field("RULE", "rule"),
        _told("WHY", "message", wide=True),
        _BLOCKERS,
        _field("REMEDY", "remedy", wide=True),
        _field("CONSTANTS", "constants", wide=True),
        _field("PAUSED BY", "pausedBy", wide=True),
    ),
    "invariant/{id}",
    frozenset({"invariant", "pool", "worker"}),
)
SERVICES = Listing(
    "ServiceList",
    "/v1/services",
    (
        _field("NAMESPACE", "namespace"),
        _field("NAME", "name"),
        _phase(),
        Column("API", lambda row: (row["status"]["api"] or {}).get("title")),
        Column("ENDPOINTS", lambda row: (row["status"]["api"] or {}).get("endpoints")),
        Column("URL", lambda row: row["status"]["url"]),
        Column("SINCE", lambda row: row["why"]["since"]),
        Column("WHY", lambda row: row["status"]["reason"]),
        Column("FIX", lambda row: row["status"]["fix"]),
        Column("IMAGE", lambda row: row["spec"]["image"], wide=True),
        Column("READY", lambda row: f"{row['status']['rollout']['ready']}/{row['spec']['replicas']}", wide=True),
    ),
    "service/{namespace}/{name}",
    frozenset({"service"}),
)


def progress_bar(share: float, width: int = 10) -> str:
    """A bar of so many characters."""
    full = round(max(0.0, min(share, 1.0)) * width)
    return "█" * full + "░" * (width - full)


def _warm_share(row: Row) -> float:
    shards = row["status"]["shards"]
    return sum(shard["progress"] for shard in shards) / len(shards) if shards else 0.0


WARMUPS = Listing(
    "WarmupList",
    "/v1/warmups",
    (
        _field("NAMESPACE", "namespace"),
        _field("NAME", "name"),
        Column("DATASET", lambda row: row["spec"]["dataset"]),
        Column("GENERATION", lambda row: row["spec"]["generation"], wide=True),
        _phase("Pending"),
        Column("PROGRESS", lambda row: progress_bar(_warm_share(row))),
        Column("WARM", lambda row: f"{row['status']['nodesReady']}/{row['status']['nodesTotal']}"),
        _told("SINCE", "since"),
        _told("WHY", "message"),
        _BLOCKERS,
        _told("FIX", "fix", wide=True),
        Column("CIRCUIT", lambda row: (row["status"]["circuit"] or {}).get("state", "closed"), wide=True),
        _field("CREATED", "createdAt", wide=True),
    ),
    "warmup/{namespace}/{name}",
    frozenset({"warmup"}),
)
SUBMISSIONS = Listing(
    "SubmissionList",
    "/v1/submissions",
    (
        _field("NAMESPACE", "namespace"),
        _field("NAME", "name"),
        _field("KEY", "key"),
        _phase(),
        Column("PROGRESS", lambda row: progress_bar(_step_share(row["status"]["jobs"]))),
        Column("STEPS", lambda row: "{succeeded}/{total}".format(**row["status"]["jobs"])),
        Column("ACTIVE", lambda row: row["status"]["jobs"]["active"]),
        Column("FAILED", lambda row: row["status"]["jobs"]["failed"]),
        Column("WHY", lambda row: row["status"]["message"]),
        _field("PROGRAM", "program", wide=True),
        _field("CREATED", "createdAt", wide=True),
    ),
    "submission/{namespace}/{name}",
    frozenset({"submission"}),
)


def _step_share(jobs: Row) -> float:
    share: float = (jobs["succeeded"] + jobs["failed"]) / max(jobs["total"], 1)
    return share


def run_listing(listing: Listing, endpoint: Endpoint, query: dict[str, str], form: Format, watch: bool) -> None:
    """Print once, or again whenever something it shows changed."""
    connection = Connection(endpoint)
    if watch:
        _watch(listing, connection, query, form)
    answer = connection.get(listing.path, query)
    rows = answer["items"]
    if not rows:
        refuse_unknown(connection, listing.narrowed_by, query)
    _print(listing, rows, form)
    if answer["total"] > len(rows):
        print(f"{len(rows)} of {answer['total']} shown; more with --limit", file=sys.stderr)


def _print(listing: Listing, rows: Sequence[Row], form: Format) -> None:
    show(listing.kind, rows, listing.columns, form, lambda row: listing.name.format(**row))


def _watch(listing: Listing, connection: Connection, query: dict[str, str], form: Format) -> NoReturn:
    """Listens before it looks, so that nothing changes unseen in between. Ends only with an error."""
    key = listing.name.format
    known: dict[str, Row] | None = None
    for _ in reasons_to_look(connection, listing.watches):
        rows = connection.get(listing.path, query)["items"]
        if known is None and not rows:
            refuse_unknown(connection, listing.narrowed_by, query)
        before, fresh = known or {}, {key(**row): row for row in rows}
        changes = [
            ("ADDED" if name not in before else "MODIFIED", row)
            for name, row in fresh.items()
            if before.get(name) != row
        ]
        changes += [("DELETED", row) for name, row in before.items() if name not in fresh]
        if changes or known is None:
            _redraw(listing, rows, form, changes)
        known = fresh
    raise Unreachable("the stream of changes ended", fix="is Mooring still running? watch again")


def reasons_to_look(connection: Connection, watches: frozenset[str]) -> Iterator[None]:
    """Once the stream stands, whenever something of interest changed, and when something may have been missed."""
    event, listening = "", False
    for line in connection.lines("/v1/events"):
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        if name != "data":
            continue
        if not listening or event == "resync" or watches & set(json.loads(value).get("changes", {})):
            listening = True
            yield


def _redraw(listing: Listing, rows: Sequence[Row], form: Format, changes: list[tuple[str, Row]]) -> None:
    if form is Format.NDJSON:
        for type_, row in changes:
            print(json.dumps({"type": type_, "object": row}), flush=True)
        return
    if sys.stdout.isatty():
        print("\x1b[H\x1b[2J", end="")
    _print(listing, rows, form)
    sys.stdout.flush()
