"""What the API server and the ledger wrote down themselves, as events for the judge."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import asyncpg

from hawser.resources import PODS
from mooring.model import names
from packages.mooring.tests.fire.parts import NAMESPACE, Parts
from packages.testing.judge import History

_PRODUCT = "hawser"  # the user agent of `mooring serve`; the cluster's own actors have others
_READING = frozenset({"get", "list", "watch"})


def read_audit(parts: Parts) -> Iterator[dict[str, Any]]:
    """Writes of replicas that took effect, from the API server's audit log."""
    for line in (parts.plane.logs / "audit.jsonl").read_text().splitlines():
        event = json.loads(line)
        ok = 200 <= event.get("responseStatus", {}).get("code", 0) < 300
        about = event.get("objectRef", {})
        reviews = str(about.get("resource", "")).endswith("reviews")
        if ok and event["userAgent"] == _PRODUCT and event["verb"] not in _READING and not reviews:
            yield event


def note_writes(parts: Parts, history: History, began: datetime) -> None:
    """Each write, on the clock of the history."""
    methods = {"delete": "DELETE", "create": "POST", "patch": "PATCH", "update": "PUT"}
    for event in read_audit(parts):
        if event["objectRef"].get("resource") == "events":
            continue
        fence = event.get("requestObject", {}).get("preconditions", {})
        history.note(
            (_moment(event) - began).total_seconds(),
            "api",
            who=event["sourceIPs"][0],
            method=methods.get(event["verb"], event["verb"]),
            path=event["requestURI"].partition("?")[0],
            uid=fence.get("uid", ""),
            fenced=bool(fence.get("uid") and fence.get("resourceVersion")),
        )


def count_writes(parts: Parts, since: datetime) -> int:
    """How many writes the replicas sent since then."""
    return sum(_moment(event) > since for event in read_audit(parts))


def _moment(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["requestReceivedTimestamp"])


async def note_rows(parts: Parts, history: History, began: datetime) -> None:
    """The audit rows of the ledger."""
    connection = await asyncpg.connect(parts.database.url)
    try:
        for row in await connection.fetch("SELECT at, uid, action, outcome FROM audit ORDER BY sequence"):
            at = (row["at"] - began).total_seconds()
            history.note(at, "row", uid=row["uid"], action=row["action"], outcome=row["outcome"])
    finally:
        await connection.close()


async def note_pods(parts: Parts, history: History, seconds: float) -> set[str]:
    """The pods that are there now."""
    found = set()
    for pod in (await parts.cluster.client.list(PODS, NAMESPACE, label_selector=names.POOL)).items:
        found.add(pod.metadata.uid)
        history.note(seconds, "pod", uid=pod.metadata.uid, name=pod.metadata.name, there=True)
    return found


async def find_leftovers(parts: Parts) -> dict[str, Any]:
    """What is stamped in the cluster, and open in the ledger."""
    pods = (await parts.cluster.client.list(PODS, NAMESPACE, label_selector=names.POOL)).items
    connection = await asyncpg.connect(parts.database.url)
    try:
        live = await connection.fetch("SELECT id FROM claims WHERE ended_at IS NULL")
    finally:
        await connection.close()
    idle = [pod for pod in pods if pod.ready and not pod.terminating and names.OWNER not in pod.metadata.labels]
    stamped = [pod.metadata.name for pod in pods if names.OWNER in pod.metadata.labels]
    return {"idle": len(idle), "stamped": stamped, "live": [row["id"] for row in live], "unfinished": []}
