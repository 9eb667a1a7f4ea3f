"""Adopted Jobs and the removal of data, as the pages of warmups and submissions show them."""

import msgspec

from mooring.dashboard.submission_views import Card, SubmissionsPage
from mooring.dashboard.views import Selection, render
from mooring.model.adoption import AdoptedJob, Adoption
from mooring.model.submission import JobCounts, SubmissionSpec
from mooring.model.warm_data import DataCopy
from mooring.model.why import Why
from mooring.queries.submissions import SubmissionDetail, SubmissionSteps
from packages.mooring.tests.pages.readings import NOON
from packages.mooring.tests.pages.test_warmups import HOSTILE, show, warmup

ADOPTION = Adoption(
    "app=db-warmup",
    2,
    (
        AdoptedJob("old-1", "work-09", "leftover", "its node is gone"),
        AdoptedJob("old-2", "", "kept", f"it is not pinned {HOSTILE}"),
    ),
)


def submission(adoption: Adoption | None) -> str:
    steps = SubmissionSteps("Running", "", JobCounts(), (), None, steps=(), conditions=(), adoption=adoption)
    known = {field.name: None for field in msgspec.structs.fields(SubmissionDetail)}
    known |= {"namespace": "search", "name": "first", "key": "first", "program": "blastn", "status": steps}
    known |= {
        "spec": SubmissionSpec(key="first", program="blastn"),
        "why": Why("running", "", NOON),
        "cancelled": False,
    }
    page = SubmissionsPage([Card(SubmissionDetail(**known), (), 0)], 1, 1)  # type: ignore[arg-type]
    return render("_submissions.html", page=page, selection=Selection())


def test_adopted_jobs_are_listed_with_their_state_and_the_reason():
    for html in (show(warmup(adoption=ADOPTION)), submission(ADOPTION)):
        assert "2 older Job(s) match app=db-warmup" in html
        assert "old-1 on work-09: its node is gone" in html and "leftover" in html
        assert "old-2: it is not pinned" in html and HOSTILE not in html


def test_jobs_that_cannot_be_read_are_an_error():
    assert "They cannot be read: forbidden" in show(warmup(adoption=Adoption("app=x", 0, (), "forbidden")))


def test_without_adoption_nothing_is_shown():
    assert "older Job" not in show(warmup()) + submission(None)


def test_the_removal_of_data_is_shown_folder_by_folder():
    copies = (
        DataCopy("/data/core", "work-01", "u1", "removed"),
        DataCopy("/data/core", "work-02", "u2", "left", "its node is not Ready"),
    )
    html = show(warmup(copies=copies))
    assert "1 of 2 folders removed" in html
    assert "/data/core on work-02: its node is not Ready" in html


def test_a_warmup_that_removes_its_data_says_so_before():
    used = warmup(copies=(DataCopy("/data/core", "work-01", "u1"),))
    spec = msgspec.structs.replace(used.spec, reclaim="Delete")
    assert "removed from the nodes when it is deleted" in show(msgspec.structs.replace(used, spec=spec))
    assert "Removal of the data" not in show(used) and "when it is deleted" not in show(used)


def test_a_warmup_that_is_being_deleted_cannot_be_warmed_again():
    leaving = msgspec.structs.replace(warmup(), terminating=True, why=Why("deleting", "", NOON, fix="kubectl patch it"))
    assert "Re-warm" not in show(leaving) and "kubectl patch it" in show(leaving)
