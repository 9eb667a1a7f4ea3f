"""The routes of submissions: submit, look, read logs, cancel, remove."""

from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Parameter, QueryParameter
from litestar.types import ControllerRouterHandler

from mooring.api.bounds import ActorInBody
from mooring.api.readmodels import SubmissionDesk, SubmissionDetail, SubmissionReading, SubmissionReadSide, read_detail
from mooring.api.reads import Items
from mooring.model import names
from mooring.model.errors import InvalidInput
from mooring.model.submission import Cancel, Phase, SubmissionSpec

MOST_LOG_LINES = 1_000
DEFAULT_NAMESPACE = "default"


class ManifestMetadata(msgspec.Struct, frozen=True):
    """Of a manifest's metadata what counts here; a submission is named after its key."""

    name: str = ""
    namespace: str = ""


class Order(SubmissionSpec, frozen=True, kw_only=True):
    """The body of a submit: the fields of a Submission's spec and its namespace, or a whole manifest; and why."""

    namespace: str = ""  # `default` when it is given nowhere
    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""
    api_version: str = ""
    kind: str = ""
    metadata: ManifestMetadata | None = None
    spec: SubmissionSpec | None = None
    status: dict[str, Any] | None = None  # of a manifest as kubectl prints it; it is not read

    def read(self) -> tuple[str, SubmissionSpec]:
        """The namespace and the spec, in whichever form they came."""
        flat = {name: getattr(self, name) for name in SubmissionSpec.__struct_fields__}
        if self.spec is None:
            for name, value in (("apiVersion", self.api_version), ("kind", self.kind), ("metadata", self.metadata)):
                if value:
                    raise InvalidInput(
                        "spec", None, f"given, as {name} is: a whole manifest, or only the spec's fields"
                    )
            return self.namespace or DEFAULT_NAMESPACE, SubmissionSpec(**flat)
        self._check_manifest(flat)
        inside = self.metadata.namespace if self.metadata is not None else ""
        return inside or self.namespace or DEFAULT_NAMESPACE, self.spec

    def _check_manifest(self, flat: dict[str, Any]) -> None:
        if self.api_version not in ("", names.API_VERSION):
            raise InvalidInput("apiVersion", self.api_version, names.API_VERSION)
        if self.kind not in ("", "Submission"):
            raise InvalidInput("kind", self.kind, "Submission")
        inside = self.metadata.namespace if self.metadata is not None else ""
        if inside and self.namespace not in ("", inside):
            raise InvalidInput("namespace", self.namespace, f"{inside}, as metadata.namespace is, or left out")
        unset = SubmissionSpec()
        for field in msgspec.structs.fields(SubmissionSpec):
            if flat[field.name] != getattr(unset, field.name):
                told = f"given as spec.{field.encode_name}: a whole manifest has it there"
                raise InvalidInput(field.encode_name, flat[field.name], told)


class StepLog(msgspec.Struct, frozen=True):
    """The last words of a step."""

    pod: str
    lines: tuple[str, ...]


class CancelBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why, by whom, and whether the finalizer still runs."""

    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""
    actor: ActorInBody = "api"
    finalize: bool = False


@post(
    "/v1/submissions",
    tags=["submissions"],
    summary="Submit batch work",
    status_code=201,
    responses={200: ResponseSpec(SubmissionDetail, description="The same key and spec: the same submission")},
)
async def create_submission(submission_desk: SubmissionDesk, data: Order) -> Response[SubmissionDetail]:
    """201 for a new one, 200 for the same key and spec again, 409 `key_reused` for the same key with another spec.

    Takes the fields of a spec with `namespace`, or a whole manifest as `mooring submit -f` reads it.
    """
    namespace, spec = data.read()
    view, fresh = await submission_desk.submit(namespace, spec, data.reason)
    return Response(read_detail(view), status_code=201 if fresh else 200)


@get("/v1/submissions", tags=["submissions"], summary="Submissions, newest first", sync_to_thread=False)
def list_submissions(submissions: SubmissionReadSide, namespace: str = "", phase: str = "") -> Items[SubmissionReading]:
    """By namespace or phase; without specs and steps."""
    if phase and phase not in set(Phase):
        raise InvalidInput("phase", phase, f"one of {', '.join(Phase)}")
    found = submissions.submissions(namespace, phase)
    return Items(found, len(found))


@get("/v1/submissions/{namespace:str}/{name:str}", tags=["submissions"], summary="One submission", sync_to_thread=False)
def get_submission(submissions: SubmissionReadSide, namespace: str, name: str) -> SubmissionDetail:
    """By its name or its key: spec, gates, steps, counts and the evidence of a failure."""
    return submissions.submission(namespace, name)


@get("/v1/submissions/{namespace:str}/{name:str}/logs", tags=["submissions"], summary="The last lines of a step")
async def read_logs(
    submission_desk: SubmissionDesk,
    namespace: str,
    name: str,
    step: Annotated[str, QueryParameter(pattern=r"^[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?$")],
    lines: Annotated[int, Parameter(ge=1, le=MOST_LOG_LINES)] = 60,
) -> StepLog:
    """Of the newest pod of the step, cleaned of control characters and secrets."""
    pod, found = await submission_desk.logs(namespace, name, step, lines)
    return StepLog(pod, found)


@post(
    "/v1/submissions/{namespace:str}/{name:str}/cancel",
    tags=["submissions"],
    summary="Stop a submission",
    status_code=200,
)
async def cancel_submission(
    submission_desk: SubmissionDesk, namespace: str, name: str, data: CancelBody
) -> SubmissionDetail:
    """Deletes what runs; with `finalize` the finalizer still runs. 409 when it has ended already."""
    asked = Cancel(data.actor, data.reason, data.finalize)
    return read_detail(await submission_desk.cancel(namespace, name, asked))


@delete(
    "/v1/submissions/{namespace:str}/{name:str}",
    tags=["submissions"],
    summary="Forget a submission that has ended",
    status_code=200,
)
async def remove_submission(submission_desk: SubmissionDesk, namespace: str, name: str) -> SubmissionDetail:
    """Its Jobs and their logs go with it. 409 while it runs: cancel it first."""
    return read_detail(await submission_desk.remove(namespace, name))


SUBMISSION_ROUTES: list[ControllerRouterHandler] = [
    create_submission,
    list_submissions,
    get_submission,
    read_logs,
    cancel_submission,
    remove_submission,
]
