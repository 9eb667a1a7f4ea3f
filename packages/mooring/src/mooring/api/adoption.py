"""The route that adopts running pods into a pool."""

from typing import Annotated, Any

import msgspec
from litestar import Request, post
from msgspec import Meta

from mooring.api.access.acts import ADOPT
from mooring.controllers.pools.adoption import AdoptedPod, AdoptRequest, PodAdoption
from mooring.model.identity import actor_of


class AdoptPods(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Which pods are adopted, why, and whether the caller states that they run no session."""

    selector: Annotated[str, Meta(min_length=1, max_length=1024)]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    idle: bool = False
    dry_run: bool = False


class AdoptionResult(msgspec.Struct, frozen=True, rename="camel"):
    """What was done with each pod that matches, by name."""

    namespace: str
    name: str
    selector: str
    dry_run: bool
    items: tuple[AdoptedPod, ...]


@post(
    "/v1/pools/{namespace:str}/{name:str}/adopt",
    access=ADOPT,
    tags=["pools"],
    summary="Adopt running pods into a pool",
    status_code=200,
)
async def adopt_pods(
    request: Request[Any, Any, Any], adoption: PodAdoption, namespace: str, name: str, data: AdoptPods
) -> AdoptionResult:
    """Make running pods workers of a pool. They count as busy until they are proven to be idle."""
    asked = AdoptRequest(data.selector, data.reason, actor_of(request.user), data.idle, data.dry_run)
    items = await adoption.adopt(namespace, name, asked)
    return AdoptionResult(namespace, name, data.selector, data.dry_run, items)
