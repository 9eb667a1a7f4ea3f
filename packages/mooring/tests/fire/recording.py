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
    """Writes of replicas that took effect, from the API server's audit log and the files it was moved to."""
    for path in sorted(parts.plane.logs.glob("audit*.jsonl")):
        with path.open() as lines:
            yield from filter(_is_a_replicas_write, map(json.loads, lines))


def _is_a_replicas_write(event: dict[str, Any]) -> bool:
    ok = 200 <= event.get("responseStatus", {}).get("code", 0) < 300
    reviews = str(event.get("objectRef", {}).get("resource", "")).endswith("reviews")
    return ok and event["userAgent"] == _PRODUCT and event["verb"] not in _READING and not reviews


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


class PodLooks:
    """Which pods there are, and which claims they name, by one look after another."""

    def __init__(self, parts: Parts, history: History, began: datetime) -> None:
        self._parts = parts
        self._history = history
        self._began = began
        self._named: dict[str, str] = {}  # the claim of each pod that is there

    async def take(self, seconds: float) -> None:
        """One look. A pod exists since the moment that its own object names."""
        found = await self._parts.cluster.client.list(PODS, NAMESPACE, label_selector=names.POOL)
        present = {pod.metadata.uid: pod.metadata for pod in found.items}
        for uid in self._named.keys() - present.keys():
            self._history.note(seconds, "pod", uid=uid, name="", there=False)
        for uid, meta in present.items():
            if uid not in self._named:
                since = (meta.creation_timestamp - self._began).total_seconds() if meta.creation_timestamp else seconds
                self._history.note(since, "pod", uid=uid, name=meta.name, there=True)
            claim = meta.annotations.get(names.CLAIM, "")
            if self._named.get(uid, "") != claim:
                self._history.note(seconds, "stamp", uid=uid, claim=claim)
        self._named = {uid: meta.annotations.get(names.CLAIM, "") for uid, meta in present.items()}


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
