"""The words and judgements of leases that the blocking and the async SDK share. No I/O, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

from mooring.client.durations import Duration, parse_seconds
from mooring.client.errors import ClaimTimeout, LeaseLost, LossCause, RemoteError, read_why
from mooring.model.claim import EndCause
from mooring.model.errors import InvalidInput, MooringError
from mooring.model.why import Why

LONGEST_RENEWAL_SECONDS = 10.0
CLOSE_SECONDS = 5.0
LOOK_SECONDS = 2.0
MOST_KEYS = 3
MOST_EPOCHS = 3  # that are tried when a claim is given up while it changes hands

_OPEN = ("queued", "claimed", "running")

_WORKER_LOSSES: Mapping[str, LossCause] = {
    EndCause.DRAINED: LossCause.DRAINED,
    EndCause.WORKER_LOST: LossCause.EVICTED,
    EndCause.FORGOTTEN: LossCause.EVICTED,
}
_LOSSES: Mapping[str, LossCause] = {
    **_WORKER_LOSSES,
    EndCause.EXPIRED: LossCause.EXPIRED,
    EndCause.WAIT_OVER: LossCause.EXPIRED,
    EndCause.RELEASED: LossCause.REVOKED,
    EndCause.REVOKED: LossCause.REVOKED,
    EndCause.NOT_STARTED: LossCause.REVOKED,
}
_LOSS_OF_STATE = {"expired": LossCause.EXPIRED, "lost": LossCause.EVICTED}  # where no cause is told


@dataclass(frozen=True, slots=True)
class ClaimedWorker:
    """Where the session runs."""

    name: str
    uid: str
    address: str


@dataclass(frozen=True, slots=True)
class SessionResult:
    """How a session that was polled for ended: the exit code of its command, and the last it said."""

    exit_code: int
    output: str
    worker: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    """What `on_wait` is told: the place in the queue (1 is next, None not known yet), and why there is a wait."""

    position: int | None
    waited_seconds: float
    why: Why


@dataclass(frozen=True, slots=True)
class Grant:
    """A claim as the server tells it."""

    id: str
    epoch: int
    state: str
    pool: str
    owner: str
    ttl_seconds: int
    worker: ClaimedWorker | None
    payload: dict[str, Any] | None
    position: int | None
    reason: str
    cause: str | None
    ended_at: datetime | None
    key: str | None
    why: Why | None = None  # older servers tell none

    @property
    def open(self) -> bool:
        """Does it hold a worker or wait for one?"""
        return self.state in _OPEN


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for, checked as far as it can be here."""

    pool: str
    owner: str
    ttl_seconds: int
    wait_seconds: float
    key: str = ""
    priority: int = 0
    retryable: bool = False
    payload: dict[str, Any] | None = None

    @property
    def path(self) -> str:
        """Where claims on the pool are asked for."""
        return f"{self.pool_path}/claims"

    @property
    def pool_path(self) -> str:
        namespace, _, name = self.pool.partition("/")
        return f"/v1/pools/{quote(namespace, safe='')}/{quote(name, safe='')}"

    @property
    def query(self) -> dict[str, str]:
        """Finds the open claims of the same owner in the same pool."""
        namespace, _, name = self.pool.partition("/")
        return {"namespace": namespace, "pool": name, "owner": self.owner, "state": ",".join(_OPEN), "limit": "1000"}

    def body(self, wait_seconds: float) -> dict[str, Any]:
        """The request. Waiting for longer or shorter makes no other request of it."""
        return {
            "owner": self.owner,
            "ttlSeconds": self.ttl_seconds,
            "wait": wait_seconds,
            "idempotencyKey": self.key,
            "priority": self.priority,
            "retryable": self.retryable,
            "payload": self.payload,
        }

    def under(self, key: str) -> "Wish":
        """The same wish under another key."""
        return replace(self, key=key)


@dataclass(frozen=True, slots=True)
class Options:
    """What is less often chosen about a claim."""

    priority: int = 0
    retryable: bool = False
    payload: Mapping[str, Any] | None = field(default=None)


def make_wish(pool: str, owner: str, ttl: Duration, wait: Duration, key: str, options: Options) -> Wish:
    """Checked here: what would otherwise reach the wrong route, or come back as a riddle."""
    namespace, slash, name = pool.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise InvalidInput("pool", pool, "NAMESPACE/NAME")
    ttl_seconds = parse_seconds("ttl", ttl)
    if ttl_seconds < 1 or ttl_seconds != int(ttl_seconds):
        raise InvalidInput("ttl", ttl, "whole seconds, at least one")
    payload = None if options.payload is None else dict(options.payload)
    wait_seconds = parse_seconds("wait", wait)
    return Wish(pool, owner, int(ttl_seconds), wait_seconds, key, options.priority, options.retryable, payload)


def claim_path(claim_id: str) -> str:
    """Where a claim is."""
    return f"/v1/claims/{quote(claim_id, safe='')}"


def release_query(epoch: int | None, reason: str) -> dict[str, str]:
    """A holder names its epoch; without one the claim is taken from whoever holds it, which is audited."""
    given = {"epoch": str(epoch) if epoch is not None else "", "reason": reason}
    return {name: value for name, value in given.items() if value}


def read_grant(body: dict[str, Any]) -> Grant:
    """From the server's JSON."""
    worker = body.get("worker")
    ended_at = body.get("endedAt")
    return Grant(
        id=body["id"],
        epoch=body["epoch"],
        state=body["state"],
        pool=f"{body['namespace']}/{body['pool']}",
        owner=body["owner"],
        ttl_seconds=body["ttlSeconds"],
        worker=ClaimedWorker(worker["name"], worker["uid"], worker["address"]) if worker else None,
        payload=body.get("payload"),
        position=body.get("position"),
        reason=body.get("reason") or "",
        cause=body.get("cause"),
        ended_at=datetime.fromisoformat(ended_at) if ended_at else None,
        key=body.get("idempotencyKey"),
        why=read_why(body.get("why")),
    )


def read_result(body: dict[str, Any]) -> SessionResult:
    """From the server's JSON."""
    return SessionResult(body["exitCode"], body["output"], body["worker"], datetime.fromisoformat(body["at"]))


@dataclass(slots=True)
class Term:
    """How long a lease is surely ours: its ttl, counted from when the last renewal that was accepted was sent."""

    ttl_seconds: float
    renewed_at: float  # monotonic
    failing: bool = False

    @property
    def ends_at(self) -> float:
        return self.renewed_at + self.ttl_seconds

    @property
    def request_seconds(self) -> float:
        """How long one renewal may take, so that several fit into the ttl."""
        return min(LONGEST_RENEWAL_SECONDS, self.ttl_seconds / 3)

    def pause_seconds(self, now: float) -> float:
        """Until the next renewal: a third of the ttl after the last, sooner when that failed."""
        if self.failing:
            return max(0.0, min(1.0, self.ttl_seconds / 10, self.ends_at - now))
        return max(0.0, self.renewed_at + self.ttl_seconds / 3 - now)

    def renewed(self, sent_at: float) -> None:
        """The server accepted a renewal."""
        self.renewed_at, self.failing = sent_at, False


class LeasedClaim:
    """What a lease tells about its claim, once it is open."""

    def __init__(self) -> None:
        self._opened: tuple[Grant, Term] | None = None
        self._lost: LeaseLost | None = None
        self._result: SessionResult | None = None

    @property
    def id(self) -> str:
        return self._grant.id

    @property
    def epoch(self) -> int:
        """The fencing token: whoever checks it knows old holders from new ones."""
        return self._grant.epoch

    @property
    def owner(self) -> str:
        return self._grant.owner

    @property
    def worker(self) -> ClaimedWorker:
        """Where the session runs."""
        assert self._grant.worker is not None
        return self._grant.worker

    @property
    def payload(self) -> dict[str, Any] | None:
        """What the pool's mint made for this session, or what was sent with the claim."""
        return self._grant.payload

    @property
    def result(self) -> SessionResult | None:
        """What the worker reported, if it polls for its sessions and this one is over."""
        return self._result

    @property
    def _grant(self) -> Grant:
        return self._require_open()[0]

    @property
    def _term(self) -> Term:
        return self._require_open()[1]

    def _require_open(self) -> tuple[Grant, Term]:
        if self._opened is None:
            raise MooringError("the lease is not open", fix="use it as 'with mooring.claim(...) as lease:'")
        return self._opened

    def _require_new(self) -> None:
        if self._opened is not None:
            raise MooringError("a lease is opened only once", fix="call claim() again")


def is_final(error: RemoteError) -> bool:
    """Whether a refused renewal means that the lease is over, not merely that it could not be renewed now."""
    return error.status in (404, 409)


def judge_loss(claim_id: str, epoch: int, found: Grant | None, now: datetime) -> LeaseLost:
    """Why a lease is over, from what became of its claim."""
    if found is None:
        return LeaseLost(claim_id, LossCause.REVOKED, now, "there is no such claim any more")
    told = found.cause or ""
    if found.epoch != epoch:  # why it was moved; what became of it afterwards is another holder's story
        cause, what = _WORKER_LOSSES.get(told, LossCause.EVICTED), "it was moved to another worker"
    else:
        cause, what = _LOSSES.get(told) or _LOSS_OF_STATE.get(found.state, LossCause.REVOKED), f"it is {found.state}"
    return LeaseLost(claim_id, cause, found.ended_at or now, found.reason or what)


def explain_wait(wish: Wish, pool: dict[str, Any] | None, position: int | None, since: datetime) -> Why:
    """Why nobody is free, quantified: for when the server did not say it with its answer."""
    blockers = []
    if pool is not None:
        status, most = pool["status"], pool["spec"]["max"]
        states = ("idle", "busy", "starting", "draining", "lost")
        counts = ", ".join(f"{status.get(state, 0)} {state}" for state in states)
        blockers.append(f"workers: {counts}; at most {most}")
        blockers.append(f"waiting claims: {status.get('queued', 0)}")
        blockers += [
            f"{condition['type']}: {condition['message']}"
            for condition in status.get("conditions") or ()
            if condition["status"] == "False" and condition.get("message")
        ]
    place = f", place {position} in the queue" if position is not None else ""
    return Why(
        "waiting",
        f"no worker of {wish.pool} is free{place}",
        since,
        blockers=tuple(blockers),
        fix="wait longer, or raise the pool's warm or max",
    )


def out_of_time(wish: Wish, claim_id: str) -> ClaimTimeout:
    """Our own clock says that the wait is over."""
    told = f"no worker of {wish.pool} became free in time"
    return ClaimTimeout(503, "wait_timed_out", told, {"claim": claim_id, "fix": "wait longer"})


def ended_at_once(wish: Wish, grant: Grant) -> RemoteError:
    """The key belongs to a claim that is over."""
    told = f"claim {grant.id} under key {wish.key!r} is {grant.state}" + (f": {grant.reason}" if grant.reason else "")
    return RemoteError(409, "claim_ended", told, {"claim": grant.id, "fix": "use another key"})
