"""Routes of the page that deploys or updates a service: write, check, apply; and the action that deletes one."""

from typing import Annotated
from urllib.parse import quote

import msgspec
from litestar import Response, get, post
from litestar.enums import RequestEncodingType
from litestar.params import Body
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler
from msgspec import Meta

from mooring.api.access.acts import DELETE_SERVICE, DEPLOY, SEE_SERVICES
from mooring.api.access.services import DeployAccess
from mooring.api.dependencies import GivenClock
from mooring.dashboard.actions import NO_REASON, AnyRequest, ask
from mooring.dashboard.commands import ServiceCommands
from mooring.dashboard.dialogs import remove_dialog
from mooring.dashboard.responses import page_response
from mooring.dashboard.service_order_views import EXAMPLE, OrderPage, parse_order, print_manifest
from mooring.dashboard.toasts import done
from mooring.dashboard.views import Selection
from mooring.ledger.records import AuditFilter
from mooring.model.errors import Conflict, InvalidInput, NotFound
from mooring.model.identity import actor_of
from mooring.model.service_order import KIND
from mooring.queries.fleet import FleetQueries
from mooring.queries.services import ServiceQueries


class OrderForm(msgspec.Struct):
    """The form of an order."""

    manifest: Annotated[str, Meta(max_length=200_000)] = ""
    reason: Annotated[str, Meta(max_length=500)] = ""


class RemovalForm(msgspec.Struct):
    """The form of a removal: only the service that the page showed is deleted."""

    uid: Annotated[str, Meta(max_length=253)] = ""
    reason: Annotated[str, Meta(max_length=500)] = ""


Order = Annotated[OrderForm, Body(media_type=RequestEncodingType.URL_ENCODED)]
Removal = Annotated[RemovalForm, Body(media_type=RequestEncodingType.URL_ENCODED)]


@get("/services/deploy", page="form", access=SEE_SERVICES, include_in_schema=False, sync_to_thread=False)
def deploy_page(services: ServiceQueries, service: str = "") -> Response[str]:
    """The manifest of a service to change, or an example for a new one."""
    if not service:
        return _show(OrderPage(EXAMPLE))
    return _show(OrderPage(print_manifest(services.services(service)[0]), service))


@post("/actions/services/check", page="form", access=DEPLOY, include_in_schema=False, status_code=200)
async def check_order(
    request: AnyRequest, service_commands: ServiceCommands, deploy_access: DeployAccess, data: Order
) -> Response[str]:
    """What the order would change, and the answer of the preflight. Nothing is written."""
    try:
        order = parse_order(data.manifest)
        await deploy_access.require(request.user, order.namespace, order.name)
        ordered = await service_commands.preview(order)
    except (InvalidInput, NotFound, Conflict) as error:
        problems = tuple(error.detail.get("problems") or (error.message,))
        return _show(OrderPage(data.manifest, problems=problems, fix=error.fix), status=400)
    return _show(OrderPage(data.manifest, order.key, ordered.change))


@post("/actions/services/apply", access=DEPLOY, include_in_schema=False)
async def apply_order(
    request: AnyRequest,
    service_commands: ServiceCommands,
    deploy_access: DeployAccess,
    reading: FleetQueries,
    clock: GivenClock,
    data: Order,
) -> Redirect:
    """Create or update the service."""
    order = parse_order(data.manifest)
    await deploy_access.require(request.user, order.namespace, order.name)
    await service_commands.apply(order, actor=actor_of(request.user), reason=data.reason or NO_REASON)
    which = AuditFilter(kind=KIND, namespace=order.namespace, name=order.name)
    return await done(reading, f"/services?q={quote(order.key, safe='')}", which, clock.now())


@get(
    "/actions/services/{namespace:str}/{name:str}/delete", page="dialog", access=DELETE_SERVICE, include_in_schema=False
)
async def ask_remove(request: AnyRequest, namespace: str, name: str, services: ServiceQueries) -> Response[str]:
    """What goes with it."""
    return ask(request, remove_dialog(services.service(namespace, name)))


@post("/actions/services/{namespace:str}/{name:str}/delete", access=DELETE_SERVICE, include_in_schema=False)
async def remove(
    request: AnyRequest,
    namespace: str,
    name: str,
    service_commands: ServiceCommands,
    reading: FleetQueries,
    clock: GivenClock,
    data: Removal,
) -> Redirect:
    """Delete the service, with what it owns."""
    actor, reason = actor_of(request.user), data.reason or NO_REASON
    await service_commands.remove(namespace, name, data.uid, actor=actor, reason=reason)
    which = AuditFilter(kind=KIND, namespace=namespace, name=name)
    return await done(reading, "/services", which, clock.now())


def _show(page: OrderPage, status: int = 200) -> Response[str]:
    return page_response("deploy.html", status=status, page=page, selection=Selection(), here="services-deploy")


SERVICE_ORDER_PAGES: list[ControllerRouterHandler] = [deploy_page, check_order, apply_order, ask_remove, remove]
