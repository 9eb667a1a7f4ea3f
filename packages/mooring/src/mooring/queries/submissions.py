"""The read side of submissions: what api, pages and terminal may know of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from mooring.kinds.views import Submission
from mooring.model import names
from mooring.model.adoption import Adoption
from mooring.model.errors import NotFound
from mooring.model.evidence import Failure
from mooring.model.submission import Gate, JobCounts, Phase, StepStatus, SubmissionSpec
from mooring.model.why import Condition, Why
from mooring.queries.sources import SubmissionSource
from mooring.queries.visibility import LimitedQueries


class SubmissionState(msgspec.Struct, frozen=True, rename="camel"):
    """How a submission stands."""

    phase: str
    message: str
    jobs: JobCounts
    gates: tuple[Gate, ...]
    failure: Failure | None


class SubmissionSteps(SubmissionState, frozen=True, kw_only=True):
    """How it stands, step by step: those that were not begun yet, too."""

    steps: tuple[StepStatus, ...]
    conditions: tuple[Condition, ...]
    adoption: Adoption | None = None


class SubmissionReading(msgspec.Struct, frozen=True, rename="camel"):
    """A submission of the contract, without its spec and steps."""

    namespace: str
    name: str
    key: str
    program: str
    status: SubmissionState
    why: Why
    cancelled: bool
    created_at: datetime | None
    terminating: bool


class SubmissionDetail(msgspec.Struct, frozen=True, rename="camel"):
    """The whole of it."""

    namespace: str
    name: str
    key: str
    program: str
    status: SubmissionSteps
    why: Why
    cancelled: bool
    created_at: datetime | None
    terminating: bool
    spec: SubmissionSpec


class SubmissionQueries(LimitedQueries):
    """Answers from the caches."""

    def __init__(self, informer: SubmissionSource) -> None:
        self._informer = informer

    def namespaces(self) -> set[str]:
        """The namespaces that have submissions."""
        return {view.metadata.namespace for view in self._informer.submissions}

    def _seen(self) -> list[Submission]:
        seen = self._visibility.submissions
        return [view for view in self._informer.submissions if view.metadata.namespace in seen]

    def submissions(self, namespace: str = "", phase: str = "") -> list[SubmissionReading]:
        """Newest first."""
        found = [read_submission(view) for view in _newest_first(self._seen())]
        return [
            one
            for one in found
            if (not namespace or one.namespace == namespace) and (not phase or one.status.phase == phase)
        ]

    def details(self) -> list[SubmissionDetail]:
        """All of them with their steps, newest first."""
        return [read_detail(view) for view in _newest_first(self._seen())]

    def submission(self, namespace: str, name: str) -> SubmissionDetail:
        """One submission by its name or its key, or `NotFound`."""
        view = self._informer.submission(f"{namespace}/{name}")
        if view is None:
            view = next(
                (
                    one
                    for one in self._informer.submissions
                    if (one.metadata.namespace, one.spec.key) == (namespace, name)
                ),
                None,
            )
        if view is None:
            raise NotFound(f"there is no submission {namespace}/{name}", fix="'mooring submissions' lists them")
        return read_detail(view)


def read_submission(view: Submission) -> SubmissionReading:
    """The short form."""
    return SubmissionReading(**_common(view), status=SubmissionState(**_state(view)))


def read_detail(view: Submission) -> SubmissionDetail:
    """With its spec and its steps."""
    status = view.status
    state = SubmissionSteps(**_state(view), steps=status.steps, conditions=status.conditions, adoption=status.adoption)
    return SubmissionDetail(**_common(view), status=state, spec=view.spec)


def _common(view: Submission) -> dict[str, Any]:
    meta = view.metadata
    return {
        "namespace": meta.namespace,
        "name": meta.name,
        "key": view.spec.key,
        "program": view.spec.program,
        "why": _why(view, _phase(view)),
        "cancelled": names.CANCEL in meta.annotations,
        "created_at": meta.creation_timestamp,
        "terminating": view.terminating,
    }


def _state(view: Submission) -> dict[str, Any]:
    status = view.status
    return {
        "phase": _phase(view),
        "message": status.message or "not reconciled yet",
        "jobs": status.jobs,
        "gates": status.gates,
        "failure": status.failure,
    }


def _phase(view: Submission) -> str:
    return view.status.phase or Phase.PENDING.value


def _why(view: Submission, phase: str) -> Why:
    status = view.status
    shut = [gate for gate in status.gates if gate.state != "ok"]
    finished = next((one.since for one in status.conditions if one.type == "Finished"), None)
    return Why(
        code=phase.lower(),
        message=status.message or "not reconciled yet",
        since=finished or view.metadata.creation_timestamp,
        blockers=tuple(f"{gate.id}: {gate.message}" for gate in shut),
        fix=next((gate.fix for gate in shut if gate.fix), ""),
    )


def _newest_first(views: Sequence[Submission]) -> list[Submission]:
    def age(view: Submission) -> tuple[str, str, str]:
        created = view.metadata.creation_timestamp
        return (created.isoformat() if created else "", view.metadata.namespace, view.metadata.name)

    return sorted(views, key=age, reverse=True)
