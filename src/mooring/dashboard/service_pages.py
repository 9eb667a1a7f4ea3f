"""The routes of the pages of services and of API documents."""

from typing import Any

from litestar import Request, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.document import describe_api
from mooring.api.readmodels import ServiceReading, ServiceReadSide
from mooring.dashboard.responses import page_response, twin_response
from mooring.dashboard.service_views import PHASES, DocsPage, list_keys, read_docs, read_services
from mooring.dashboard.views import Selection
from mooring.model.openapi import read_document


@get("/services", include_in_schema=False, sync_to_thread=False)
def services_page(services: ServiceReadSide, selection: Selection) -> Response[str]:
    """Whether each service serves, why not, and what to do."""
    page = read_services(services, selection)
    return page_response("services.html", page=page, phases=PHASES, selection=selection, here="services")


@get(["/services.json", "/services.csv"], include_in_schema=False, sync_to_thread=False)
def services_twin(services: ServiceReadSide, selection: Selection, request: Request[Any, Any, Any]) -> Response[Any]:
    """The rows of the services page."""
    return twin_response(request, ServiceReading, read_services(services, selection).services)


@get("/docs", include_in_schema=False, sync_to_thread=False)
def docs_page(services: ServiceReadSide, request: Request[Any, Any, Any]) -> Response[str]:
    """Mooring's own API, from its own OpenAPI document."""
    page = DocsPage("", "/openapi.json", list_keys(services), read_document(describe_api(request.app)))
    return page_response("docs.html", page=page, selection=Selection(), here="docs")


@get("/docs/{namespace:str}/{name:str}", include_in_schema=False)
async def service_docs_page(services: ServiceReadSide, namespace: str, name: str) -> Response[str]:
    """A service's API, from the document that it gives out now."""
    page = await read_docs(services, namespace, name)
    return page_response("docs.html", page=page, selection=Selection(), here="docs")


SERVICE_PAGES: list[ControllerRouterHandler] = [services_page, services_twin, docs_page, service_docs_page]
