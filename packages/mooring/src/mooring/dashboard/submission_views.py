"""The content of the submissions page: a card for each, with gates, steps, and the evidence of a failure."""

from collections.abc import Sequence

import msgspec

from mooring.dashboard.views import Fragments, May, Selection, render
from mooring.model.submission import Phase, StepPhase, StepStatus
from mooring.queries.submissions import SubmissionDetail, SubmissionQueries

PHASES = tuple(Phase)
MOST_STEPS = 60
MOST_CARDS = 50
_FIRST = {StepPhase.FAILED: 0, StepPhase.RUNNING: 1, StepPhase.STARTING: 2, StepPhase.WAITING: 3}


class Card(msgspec.Struct, frozen=True):
    """One submission and some of its steps, those that need attention first."""

    submission: SubmissionDetail
    steps: Sequence[StepStatus]
    more: int


class SubmissionsPage(msgspec.Struct, frozen=True):
    """The submissions that match, newest first, and the total."""

    cards: Sequence[Card]
    matching: int
    total: int


def read_submissions(submissions: SubmissionQueries, selection: Selection) -> SubmissionsPage:
    """The submissions, newest first."""
    everything = submissions.details()
    matching = [one for one in everything if _matches(one, selection)]
    return SubmissionsPage([_card(one) for one in matching[:MOST_CARDS]], len(matching), len(everything))


def _card(submission: SubmissionDetail) -> Card:
    steps = list(submission.status.steps)
    if len(steps) > MOST_STEPS:
        steps.sort(key=lambda step: _FIRST.get(StepPhase(step.phase), 4))
    return Card(submission, steps[:MOST_STEPS], max(len(steps) - MOST_STEPS, 0))


def _matches(submission: SubmissionDetail, selection: Selection) -> bool:
    status = submission.status
    return selection.matches(
        f"{submission.namespace}/{submission.name}", status.phase, submission.key, submission.program, status.message
    )


async def submissions_fragments(submissions: SubmissionQueries, selection: Selection, may: May) -> Fragments:
    """The live part of the page."""
    page = read_submissions(submissions, selection)
    return {"submissions": render("_submissions.html", page=page, selection=selection, may=may)}
