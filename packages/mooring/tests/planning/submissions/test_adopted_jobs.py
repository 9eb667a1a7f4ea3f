"""Jobs of other tools that a submission adopts: only older ones, and none that something else owns."""

from datetime import UTC, datetime, timedelta

import pytest

from mooring.model.selector import Selector, parse_selector
from mooring.planning.submissions.leftovers import (
    FoundJob,
    FoundSubmission,
    LeftoversSnapshot,
    find_adopter,
    plan_leftovers,
    report_adopted,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SELECTOR: Selector = parse_selector("adopt", "app=blast")
ADOPTER = FoundSubmission("night-1", "u1", NOW - timedelta(minutes=10), adopts=SELECTOR)


def job(age_minutes: float = 60, **changes: object) -> FoundJob:
    """A Job of another tool that ended as soon as it was made."""
    made = NOW - timedelta(minutes=age_minutes)
    given = {"labels": {"app": "blast"}, "created_at": made, "finished": True, "ended_at": made, **changes}
    return FoundJob("search", "old", "j1", "7", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "adopted", "said"),
    [
        (job(), True, "it has ended"),
        (job(age_minutes=5), False, "it is newer than the submission"),
        (job(age_minutes=10), False, "it is newer than the submission"),
        (job(owned=True), False, "a controller or a submission owns it"),
    ],
    ids=["older", "newer", "of the same second", "owned by a CronJob"],
)
def test_a_submission_adopts_older_jobs_that_nothing_owns(found: FoundJob, adopted: bool, said: str) -> None:
    assert (find_adopter(found, (ADOPTER,)) is ADOPTER) is adopted
    snapshot = LeftoversSnapshot(NOW, (found,), (ADOPTER,), wanted_by="u1")
    assert [act.job.name for act in plan_leftovers(snapshot).acts] == (["old"] if adopted else [])
    report = report_adopted(snapshot, ())
    assert report is not None
    assert [(row.state != "kept", said in row.why) for row in report.jobs] == [(adopted, True)]
