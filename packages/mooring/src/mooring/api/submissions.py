"""Routes of submissions: submit, read, logs, cancel, remove."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Parameter, QueryParameter
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import (
    CANCEL_SUBMISSION,
    CREATE_JOBS,
    CREATE_SUBMISSION,
    DELETE_SUBMISSION,
    READ_SUBMISSION,
    SEE_SUBMISSIONS,
    SUBMIT,
)
from mooring.api.access.authorization import Authorization
from mooring.api.fleet import Items
from mooring.controllers.submissions.commands import SubmissionCommands
from mooring.model.errors import InvalidInput
from mooring.model.identity import actor_of
from mooring.model.submission import Cancel, Phase
from mooring.model.submission_order import Order
from mooring.queries.submissions import SubmissionDetail, SubmissionQueries, SubmissionReading, read_detail

MOST_LOG_LINES = 1_000


class StepLog(msgspec.Struct, frozen=True):
    """The last log lines of a step."""

    pod: str
    lines: tuple[str, ...]


class CancelBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reason, and whether the finalizer still runs."""

    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""
    finalize: bool = False


@post(
    "/v1/submissions",
    access=SUBMIT,
    tags=["submissions"],
    summary="Submit batch work",
    status_code=201,
    responses={200: ResponseSpec(SubmissionDetail, description="The same key and spec: the same submission")},
)
async def create_submission(
    request: Request[Any, Any, Any],
    submission_commands: SubmissionCommands,
    authorization: Authorization,
    data: Order,
) -> Response[SubmissionDetail]:
    """201: created; 200: the same key and spec exist already; 409 `key_reused`: the key exists with another spec.

    Takes the fields of a spec with `namespace`, or a whole manifest as `mooring submit -f` reads it. A manifest's
    `metadata.name` is used; without one the name comes from the key.
    """
    namespace, spec = data.read()
    for act in (
        CREATE_SUBMISSION,
        CREATE_JOBS,
    ):  # Mooring makes the Jobs with its own rights: the caller needs them too
        await authorization.require(request.user, act.access(namespace))
    actor = actor_of(request.user)
    view, fresh = await submission_commands.submit(namespace, spec, data.reason, data.name, actor=actor)
    return Response(read_detail(view), status_code=201 if fresh else 200)


@get(
    "/v1/submissions",
    access=SEE_SUBMISSIONS,
    tags=["submissions"],
    summary="Submissions, newest first",
    sync_to_thread=False,
)
def list_submissions(submissions: SubmissionQueries, namespace: str = "", phase: str = "") -> Items[SubmissionReading]:
    """Submissions by namespace or phase, without specs and steps."""
    if phase and phase not in set(Phase):
        raise InvalidInput("phase", phase, f"one of {', '.join(Phase)}")
    found = submissions.submissions(namespace, phase)
    return Items(found, len(found))


@get(
    "/v1/submissions/{namespace:str}/{name:str}",
    access=READ_SUBMISSION,
    tags=["submissions"],
    summary="One submission",
    sync_to_thread=False,
)
def get_submission(submissions: SubmissionQueries, namespace: str, name: str) -> SubmissionDetail:
    """One submission by its name or key: spec, gates, steps, counts and the evidence of a failure."""
    return submissions.submission(namespace, name)


@get(
    "/v1/submissions/{namespace:str}/{name:str}/logs",
    access=READ_SUBMISSION,
    tags=["submissions"],
    summary="Log of a step",
)
async def read_logs(
    submission_commands: SubmissionCommands,
    namespace: str,
    name: str,
    step: Annotated[str, QueryParameter(pattern=r"^[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?$")],
    lines: Annotated[int, Parameter(ge=1, le=MOST_LOG_LINES)] = 60,
) -> StepLog:
    """The log of the step's newest pod, without control characters and secrets."""
    pod, found = await submission_commands.logs(namespace, name, step, lines)
    return StepLog(pod, found)


@post(
    "/v1/submissions/{namespace:str}/{name:str}/cancel",
    access=CANCEL_SUBMISSION,
    tags=["submissions"],
    summary="Cancel a submission",
    status_code=200,
)
async def cancel_submission(
    request: Request[Any, Any, Any],
    submission_commands: SubmissionCommands,
    namespace: str,
    name: str,
    data: CancelBody,
) -> SubmissionDetail:
    """Delete its running Jobs; with `finalize` the finalizer still runs. 409 if it has ended already."""
    asked = Cancel(actor_of(request.user), data.reason, data.finalize)
    return read_detail(await submission_commands.cancel(namespace, name, asked))


@delete(
    "/v1/submissions/{namespace:str}/{name:str}",
    access=DELETE_SUBMISSION,
    tags=["submissions"],
    summary="Delete a submission that has ended",
    status_code=200,
)
async def remove_submission(
    request: Request[Any, Any, Any], submission_commands: SubmissionCommands, namespace: str, name: str
) -> SubmissionDetail:
    """Delete a submission with its Jobs and logs. 409 while it runs: cancel it first."""
    return read_detail(await submission_commands.remove(namespace, name, actor=actor_of(request.user)))


SUBMISSION_ROUTES: list[ControllerRouterHandler] = [
    create_submission,
    list_submissions,
    get_submission,
    read_logs,
    cancel_submission,
    remove_submission,
]
