"""Routes of the pages of services and of API documents."""

from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_SERVICE, SEE_SERVICES
from mooring.api.openapi import describe_api
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.service_views import PHASES, DocsPage, list_keys, read_docs, read_services
from mooring.dashboard.views import Selection
from mooring.model.openapi import read_document
from mooring.queries.services import ServiceQueries, ServiceReading


@get("/services", page="services", access=SEE_SERVICES, include_in_schema=False, sync_to_thread=False)
def services_page(services: ServiceQueries, selection: Selection) -> Response[str]:
    """The services with phase, reason and fix."""
    page = read_services(services, selection)
    return page_response("services.html", page=page, phases=PHASES, selection=selection, here="services")


@get(["/services.json", "/services.csv"], access=SEE_SERVICES, include_in_schema=False, sync_to_thread=False)
def services_twin(services: ServiceQueries, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the services page."""
    return twin_response(request, ServiceReading, read_services(services, selection).services)


@get("/docs", page="docs", access=SEE_SERVICES, include_in_schema=False, sync_to_thread=False)
def docs_page(services: ServiceQueries, request: Request[Any, Any, Any]) -> Response[str]:
    """Mooring's own API, from its own OpenAPI document."""
    page = DocsPage("", "/openapi.json", list_keys(services), read_document(describe_api(request.app)))
    return page_response("docs.html", page=page, selection=Selection(), here="docs")


@get("/docs/{namespace:str}/{name:str}", page="docs", access=READ_SERVICE, include_in_schema=False)
async def service_docs_page(services: ServiceQueries, namespace: str, name: str) -> Response[str]:
    """The API of a service, from its current document."""
    page = await read_docs(services, namespace, name)
    return page_response("docs.html", page=page, selection=Selection(), here="docs")


@get("/docs/{namespace:str}/{name:str}/openapi.json", access=READ_SERVICE, include_in_schema=False)
async def service_document(services: ServiceQueries, namespace: str, name: str) -> Response[bytes]:
    """The current document itself, for those who may read the page: `/v1` needs a token also where pages are open."""
    return Response(await services.raw_document(namespace, name), media_type=MediaType.JSON)


SERVICE_PAGES: list[ControllerRouterHandler] = [
    services_page,
    services_twin,
    docs_page,
    service_docs_page,
    service_document,
]
