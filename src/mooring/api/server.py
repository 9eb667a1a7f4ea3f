"""The HTTP application: routes, errors, the OpenAPI document, and the pages beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from litestar import Litestar, Request, get
from litestar.config.compression import CompressionConfig
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ControllerRouterHandler, Message, Scope

from mooring import __version__
from mooring.api.arming import arm_ledger, read_ledger
from mooring.api.auth import Access
from mooring.api.bodies import JsonRequest
from mooring.api.claims import CLAIM_ROUTES
from mooring.api.diagnosis import DIAGNOSIS_ROUTES
from mooring.api.dispatch import DISPATCH_ROUTES
from mooring.api.document import describe_api
from mooring.api.errors import http_error, mooring_error, unexpected_error
from mooring.api.events import EventHub
from mooring.api.given import Readiness
from mooring.api.health import healthz, metrics, readyz
from mooring.api.inspections import INSPECTION_ROUTES, Inspection
from mooring.api.reads import get_pool, list_audit, list_invariants, list_nodes, list_pools, list_workers
from mooring.api.services import SERVICE_ROUTES
from mooring.api.streaming import stream_events
from mooring.api.submissions import SUBMISSION_ROUTES
from mooring.api.switchboard import Switchboard
from mooring.api.switching import pause_invariant, resume_invariant
from mooring.api.warmups import WARMUP_ROUTES
from mooring.clock import Clock, Entropy
from mooring.control.claiming.desk import ClaimDesk
from mooring.control.claiming.dispatching import Dispatching
from mooring.control.claiming.identity import WorkerIdentity
from mooring.control.doctor import Doctor
from mooring.control.explaining import Explainer
from mooring.control.reading import ReadSide
from mooring.control.serving.reading import ServiceReadSide
from mooring.control.submitting.submissions import Submissions
from mooring.control.switches import Switches
from mooring.control.warming.part import Warming
from mooring.ledger.port import Ledger
from mooring.model.errors import MooringError

MAX_BODY_BYTES = 1_000_000
NEVER_COMPRESSED = ["/v1/events", "/stream", "^/v1/claims/", "^/v1/pools/.+/claims$"]  # streams, and single claims


@dataclass(frozen=True, slots=True)
class Pages:
    """The dashboard, as the API sees it: more routes, and what they are given."""

    handlers: Sequence[ControllerRouterHandler] = ()
    dependencies: Mapping[str, Provide] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiParts:
    """What the routes are given."""

    reading: ReadSide
    inspection: Inspection
    desk: ClaimDesk
    identity: WorkerIdentity
    dispatching: Dispatching
    warming: Warming
    switches: Switches
    ledger: Ledger
    readiness: Readiness
    hub: EventHub
    access: Access
    clock: Clock
    entropy: Entropy
    services: ServiceReadSide
    submissions: Submissions
    explainer: Explainer
    doctor: Doctor


def build_api(parts: ApiParts, pages: Pages = Pages()) -> Litestar:
    """The ASGI application."""
    provided: dict[str, Any] = {
        "reading": parts.reading,
        "inspection": parts.inspection,
        "desk": parts.desk,
        "identity": parts.identity,
        "dispatching": parts.dispatching,
        "warmups": parts.warming.reading,
        "warmup_requests": parts.warming.requests,
        "switchboard": Switchboard(parts.switches, parts.ledger, parts.clock, parts.entropy, parts.hub),
        "ledger": parts.ledger,
        "readiness": parts.readiness,
        "hub": parts.hub,
        "access": parts.access,
        "clock": parts.clock,
        "entropy": parts.entropy,
        "services": parts.services,
        "submissions": parts.submissions.reading,
        "submission_desk": parts.submissions.desk,
        "explainer": parts.explainer,
        "doctor": parts.doctor,
    }
    return Litestar(
        route_handlers=[
            healthz,
            readyz,
            metrics,
            openapi_document,
            list_pools,
            get_pool,
            list_workers,
            list_nodes,
            list_invariants,
            list_audit,
            *INSPECTION_ROUTES,
            *CLAIM_ROUTES,
            *DISPATCH_ROUTES,
            *SERVICE_ROUTES,
            *SUBMISSION_ROUTES,
            *DIAGNOSIS_ROUTES,
            *WARMUP_ROUTES,
            stream_events,
            pause_invariant,
            resume_invariant,
            read_ledger,
            arm_ledger,
            *pages.handlers,
        ],
        dependencies={**{name: constant(value) for name, value in provided.items()}, **pages.dependencies},
        exception_handlers={MooringError: mooring_error, HTTPException: http_error, Exception: unexpected_error},
        request_class=JsonRequest,
        before_request=parts.access.check,
        before_send=[forbid_guessing],
        request_max_body_size=MAX_BODY_BYTES,
        compression_config=CompressionConfig(backend="gzip", minimum_size=1_000, exclude=NEVER_COMPRESSED),
        openapi_config=_openapi(),
        logging_config=None,
        debug=False,
    )


async def forbid_guessing(message: Message, _: Scope) -> None:
    """No browser may take an answer, a failed one included, for another type than it says."""
    if message["type"] == "http.response.start":
        message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]


def constant(value: object) -> Provide:
    """A dependency that is always the same object."""

    async def provide() -> Any:
        return value

    return Provide(provide, use_cache=True)


@get("/openapi.json", include_in_schema=False, sync_to_thread=False)
def openapi_document(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of this API."""
    return describe_api(request.app)


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Mooring",
        version=__version__,
        description="Worker fleets on Kubernetes, kept true to the cluster.",
        path="/schema",  # where the framework serves it; the contract's /openapi.json is below
        render_plugins=[JsonRenderPlugin()],
        components=Components(security_schemes={"bearer": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"bearer": []}],
    )
