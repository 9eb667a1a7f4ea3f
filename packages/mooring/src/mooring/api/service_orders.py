"""Routes that change services: create or update one, and delete it, each with a dry run."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, delete, put
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter
from litestar.types import ControllerRouterHandler

from mooring.api.access.acts import DELETE_SERVICE, DEPLOY
from mooring.api.access.services import DeployAccess
from mooring.api.order_query import refuse_unknown_parameters
from mooring.api.parameters import Reason
from mooring.controllers.services.commands import Ordered, ServiceCommands
from mooring.model.identity import actor_of
from mooring.model.manifest_order import OrderMetadata
from mooring.model.service import ServiceSpec
from mooring.model.service_order import read_order
from mooring.planning.services.change import Action, Preflight
from mooring.queries.services import ServiceReading, read_service

DryRun = Annotated[bool, QueryParameter(name="dryRun", description="Answer with what would happen; write nothing.")]
Uid = Annotated[str, QueryParameter(max_length=253, description="Delete only the service with this uid.")]


class ServiceOrderBody(ServiceSpec, frozen=True, kw_only=True):
    """The fields of a ManagedService's spec, or a whole manifest."""

    api_version: str = ""
    kind: str = ""
    metadata: OrderMetadata | None = None
    spec: ServiceSpec | None = None
    status: dict[str, Any] | None = None  # of a manifest as kubectl prints it; not used


class ServiceChanged(msgspec.Struct, frozen=True, rename="camel"):
    """What a request changes, the answer of the preflight, and the service as it is afterwards."""

    namespace: str
    name: str
    action: Action
    dry_run: bool
    changes: tuple[str, ...]
    new_pods: bool
    preflight: Preflight
    service: ServiceReading


@put(
    "/v1/services/{namespace:str}/{name:str}",
    access=DEPLOY,
    tags=["services"],
    summary="Create or update a service",
    status_code=200,
    responses={201: ResponseSpec(ServiceChanged, description="Created")},
)
async def put_service(
    request: Request[Any, Any, Any],
    service_commands: ServiceCommands,
    deploy_access: DeployAccess,
    namespace: str,
    name: str,
    data: ServiceOrderBody,
    dry_run: DryRun = False,
    reason: Reason = "",
) -> Response[ServiceChanged]:
    """201: created; 200: updated, unchanged, or a dry run. The stored spec becomes the spec that is sent.

    With `metadata.uid` or `metadata.resourceVersion` only that object or version is changed, else 409. `preflight` says
    whether nodes take its pods; a service that no node takes is stored, and nothing of it is applied until one does.
    """
    refuse_unknown_parameters(request, "dryRun", "reason")
    await deploy_access.require(request.user, namespace, name)
    order = read_order(namespace, name, await request.json())
    if dry_run:
        return Response(_answer(await service_commands.preview(order), dry_run=True))
    ordered = await service_commands.apply(order, actor=actor_of(request.user), reason=reason)
    return Response(_answer(ordered), status_code=201 if ordered.change.action == "create" else 200)


@delete(
    "/v1/services/{namespace:str}/{name:str}",
    access=DELETE_SERVICE,
    tags=["services"],
    summary="Delete a service",
    status_code=202,
)
async def delete_service(
    request: Request[Any, Any, Any],
    service_commands: ServiceCommands,
    namespace: str,
    name: str,
    dry_run: DryRun = False,
    uid: Uid = "",
    reason: Reason = "",
) -> ServiceChanged:
    """Delete a service. Kubernetes then deletes what it owns: its Deployment with all pods, its Service, its budget."""
    refuse_unknown_parameters(request, "dryRun", "uid", "reason")
    if dry_run:
        return _answer(await service_commands.preview_removal(namespace, name, uid), dry_run=True)
    return _answer(await service_commands.remove(namespace, name, uid, actor=actor_of(request.user), reason=reason))


def _answer(ordered: Ordered, *, dry_run: bool = False) -> ServiceChanged:
    service, change = ordered.service, ordered.change
    return ServiceChanged(
        service.namespace,
        service.name,
        change.action,
        dry_run,
        change.changes,
        change.new_pods,
        change.preflight,
        read_service(service),
    )


SERVICE_ORDER_ROUTES: list[ControllerRouterHandler] = [put_service, delete_service]
