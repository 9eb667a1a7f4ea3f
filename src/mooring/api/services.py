"""The routes of services: how each fares, and the document it gives out."""

from litestar import MediaType, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.readmodels import ServiceReading, ServiceReadSide
from mooring.api.reads import Items


@get("/v1/services", tags=["services"], summary="All services", sync_to_thread=False)
def list_services(services: ServiceReadSide, name: str = "", namespace: str = "") -> Items[ServiceReading]:
    """Every service, those called `name` (`name` or `namespace/name`) or of `namespace`: phase, reason and fix."""
    found = [service for service in services.services(name) if namespace in ("", service.namespace)]
    return Items(found, len(found))


@get("/v1/services/{namespace:str}/{name:str}", tags=["services"], summary="One service", sync_to_thread=False)
def get_service(services: ServiceReadSide, namespace: str, name: str) -> ServiceReading:
    """One service, or 404 naming those that exist."""
    return services.service(namespace, name)


@get("/v1/services/{namespace:str}/{name:str}/document", tags=["services"], summary="A service's OpenAPI document")
async def get_document(services: ServiceReadSide, namespace: str, name: str) -> Response[bytes]:
    """As the service gives it out now; 503 says why it cannot be had. At most 5 MB, within 5 s, no redirects."""
    return Response(await services.raw_document(namespace, name), media_type=MediaType.JSON)


SERVICE_ROUTES: list[ControllerRouterHandler] = [list_services, get_service, get_document]
