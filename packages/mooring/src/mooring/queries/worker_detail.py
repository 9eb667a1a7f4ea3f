"""One worker with everything known of it, as its page and its route show it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from mooring.model.claim import Claim
from mooring.model.health import WorkerHealth
from mooring.queries.audit import AuditReading, read_act
from mooring.queries.fleet import WorkerReading

if TYPE_CHECKING:
    from mooring.queries.inspection import InspectedWorker, Inspection


class SessionReading(msgspec.Struct, frozen=True, rename="camel"):
    """A session that a worker served or serves; what it was about stays with its holder."""

    claim: str
    owner: str
    state: str
    claimed_at: datetime | None
    running_at: datetime | None
    ended_at: datetime | None
    protected_until: datetime | None
    retryable: bool
    reason: str


class Moment(msgspec.Struct, frozen=True):
    """One line of a worker's timeline."""

    at: datetime
    what: str
    who: str
    why: str


class WorkerDetail(msgspec.Struct, frozen=True, rename="camel"):
    """Everything known of a worker; what the ledger remembers is empty, and `history` false, while it is away."""

    worker: WorkerReading
    health: WorkerHealth | None
    sessions: list[SessionReading]
    acts: list[AuditReading]
    timeline: list[Moment]
    history: bool


def _session(claim: Claim) -> SessionReading:
    return SessionReading(
        claim=claim.id,
        owner=claim.owner,
        state=claim.state.value,
        claimed_at=claim.claimed_at,
        running_at=claim.running_at,
        ended_at=claim.ended_at,
        protected_until=claim.protected_until,
        retryable=claim.retryable,
        reason=claim.reason,
    )


def _timeline(found: InspectedWorker, sessions: list[SessionReading], acts: list[AuditReading]) -> list[Moment]:
    """What happened to it, newest first."""
    worker = found.worker
    moments = [Moment(worker.created_at, "made", f"pool {worker.namespace}/{worker.pool}", "")]
    if worker.since is not None and worker.since != worker.created_at:
        moments.append(Moment(worker.since, worker.state, "", worker.reason))
    for session in sessions:
        owner = f"session of {session.owner}"
        if session.claimed_at is not None:
            moments.append(Moment(session.claimed_at, "claimed", owner, session.claim))
        if session.ended_at is not None:
            moments.append(Moment(session.ended_at, session.state, owner, session.reason))
    moments += [Moment(act.at, f"{act.action} ({act.outcome})", act.actor, act.reason) for act in acts]
    health = found.health
    if health is not None and health.failing_since is not None:
        moments.append(Moment(health.failing_since, "health checks fail", "", health.summary))
    return sorted(moments, key=lambda moment: moment.at, reverse=True)


async def read_worker(
    inspection: Inspection, namespace: str, name: str, history_age: float = 0.0
) -> WorkerDetail | None:
    """A worker as its page and its route show it, its history at most so many seconds old; None when it is gone."""
    found = await inspection.worker(namespace, name, history_age)
    if found is None:
        return None
    sessions = [_session(claim) for claim in found.claims]
    acts = [read_act(record) for record in found.acts]
    return WorkerDetail(found.worker, found.health, sessions, acts, _timeline(found, sessions, acts), found.history)
