"""Admitting a submission: gates, then, under the namespace's lease, leftovers and the ceiling."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mooring.controllers.submissions.cancel import read_cancel
from mooring.controllers.submissions.gates import GateReader
from mooring.controllers.submissions.lease import LEASE_SECONDS, NamespaceLease
from mooring.controllers.submissions.leftovers import Cleared, Leftovers
from mooring.controllers.submissions.status import SubmissionStatuses
from mooring.engine.context import Context
from mooring.kinds.views import Submission
from mooring.model.adoption import Adoption
from mooring.model.errors import Unavailable
from mooring.model.submission import STARTED, Gate, Phase, job_name, spec_hash, steps_of
from mooring.planning.submissions.gates import (
    CEILING,
    AdmissionVerdict,
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


class Admission:
    """Decides whether a submission may begin, and writes the decision down."""

    def __init__(
        self,
        context: Context,
        gates: GateReader,
        leftovers: Leftovers,
        statuses: SubmissionStatuses,
        ceiling: int,
    ) -> None:
        self._clock = context.clock
        self._entropy = context.entropy
        self._gates = gates
        self._lease = NamespaceLease(context)
        self._leftovers = leftovers
        self._statuses = statuses
        self._ceiling = ceiling

    def forget(self, key: str) -> None:
        """The submission has ended, or is gone."""
        self._gates.forget(key)

    async def admit(self, view: Submission) -> datetime | None:
        """One look at a submission that has not begun; answers when to look again."""
        if (cancel := read_cancel(view)) is not None:
            reason = f"cancelled by {cancel.by or 'an unknown user'} before anything was made"
            await self._statuses.write(view, Standing(Phase.FAILED, reason, view.status.gates))
            return None
        found = await self._gates.read(view)
        gates = judge_gates(view.spec, found)
        decision = self._decline(*plan_admission(view.spec, gates), gates) or await self._admit_under_lease(view, found)
        if decision.standing.phase is Phase.SUBMITTING:
            return self._clock.now()
        await self._statuses.write(view, decision.standing)
        return decision.look_at

    async def _admit_under_lease(self, view: Submission, found: Findings) -> Decision:
        """Decide with the lease in hand, and write the decision down before the lease is given back."""
        try:
            async with self._lease.hold(view.metadata.namespace) as ours:
                if not ours:
                    return self._stand_back(judge_gates(view.spec, found))
                async with asyncio.timeout(LEASE_SECONDS * 0.6):  # what takes longer must not outlive the lease
                    decision, adoption = await self._decide(view, found)
                    decision = replace(decision, standing=replace(decision.standing, adoption=adoption))
                    await self._statuses.write(view, decision.standing)
                return decision
        except TimeoutError as error:
            raise Unavailable("admitting took longer than its lease may last", fix="it is tried again") from error

    async def _decide(self, view: Submission, found: Findings) -> tuple[Decision, Adoption | None]:
        """The way must be clear, and a place free. Says also what was found of adopted Jobs."""
        meta, spec = view.metadata, view.spec
        cleared = await self._leftovers.sweep(meta.namespace, _wanted(view), meta.uid)
        gates = judge_gates(spec, replace(found, strangers=cleared.strangers))
        ceiling = self._judge_ceiling(view, cleared.submissions)
        declined = self._decline(*plan_admission(spec, (*gates, ceiling)), (*gates, ceiling))
        if declined is not None:
            return declined, cleared.adoption
        if cleared.in_the_way:
            seconds = LEFTOVER_RETRY_SECONDS if cleared.moving else STUCK_RETRY_SECONDS
            why = cleared.why or "leftover Jobs are going"
            return self._wait((*gates, ceiling), why, seconds), cleared.adoption
        standing = Standing(Phase.SUBMITTING, "admitted", (*gates, ceiling), spec_hash=spec_hash(spec))
        return Decision(standing), cleared.adoption

    async def sweep(self, view: Submission) -> Cleared | None:
        """Remove leftovers that block an admitted submission; None while another replica has the lease."""
        async with self._lease.hold(view.metadata.namespace) as ours:
            if not ours:
                return None
            return await self._leftovers.sweep(view.metadata.namespace, _wanted(view), view.metadata.uid)

    def _stand_back(self, gates: tuple[Gate, ...]) -> Decision:
        """Another replica admits submissions in this namespace now."""
        seconds = self._entropy.between(*LEASE_RETRY_SECONDS)
        return self._wait(gates, "another submit is under way in this namespace", seconds)

    def _judge_ceiling(self, view: Submission, everyone: tuple[Submission, ...]) -> Gate:
        others = [other for other in everyone if other.metadata.uid != view.metadata.uid and not other.terminating]
        running = sum(other.status.phase in STARTED for other in others)
        ahead = sum(_is_queued(other) and _age(other) < _age(view) for other in others)
        return judge_ceiling(running, ahead, self._ceiling)

    def _decline(self, verdict: AdmissionVerdict, why: str, gates: tuple[Gate, ...]) -> Decision | None:
        match verdict:
            case AdmissionVerdict.REFUSE:
                return Decision(Standing(Phase.REFUSED, why, gates))
            case AdmissionVerdict.WAIT:
                return self._wait(gates, why, LOOK_SECONDS)
            case AdmissionVerdict.GO:
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
