"""What the server reports about claims and sessions, read from its JSON. No I/O."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from mooring.client.errors import Unavailable, read_why
from mooring.model.why import Why

T = TypeVar("T")

OPEN_STATES = ("queued", "claimed", "running")


@dataclass(frozen=True, slots=True)
class ClaimedWorker:
    """The worker that runs the session."""

    name: str
    uid: str
    address: str


@dataclass(frozen=True, slots=True)
class SessionResult:
    """Result of a session on a worker that polls: exit code of its command, and the end of its output."""

    exit_code: int
    output: str
    worker: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    """Argument of `on_wait`: position in the queue (1 is next, None is not known yet), and why the claim waits."""

    position: int | None
    waited_seconds: float
    why: Why
    expected_seconds: float | None = None  # that it still waits; None if that is not known


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim as the server reports it."""

    id: str
    epoch: int
    state: str
    pool: str
    owner: str
    ttl_seconds: int
    worker: ClaimedWorker | None
    payload: dict[str, Any] | None = field(repr=False)  # may hold credentials
    position: int | None
    expected_wait_seconds: float | None
    reason: str
    cause: str | None
    ended_at: datetime | None
    key: str | None
    why: Why | None = None  # older servers send none
    protected_until: datetime | None = None  # after this its node may be drained

    @property
    def open(self) -> bool:
        """Whether the claim holds a worker or waits for one."""
        return self.state in OPEN_STATES


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool as the server reports it: its limits, its workers by state, and why it is ready or not."""

    namespace: str
    name: str
    warm: int
    max: int
    idle: int
    busy: int
    starting: int
    draining: int
    lost: int
    queued: int
    why: Why | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker as the server reports it."""

    namespace: str
    name: str
    uid: str = field(repr=False)
    pool: str
    node: str
    state: str
    reason: str
    owner: str
    address: str


def read_pools(body: object) -> list[PoolView]:
    """A list of pools."""
    return _read("a list of pools", lambda listed: [_pool(item) for item in listed["items"]], body)


def read_workers(body: object) -> list[WorkerView]:
    """A list of workers."""
    return _read("a list of workers", lambda listed: [_worker(item) for item in listed["items"]], body)


def read_claim(body: object) -> ClaimView:
    """One claim."""
    return _read("a claim", _claim, body)


def read_claims(body: object) -> list[ClaimView]:
    """A list of claims."""
    return _read("a list of claims", lambda listed: [_claim(item) for item in listed["items"]], body)


def read_event(text: str) -> object:
    """The data of a server-sent event."""
    return _read("JSON", json.loads, text)


def read_result(body: object) -> SessionResult:
    """The result of a session."""
    return _read(
        "a result",
        lambda found: SessionResult(
            found["exitCode"], found["output"], found["worker"], datetime.fromisoformat(found["at"])
        ),
        body,
    )


def read_dispatch(body: object) -> str:
    """How the workers of a pool get their sessions: `Push` or `Poll`."""
    return _read("a pool", lambda pool: str(pool["spec"]["dispatch"]), body)


def _pool(body: Any) -> PoolView:
    status = body["status"]
    counts = {state: int(status.get(state, 0)) for state in ("idle", "busy", "starting", "draining", "lost", "queued")}
    spec, why = body["spec"], read_why(body.get("why"))
    return PoolView(body["namespace"], body["name"], spec["warm"], spec["max"], **counts, why=why)


def _worker(body: Any) -> WorkerView:
    texts = {name: str(body.get(name) or "") for name in ("pool", "node", "reason", "owner", "address")}
    return WorkerView(body["namespace"], body["name"], body["uid"], state=body["state"], **texts)


def _claim(body: Any) -> ClaimView:
    worker = body.get("worker")
    ended_at, protected_until = body.get("endedAt"), body.get("protectedUntil")
    return ClaimView(
        id=body["id"],
        epoch=body["epoch"] or 0,  # null for a claim that others hold
        state=body["state"],
        pool=f"{body['namespace']}/{body['pool']}",
        owner=body["owner"],
        ttl_seconds=body["ttlSeconds"],
        worker=ClaimedWorker(worker["name"], worker["uid"], worker["address"]) if worker else None,
        payload=body.get("payload"),
        position=body.get("position"),
        expected_wait_seconds=body.get("expectedWaitSeconds"),
        reason=body.get("reason") or "",
        cause=body.get("cause"),
        ended_at=datetime.fromisoformat(ended_at) if ended_at else None,
        key=body.get("idempotencyKey"),
        why=read_why(body.get("why")),
        protected_until=datetime.fromisoformat(protected_until) if protected_until else None,
    )


def _read(what: str, read: Callable[[Any], T], body: object) -> T:
    """An answer of another shape does not show whether the request took effect, so it counts as no answer."""
    try:
        return read(body)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unavailable(0, "unreadable", f"the answer is not {what}: {str(body)[:200]}", {}) from error
