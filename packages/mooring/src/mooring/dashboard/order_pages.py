"""Forms that create or change a pool, and submit work: write a manifest, check it, apply it."""

from typing import Annotated

import msgspec
from litestar import Response, get, post
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler
from msgspec import Meta

from mooring.api.access.acts import (
    CHANGE_POOL,
    CREATE_JOBS,
    CREATE_SUBMISSION,
    ORDER_POOL,
    SEE_POOLS,
    SEE_SUBMISSIONS,
    SUBMIT,
)
from mooring.api.access.authorization import Authorization
from mooring.api.access.pools import PoolAccess
from mooring.api.dependencies import GivenClock
from mooring.dashboard.actions import NO_REASON, AnyRequest
from mooring.dashboard.commands import PoolCommands, SubmissionCommands
from mooring.dashboard.manifests import name_in, parse_manifest
from mooring.dashboard.pool_views import print_pool
from mooring.dashboard.responses import PageResponse
from mooring.dashboard.toasts import done
from mooring.ledger.records import AuditFilter
from mooring.model import names
from mooring.model.errors import Conflict, InvalidInput, MooringError, NotFound
from mooring.model.identity import actor_of
from mooring.model.manifest_order import require_none
from mooring.model.pool_order import KIND, PoolOrder, read_pool_order
from mooring.model.submission import SubmissionSpec
from mooring.model.submission_checks import check_submission
from mooring.model.submission_order import Order
from mooring.model.unreadable import explain_unreadable
from mooring.queries.fleet import FleetQueries

POOL_EXAMPLE = f"""apiVersion: {names.API_VERSION}
kind: {KIND}
metadata:
  name: builders
  namespace: default
spec:
  warm: 2
  max: 6
  template:
    spec:
      containers:
        - name: worker
          image: registry.example/builder:3
          resources:
            requests: {{cpu: 250m, memory: 256Mi}}
"""
SUBMISSION_EXAMPLE = f"""apiVersion: {names.API_VERSION}
kind: Submission
metadata:
  namespace: default
spec:
  key: nightly-2026-03-01
  program: report
  batches:
    - args: ["--part", "1"]
    - args: ["--part", "2"]
  podTemplate:
    spec:
      containers:
        - name: main
          image: registry.example/report:1
"""


class OrderText(msgspec.Struct):
    """A manifest and why it is sent."""

    manifest: Annotated[str, Meta(max_length=200_000)] = ""
    reason: Annotated[str, Meta(max_length=500)] = ""


class OrderForm(msgspec.Struct, frozen=True):
    """The form as it is shown: what is wrong, or what would change."""

    kind: str  # pool or submission
    title: str
    manifest: str
    problems: tuple[str, ...] = ()
    fix: str = ""
    changes: tuple[str, ...] = ()
    action: str = ""  # create, update, unchanged; empty before the check


Text = Annotated[OrderText, Body(media_type=RequestEncodingType.URL_ENCODED)]


def _show(form: OrderForm, status: int = 200) -> Response[str]:
    section = "fleet" if form.kind == "pool" else "submissions"
    return PageResponse("order.html", status, {"form": form, "here": "form", "section": section})


def _refused(form: OrderForm, error: MooringError) -> Response[str]:
    problems = tuple(error.detail.get("problems") or (error.message,))
    return _show(msgspec.structs.replace(form, problems=problems, fix=error.fix), 400)


@get("/pools/new", page="form", access=SEE_POOLS, include_in_schema=False, sync_to_thread=False)
def new_pool_page() -> Response[str]:
    """An example to begin with."""
    return _show(OrderForm("pool", "New pool", POOL_EXAMPLE))


@get(
    "/pools/{namespace:str}/{name:str}/edit",
    page="form",
    access=CHANGE_POOL,
    include_in_schema=False,
    sync_to_thread=False,
)
def edit_pool_page(reading: FleetQueries, namespace: str, name: str) -> Response[str]:
    """The manifest of the pool as it is."""
    return _show(OrderForm("pool", f"Edit {namespace}/{name}", print_pool(reading.pool(namespace, name))))


def _read_pool(manifest: str) -> PoolOrder:
    body = parse_manifest(manifest, KIND)
    return read_pool_order(*name_in(body, "pool"), body)


@post("/actions/pools/check", page="form", access=ORDER_POOL, include_in_schema=False, status_code=200)
async def check_pool(
    request: AnyRequest, pool_commands: PoolCommands, pool_access: PoolAccess, data: Text
) -> Response[str]:
    """What the order would change. Nothing is written."""
    form = OrderForm("pool", "Create or change a pool", data.manifest)
    try:
        order = _read_pool(data.manifest)
        await pool_access.require(request.user, order.namespace, order.name)
        change = await pool_commands.preview(order)
    except (InvalidInput, NotFound, Conflict) as error:
        return _refused(form, error)
    words = {
        "create": f"{order.key} is created: spec.warm {order.spec.warm}, spec.max {order.spec.max}",
        "update": f"{order.key} is changed"
        + ("; idle workers are replaced, busy ones stay" if change.new_workers else ""),
        "unchanged": f"{order.key} is stored like this already: nothing changes",
    }
    return _show(msgspec.structs.replace(form, action=change.action, changes=(words[change.action], *change.changes)))


@post("/actions/pools/apply", access=ORDER_POOL, include_in_schema=False)
async def apply_pool(
    request: AnyRequest,
    pool_commands: PoolCommands,
    pool_access: PoolAccess,
    reading: FleetQueries,
    clock: GivenClock,
    data: Text,
) -> Redirect:
    """Create or change the pool."""
    order = _read_pool(data.manifest)
    await pool_access.require(request.user, order.namespace, order.name)
    await pool_commands.apply(order, actor=actor_of(request.user), reason=data.reason or NO_REASON)
    which = AuditFilter(kind=KIND, namespace=order.namespace, name=order.name)
    back = f"/pools/{order.key}" if reading.has_pool(order.namespace, order.name) else "/"
    return await done(reading, back, which, clock.now())


@get("/submissions/new", page="form", access=SEE_SUBMISSIONS, include_in_schema=False, sync_to_thread=False)
def new_submission_page() -> Response[str]:
    """An example to begin with."""
    return _show(OrderForm("submission", "Submit work", SUBMISSION_EXAMPLE))


def _read_submission(manifest: str) -> tuple[str, SubmissionSpec, str]:
    body = parse_manifest(manifest, "Submission")
    try:
        order = msgspec.convert(body, Order)
    except msgspec.ValidationError as error:
        raise explain_unreadable("manifest", error, Order) from error
    namespace, spec = order.read()
    require_none(list(check_submission(spec)))
    return namespace, spec, order.name


async def _may_submit(request: AnyRequest, authorization: Authorization, namespace: str) -> None:
    for act in (CREATE_SUBMISSION, CREATE_JOBS):
        await authorization.require(request.user, act.access(namespace))


@post("/actions/submissions/check", page="form", access=SUBMIT, include_in_schema=False, status_code=200)
async def check_work(request: AnyRequest, authorization: Authorization, data: Text) -> Response[str]:
    """What would be submitted. Nothing is written."""
    form = OrderForm("submission", "Submit work", data.manifest)
    try:
        namespace, spec, _ = _read_submission(data.manifest)
        await _may_submit(request, authorization, namespace)
    except InvalidInput as error:
        return _refused(form, error)
    steps = len(spec.batches) + bool(spec.setup) + bool(spec.finalizer)
    words = (
        f"{steps} Job{'' if steps == 1 else 's'} of {spec.program} in {namespace}, under the key {spec.key}",
        "gates are checked before any Job",
    )
    return _show(msgspec.structs.replace(form, action="create", changes=words))


@post("/actions/submissions/apply", access=SUBMIT, include_in_schema=False)
async def submit_work(
    request: AnyRequest, submission_commands: SubmissionCommands, authorization: Authorization, data: Text
) -> Redirect:
    """Submit it. The same key and spec lead to the same submission."""
    namespace, spec, name = _read_submission(data.manifest)
    await _may_submit(request, authorization, namespace)
    reason, actor = data.reason or NO_REASON, actor_of(request.user)
    view, _ = await submission_commands.submit(namespace, spec, reason, name, actor=actor)
    return Redirect(f"/submissions/{namespace}/{view.metadata.name}", status_code=303)


ORDER_PAGES: list[ControllerRouterHandler] = [
    new_pool_page,
    edit_pool_page,
    check_pool,
    apply_pool,
    new_submission_page,
    check_work,
    submit_work,
]
