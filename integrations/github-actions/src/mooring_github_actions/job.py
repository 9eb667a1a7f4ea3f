"""Jobs of GitHub Actions, from webhooks and from the REST API, and which report is the newer one. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from mooring.model.errors import InvalidInput


class JobStatus(StrEnum):
    """Where a job is. `waiting` and the like are not queued yet: an approval or a deployment holds them."""

    WAITING = "waiting"
    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


_RANK = {JobStatus.WAITING: 0, JobStatus.QUEUED: 1, JobStatus.IN_PROGRESS: 2, JobStatus.COMPLETED: 3}
_STATUS = {"requested": JobStatus.WAITING, "pending": JobStatus.WAITING} | {
    status.value: status for status in JobStatus
}


@dataclass(frozen=True, slots=True)
class Job:
    """One job. Its id is unique in all of GitHub; a job that is run again has another one."""

    id: int
    run: int
    repository: str  # owner/name
    labels: tuple[str, ...]  # sorted, in lower case: GitHub ignores case and order
    status: JobStatus
    runner: str = ""  # name of the runner that took it
    completed_at: datetime | None = None


def read_job(found: Mapping[str, Any], repository: str) -> Job:
    """From `workflow_job` of a webhook or a job of the REST API, which have the same fields."""
    status = _STATUS.get(_field(found, "status", str))
    if status is None:
        raise InvalidInput("status", found["status"], f"one of {', '.join(_STATUS)}")
    labels = _field(found, "labels", list)
    if not all(isinstance(label, str) for label in labels):
        raise InvalidInput("labels", labels, "a list of texts")
    completed = found.get("completed_at")
    try:
        completed_at = datetime.fromisoformat(completed) if completed else None
    except (TypeError, ValueError) as error:
        raise InvalidInput("completed_at", completed, "a time as in RFC 3339, or null") from error
    return Job(
        _field(found, "id", int),
        _field(found, "run_id", int),
        repository,
        tuple(sorted(label.lower() for label in labels)),
        status,
        found.get("runner_name") or "",
        completed_at if status is JobStatus.COMPLETED else None,
    )


def read_delivery(body: object) -> Job:
    """From the payload of a `workflow_job` webhook."""
    if not isinstance(body, dict):
        raise InvalidInput("body", body, "an object")
    job, repository = _field(body, "workflow_job", dict), _field(body, "repository", dict)
    return read_job(job, _field(repository, "full_name", str))


def read_installation(body: Mapping[str, Any]) -> int | None:
    """The installation that a delivery is about. A webhook that does not belong to an App names none."""
    if body.get("installation") is None:
        return None
    return int(_field(_field(body, "installation", dict), "id", int))


def choose_newer(known: Job | None, reported: Job) -> Job:
    """Deliveries come twice, late and in any order; a job only moves forward."""
    if known is None or _RANK[reported.status] > _RANK[known.status]:
        return reported
    if _RANK[reported.status] == _RANK[known.status] and reported.runner and not known.runner:
        return reported
    return known


def _field(found: Mapping[str, Any], name: str, kind: type) -> Any:
    value = found.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidInput(name, value, f"of type {kind.__name__}")
    return value
