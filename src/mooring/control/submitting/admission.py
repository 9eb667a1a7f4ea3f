"""Admitting a submission: gates, then, under the namespace's lease, leftovers and the ceiling."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mooring.clock import Clock, Entropy
from mooring.control.submitting.gates import GateReader
from mooring.control.submitting.lease import LEASE_SECONDS, NamespaceLease
from mooring.control.submitting.leftovers import Cleared, Leftovers
from mooring.kube.views import Submission
from mooring.model.submission import STARTED, Gate, Phase, job_name, spec_hash, steps_of
from mooring.planning.submissions.gates import (
    CEILING,
    Admission,
    Findings,
    judge_ceiling,
    judge_gates,
    plan_admission,
)
from mooring.planning.submissions.status import Standing

LOOK_SECONDS = 5.0
LEASE_RETRY_SECONDS = (0.2, 1.0)
LEFTOVER_RETRY_SECONDS = 1.0
STUCK_RETRY_SECONDS = 30.0  # a switch is off, or a Job is too young


@dataclass(frozen=True, slots=True)
class Decision:
    """How it stands now, and when to look again."""

    standing: Standing
    look_at: datetime | None = None


class Admitting:
    """Decides whether a submission may begin."""

    def __init__(
        self,
        gates: GateReader,
        lease: NamespaceLease,
        leftovers: Leftovers,
        ceiling: int,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._gates = gates
        self._lease = lease
        self._leftovers = leftovers
        self._ceiling = ceiling
        self._clock = clock
        self._entropy = entropy

    def forget(self, key: str) -> None:
        """The submission has ended, or is gone."""
        self._gates.forget(key)

    async def judge(self, view: Submission) -> tuple[Findings, Decision | None]:
        """Everything that can be told without the lease; None means that it may go on."""
        found = await self._gates.read(view)
        gates = judge_gates(view.spec, found)
        admission, why = plan_admission(view.spec, gates)
        return found, self._decline(admission, why, gates)

    async def admit(self, view: Submission, found: Findings, record: Callable[[Decision], Awaitable[None]]) -> Decision:
        """Decide with the lease in hand, and write the decision down before the lease is given back."""
        async with self._lease.hold(view.metadata.namespace) as ours:
            if not ours:
                return self._stand_back(judge_gates(view.spec, found))
            async with asyncio.timeout(LEASE_SECONDS * 0.6):  # what takes longer must not outlive the lease
                decision = await self._decide(view, found)
                await record(decision)
            return decision

    async def _decide(self, view: Submission, found: Findings) -> Decision:
        """The way must be clear, and a place free."""
        meta, spec = view.metadata, view.spec
        cleared = await self._leftovers.sweep(meta.namespace, _wanted(view), meta.uid)
        gates = judge_gates(spec, replace(found, strangers=cleared.strangers))
        ceiling = self._judge_ceiling(view, cleared.submissions)
        admission, why = plan_admission(spec, (*gates, ceiling))
        declined = self._decline(admission, why, (*gates, ceiling))
        if declined is not None:
            return declined
        if cleared.in_the_way:
            seconds = LEFTOVER_RETRY_SECONDS if cleared.moving else STUCK_RETRY_SECONDS
            return self._wait((*gates, ceiling), cleared.why or "leftover Jobs are going", seconds)
        return Decision(Standing(Phase.SUBMITTING, "admitted", (*gates, ceiling), spec_hash=spec_hash(spec)))

    async def sweep(self, view: Submission) -> Cleared | None:
        """Clear the way of a submission that was admitted already; None while somebody else has the lease."""
        async with self._lease.hold(view.metadata.namespace) as ours:
            if not ours:
                return None
            return await self._leftovers.sweep(view.metadata.namespace, _wanted(view), view.metadata.uid)

    def _stand_back(self, gates: tuple[Gate, ...]) -> Decision:
        """Somebody else admits in this namespace now."""
        seconds = self._entropy.between(*LEASE_RETRY_SECONDS)
        return self._wait(gates, "another submit is under way in this namespace", seconds)

    def _judge_ceiling(self, view: Submission, everyone: tuple[Submission, ...]) -> Gate:
        others = [other for other in everyone if other.metadata.uid != view.metadata.uid and not other.terminating]
        running = sum(other.status.phase in STARTED for other in others)
        ahead = sum(_is_queued(other) and _age(other) < _age(view) for other in others)
        return judge_ceiling(running, ahead, self._ceiling)

    def _decline(self, admission: Admission, why: str, gates: tuple[Gate, ...]) -> Decision | None:
        match admission:
            case Admission.REFUSE:
                return Decision(Standing(Phase.REFUSED, why, gates))
            case Admission.WAIT:
                return self._wait(gates, why, LOOK_SECONDS)
            case Admission.GO:
                return None

    def _wait(self, gates: tuple[Gate, ...], why: str, seconds: float) -> Decision:
        return Decision(Standing(Phase.PENDING, why, gates), self._clock.now() + timedelta(seconds=seconds))


def _wanted(view: Submission) -> frozenset[str]:
    return frozenset(job_name(view.spec.key, step.name) for step in steps_of(view.spec))


def _is_queued(view: Submission) -> bool:
    """Waits for nothing but a place."""
    failing = {gate.id for gate in view.status.gates if gate.state != "ok"}
    return view.status.phase == Phase.PENDING and failing == {CEILING}


def _age(view: Submission) -> tuple[str, str]:
    created = view.metadata.creation_timestamp
    return (created.isoformat() if created else "", view.metadata.uid)
