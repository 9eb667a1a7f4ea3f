"""The HTTP application: routes, errors, the OpenAPI document, and the pages."""

from dataclasses import dataclass
from typing import Any

from litestar import Litestar, Request, Router, get
from litestar.config.compression import CompressionConfig
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ControllerRouterHandler, Message, Scope

from hawser.clock import Clock
from mooring import __version__
from mooring.api.access.acts import DESCRIPTION
from mooring.api.access.claims import ClaimAccess
from mooring.api.access.control import AccessControl
from mooring.api.access.guard import Guard
from mooring.api.access.pools import PoolAccess
from mooring.api.access.scope import Scopes
from mooring.api.access.services import DeployAccess
from mooring.api.adoption import adopt_pods
from mooring.api.bodies import JsonRequest
from mooring.api.claims import CLAIM_ROUTES, ClaimParts
from mooring.api.demand import DEMAND_ROUTES
from mooring.api.diagnosis import DIAGNOSIS_ROUTES
from mooring.api.direct_calls import DirectCalls
from mooring.api.dispatch import DISPATCH_ROUTES
from mooring.api.errors import error_handlers
from mooring.api.events import stream_events
from mooring.api.fleet import FLEET_ROUTES
from mooring.api.health import healthz, metrics, readyz
from mooring.api.history import get_history
from mooring.api.inspection import INSPECTION_ROUTES
from mooring.api.invariants import pause_invariant, resume_invariant
from mooring.api.ledger import arm_ledger, read_ledger
from mooring.api.limited_queries import limited_queries
from mooring.api.limits import Limits
from mooring.api.openapi import describe_api, name_operation
from mooring.api.pages import Pages, constant
from mooring.api.pool_orders import put_pool
from mooring.api.retirement import retire_worker
from mooring.api.service_orders import SERVICE_ORDER_ROUTES
from mooring.api.services import SERVICE_ROUTES
from mooring.api.submissions import SUBMISSION_ROUTES
from mooring.api.warmups import WARMUP_ROUTES
from mooring.api.whoami import whoami
from mooring.controllers.claims.controller import ClaimController
from mooring.controllers.invariants.commands import InvariantCommands
from mooring.controllers.pools.adoption import PodAdoption
from mooring.controllers.pools.commands import PoolCommands
from mooring.controllers.services.commands import ServiceCommands
from mooring.controllers.submissions.commands import SubmissionCommands
from mooring.controllers.warmups.commands import WarmupCommands
from mooring.queries.events import EventHub
from mooring.queries.readiness import Readiness
from mooring.queries.readings import Readings

MAX_BODY_BYTES = 1_000_000
NEVER_COMPRESSED = ["/v1/events", "/stream", "^/v1/claims/", "^/v1/pools/.+/claims$"]  # streams and single claims

ROUTES: list[ControllerRouterHandler] = [
    healthz,
    readyz,
    metrics,
    whoami,
    *FLEET_ROUTES,
    get_history,
    *DEMAND_ROUTES,
    put_pool,
    *INSPECTION_ROUTES,
    retire_worker,
    adopt_pods,
    *CLAIM_ROUTES,
    *DISPATCH_ROUTES,
    *SERVICE_ROUTES,
    *SERVICE_ORDER_ROUTES,
    *SUBMISSION_ROUTES,
    *DIAGNOSIS_ROUTES,
    *WARMUP_ROUTES,
    stream_events,
    pause_invariant,
    resume_invariant,
    read_ledger,
    arm_ledger,
]
"""All routes but the pages and the description of the API."""


@dataclass(frozen=True, slots=True)
class Commands:
    """What callers may change."""

    claims: ClaimController
    adoption: PodAdoption
    invariants: InvariantCommands
    warmups: WarmupCommands
    submissions: SubmissionCommands
    services: ServiceCommands
    pools: PoolCommands


@dataclass(frozen=True, slots=True)
class ApiParts:
    """What the routes depend on."""

    queries: Readings
    commands: Commands
    readiness: Readiness
    hub: EventHub
    access: AccessControl
    limits: Limits
    clock: Clock


def build_api(parts: ApiParts, pages: Pages = Pages()) -> Litestar:
    """The ASGI application."""
    scopes = Scopes(parts.access.authorization, parts.queries.namespaces())
    guard = Guard(parts.access.authentication, parts.access.authorization, scopes, parts.limits, parts.clock)
    provided = {**_provided(parts), "scopes": scopes, "guard": guard}
    return Litestar(
        route_handlers=[openapi_document, *ROUTES, *_served(pages, scopes)],
        dependencies={
            **{name: constant(value) for name, value in provided.items()},
            **limited_queries(parts.queries, guard),
            **pages.dependencies,
        },
        exception_handlers=error_handlers(pages.failure),
        request_class=JsonRequest,
        middleware=[guard.before, DirectCalls(provided["parts"]).before],
        before_send=[secure_headers],
        request_max_body_size=MAX_BODY_BYTES,
        compression_config=CompressionConfig(backend="gzip", minimum_size=1_000, exclude=NEVER_COMPRESSED),
        openapi_config=_openapi(),
        logging_config=None,
        debug=False,
    )


def _served(pages: Pages, scopes: Scopes) -> list[ControllerRouterHandler]:
    """The routes of the pages, each prepared before it is called."""
    prepare = pages.prepare
    if prepare is None:
        return list(pages.handlers)

    async def before(request: Request[Any, Any, Any]) -> None:
        await prepare(request, scopes)

    return [Router("/", route_handlers=pages.handlers, before_request=before)]


def _provided(parts: ApiParts) -> dict[str, Any]:
    """What handlers are given by name, always the same."""
    queries, commands, authorization = parts.queries, parts.commands, parts.access.authorization
    claim_access = ClaimAccess(authorization, commands.claims.holdings, commands.claims.desk)
    return {
        "desk": commands.claims.desk,
        "stream": commands.claims.stream,
        "identity": commands.claims.identity,
        "retirement": commands.claims.retirement,
        "adoption": commands.adoption,
        "dispatching": commands.claims.dispatch,
        "warmup_commands": commands.warmups,
        "invariant_commands": commands.invariants,
        "readiness": parts.readiness,
        "hub": parts.hub,
        "access": parts.access,
        "authorization": authorization,
        "claim_access": claim_access,
        "parts": ClaimParts(commands.claims.desk, claim_access),
        "deploy_access": DeployAccess(authorization, queries.services.exists),
        "clock": parts.clock,
        "service_commands": commands.services,
        "pool_commands": commands.pools,
        "pool_access": PoolAccess(authorization, queries.fleet.has_pool),
        "submission_commands": commands.submissions,
        "explainer": queries.explainer,
        "doctor": queries.doctor,
    }


async def secure_headers(message: Message, scope: Scope) -> None:
    """Forbid browsers to guess the content type of a response, also of an error, and to come back without TLS.

    Nobody stores a response that does not say how: it may have a payload, and a cookie does not keep proxies from it.
    """
    if message["type"] == "http.response.start":
        headers = [*message["headers"], (b"x-content-type-options", b"nosniff")]
        if not any(name == b"cache-control" for name, _ in headers):
            headers.append((b"cache-control", b"no-store"))
        if scope["scheme"] == "https":
            headers.append((b"strict-transport-security", b"max-age=31536000"))
        message["headers"] = headers


@get("/openapi.json", access=DESCRIPTION, include_in_schema=False, sync_to_thread=False)
def openapi_document(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of this API."""
    return describe_api(request.app)


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Mooring",
        version=__version__,
        description="Keeps worker fleets on Kubernetes steady while the cluster changes.",
        operation_id_creator=name_operation,
        path="/schema",  # where the framework serves it; `/openapi.json` is below
        render_plugins=[JsonRenderPlugin()],
        components=Components(security_schemes={"bearer": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"bearer": []}],
    )
