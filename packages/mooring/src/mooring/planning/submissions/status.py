"""The status of a submission: phase, gates, steps, and conditions with their transition times."""

from dataclasses import dataclass, field
from datetime import datetime

from mooring.model.adoption import Adoption
from mooring.model.evidence import Failure
from mooring.model.submission import ENDED, Gate, JobCounts, Phase, StepStatus, SubmissionStatus
from mooring.model.why import Condition, merge_conditions


@dataclass(frozen=True, slots=True)
class Standing:
    """The parts of a status before it is compared with the previous one."""

    phase: Phase
    message: str
    gates: tuple[Gate, ...] = ()
    steps: tuple[StepStatus, ...] = ()
    jobs: JobCounts = field(default_factory=JobCounts)
    failure: Failure | None = None
    spec_hash: str = ""
    adoption: Adoption | None = None  # None: as before


def compute_status(before: SubmissionStatus, standing: Standing, generation: int, now: datetime) -> SubmissionStatus:
    """The status to write; equal to the previous one if nothing changed."""
    fresh = (_accepted(standing, generation), _finished(standing, generation))
    return SubmissionStatus(
        observed_generation=generation,
        phase=standing.phase.value,
        message=standing.message,
        spec_hash=standing.spec_hash or before.spec_hash,
        gates=standing.gates,
        jobs=standing.jobs,
        steps=standing.steps,
        failure=standing.failure,
        adoption=standing.adoption or before.adoption,
        conditions=merge_conditions(before.conditions, fresh, now.strftime("%Y-%m-%dT%H:%M:%SZ")),
    )


def _accepted(standing: Standing, generation: int) -> Condition:
    if standing.phase is Phase.REFUSED:
        return Condition("Accepted", "False", "Refused", standing.message, observed_generation=generation)
    if standing.phase is Phase.PENDING:
        return Condition("Accepted", "Unknown", "Waiting", standing.message, observed_generation=generation)
    return Condition("Accepted", "True", "Submitted", "every gate was ok", observed_generation=generation)


def _finished(standing: Standing, generation: int) -> Condition:
    status = "True" if standing.phase in ENDED else "False"
    return Condition("Finished", status, standing.phase.value, standing.message, observed_generation=generation)
