"""Columns that several listings share, and values that need more than one field of a row."""

from datetime import datetime
from typing import Any, TypedDict, Unpack

from hawser.clock import SystemClock
from mooring.cli.output import Column, Row
from mooring.model.time_format import describe_span

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


class Narrowing(TypedDict, total=False):
    """What a column gives up where the terminal is narrow; see `Column`."""

    text: bool
    optional: bool
    beginning: int


def field_column(
    title: str, key: str, *, wide: bool = False, styled: bool = False, **narrowing: Unpack[Narrowing]
) -> Column:
    """A field of the row; `styled` when it is a state."""
    style = (lambda row: _STATE_STYLES.get(str(row.get(key)), "")) if styled else None
    return Column(title, lambda row: row.get(key), wide, style, **narrowing)


def why_column(title: str, key: str, *, wide: bool = False, text: bool = False) -> Column:
    """A field of the row's why."""
    return Column(title, lambda row: (row.get("why") or {}).get(key), wide, text=text)


BLOCKERS = Column("BLOCKERS", lambda row: "; ".join((row.get("why") or {}).get("blockers") or ()), wide=True)
FIX = why_column("FIX", "fix", wide=True)


def status_column(title: str, key: str, *, optional: bool = False) -> Column:
    """A count in the row's status."""
    return Column(title, lambda row: row["status"].get(key, 0), optional=optional)


def phase_column(unset: str = "") -> Column:
    """The phase in the row's status; `unset` before the first one is written."""
    return Column(
        "PHASE",
        lambda row: row["status"]["phase"] or unset,
        style=lambda row: _STATE_STYLES.get(row["status"]["phase"].lower(), ""),
    )


def find_condition(row: Row, type_: str) -> dict[str, Any]:
    """A condition by its type; empty when the row has none."""
    conditions = row["status"].get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == type_), {})


def describe_floor(row: Row) -> object:
    """The idle workers to keep: fixed, or as they follow from demand."""
    demand, status = row["spec"].get("demand"), row["status"].get("demand") or {}
    return status.get("floor", "?") if demand and not demand.get("dryRun") else row["spec"]["warm"]


def describe_pool(row: Row) -> str:
    """The cause, the same as on the pages, of a pool that is broken; otherwise its why."""
    verdict = row.get("verdict") or {}  # older servers send none
    return str(verdict["cause"] if verdict.get("state") == "broken" else (row.get("why") or {}).get("message") or "")


def describe_node(row: Row) -> str:
    """Why a node takes no new workers, or that it is open."""
    if row["draining"]:
        return str(row["draining"])
    if quarantine := row.get("quarantine"):
        return f"quarantined until {quarantine['until']}: {quarantine['reason']}"
    return "system" if row["system"] else "open"


def describe_protection(row: Row) -> str:
    """How long a worker remains protected from disruption."""
    if not row["protected"]:
        return ""
    if not row["protectedUntil"]:
        return "yes"
    left = (datetime.fromisoformat(row["protectedUntil"]) - SystemClock().now()).total_seconds()
    return f"{describe_span(left)} left" if left > 0 else "ends now"


def join_values(row: Row, key: str) -> str:
    """The values of a list, separated by commas."""
    return ", ".join(row.get(key) or ())


def progress_bar(share: float, width: int = 10) -> str:
    """A bar of `width` characters."""
    full = round(max(0.0, min(share, 1.0)) * width)
    return "█" * full + "░" * (width - full)


def capacity_bar(busy: int, workers: int, most: int) -> str:
    """Busy workers, all other workers, and the room up to the maximum; a single busy worker is visible too."""
    width = 10
    scale = width / max(most, workers, 1)
    full = max(round(busy * scale), bool(busy))
    present = max(round(workers * scale), full, bool(workers))
    return "█" * full + "▒" * (present - full) + "░" * (width - present)


def warm_share(row: Row) -> float:
    """Progress of a warmup over all of its shards, from 0 to 1."""
    shards = row["status"]["shards"]
    return sum(shard["progress"] for shard in shards) / len(shards) if shards else 0.0


def step_share(jobs: Row) -> float:
    """Progress of a submission over all of its steps, from 0 to 1."""
    share: float = (jobs["succeeded"] + jobs["failed"]) / max(jobs["total"], 1)
    return share
