"""Routes of services: their state, and their OpenAPI documents."""

from litestar import MediaType, Response, get
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import READ_SERVICE, SEE_SERVICES
from mooring.api.fleet import Items
from mooring.queries.services import ServiceQueries, ServiceReading


@get("/v1/services", access=SEE_SERVICES, tags=["services"], summary="All services", sync_to_thread=False)
def list_services(services: ServiceQueries, name: str = "", namespace: str = "") -> Items[ServiceReading]:
    """Every service, or those called `name` (`name` or `namespace/name`) or of `namespace`: phase, reason and fix."""
    found = [service for service in services.services(name) if namespace in ("", service.namespace)]
    return Items(found, len(found))


@get(
    "/v1/services/{namespace:str}/{name:str}",
    access=READ_SERVICE,
    tags=["services"],
    summary="One service",
    sync_to_thread=False,
)
def get_service(services: ServiceQueries, namespace: str, name: str) -> ServiceReading:
    """One service, or 404 with the names that exist."""
    return services.service(namespace, name)


@get(
    "/v1/services/{namespace:str}/{name:str}/document",
    access=READ_SERVICE,
    tags=["services"],
    summary="A service's OpenAPI document",
)
async def get_document(services: ServiceQueries, namespace: str, name: str) -> Response[bytes]:
    """The document, read from the service now.

    503 says why it cannot be read. At most 5 MB, within 5 s, no redirects.
    """
    return Response(await services.raw_document(namespace, name), media_type=MediaType.JSON)


SERVICE_ROUTES: list[ControllerRouterHandler] = [list_services, get_service, get_document]
