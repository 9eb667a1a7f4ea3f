"""Why a claim waits or got no worker, for answers in which the server gives no reason. No I/O."""

from datetime import datetime
from typing import Any

import msgspec

from mooring.client.errors import ClaimTimeout, RemoteError, Unavailable
from mooring.client.records import ClaimView
from mooring.client.request import ClaimRequest
from mooring.model.why import Why, place_in_line

_WORKER_STATES = ("idle", "busy", "starting", "draining", "lost")


def explain_wait(request: ClaimRequest, pool: dict[str, Any] | None, position: int | None, since: datetime) -> Why:
    """Why no worker is free, with the figures of the pool."""
    return Why(
        "waiting",
        f"no worker of {request.pool} is free{place_in_line(position)}",
        since,
        blockers=_blockers(pool) if pool is not None else (),
        fix=f"mooring workers --pool {request.pool} -o wide",
    )


def _blockers(pool: dict[str, Any]) -> tuple[str, ...]:
    status = pool["status"]
    counts = ", ".join(f"{status.get(state, 0)} {state}" for state in _WORKER_STATES)
    conditions = (
        f"{condition['type']}: {condition['message']}"
        for condition in status.get("conditions") or ()
        if condition["status"] == "False" and condition.get("message")
    )
    return (
        f"workers: {counts}; at most {pool['spec']['max']}",
        f"waiting claims: {status.get('queued', 0)}",
        *conditions,
    )


def explain_failure(error: Unavailable, since: datetime) -> Why:
    """Why there is no answer: then nothing is known of the pool."""
    fix = error.fix or "the claim keeps its place; it is tried again"
    return Why(error.remote_code, error.message, since, fix=fix)


def wait_timed_out(request: ClaimRequest, claim_id: str) -> ClaimTimeout:
    """The wait is over by the client's own clock."""
    message = f"no worker of {request.pool} became free in time"
    return ClaimTimeout(503, "wait_timed_out", message, {"claim": claim_id, "fix": "wait longer"})


def wait_unanswered(request: ClaimRequest, why: Why) -> ClaimTimeout:
    """The wait is over, and Mooring could not say anything about the pool."""
    message = f"no worker of {request.pool} in time: Mooring could not answer"
    fix = "claim again when it can; 'mooring doctor' says what is wrong"
    return ClaimTimeout(503, "wait_timed_out", message, {"fix": fix, "why": msgspec.to_builtins(why)})


def claim_ended(request: ClaimRequest, claim: ClaimView) -> RemoteError:
    """The key belongs to a claim that has ended."""
    reason = f": {claim.reason}" if claim.reason else ""
    message = f"claim {claim.id} under key {request.key!r} is {claim.state}{reason}"
    return RemoteError(409, "claim_ended", message, {"claim": claim.id, "fix": "use another key"})
