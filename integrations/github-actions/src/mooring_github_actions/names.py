"""The names that tie a job, its claims and their runners together. They replace a database. No I/O."""

import re

from mooring.client.records import ClaimView
from mooring_github_actions.job import Job

FIELD = "github"  # of the payload
_KEY = re.compile(r"github-job-(\d+)-(\d+)")
_RUNNER = re.compile(r"mooring-(.+)-(\d+)")


def make_key(job_id: int, attempt: int) -> str:
    """The idempotency key of the claim. A second attempt is needed when the first runner took another job."""
    return f"github-job-{job_id}-{attempt}"


def job_of(claim: ClaimView) -> int | None:
    """The job that a claim was made for; None if it is not one of ours."""
    found = _KEY.fullmatch(claim.key or "")
    return int(found[1]) if found else None


def attempt_of(claim: ClaimView) -> int:
    """Which attempt for its job the claim is."""
    found = _KEY.fullmatch(claim.key or "")
    return int(found[2]) if found else 0


def make_runner_name(claim_id: str, attempt: int) -> str:
    """At most 64 characters. `attempt` counts the workers of the claim: each registers anew."""
    return f"mooring-{claim_id}-{attempt}"


def claim_of_runner(name: str) -> str | None:
    """The claim that a runner belongs to; None for runners of others."""
    found = _RUNNER.fullmatch(name)
    return found[1] if found else None


def make_payload(job: Job) -> dict[str, object]:
    """What a claim says of its job. Equal for equal jobs, from whichever source: Mooring compares repeated requests."""
    return {FIELD: {"job": job.id, "run": job.run, "repository": job.repository, "labels": list(job.labels)}}
