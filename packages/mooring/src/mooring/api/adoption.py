"""The route that adopts running pods into a pool."""

from typing import Annotated

import msgspec
from litestar import post
from msgspec import Meta

from mooring.api.parameters import ActorInBody
from mooring.controllers.pools.adoption import AdoptedPod, AdoptRequest, PodAdoption


class AdoptPods(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Which pods are adopted, why, and whether the caller states that they run no session."""

    selector: Annotated[str, Meta(min_length=1, max_length=1024)]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    actor: ActorInBody = "api"
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
    tags=["pools"],
    summary="Adopt running pods into a pool",
    status_code=200,
)
async def adopt_pods(adoption: PodAdoption, namespace: str, name: str, data: AdoptPods) -> AdoptionResult:
    """Make running pods workers of a pool. They count as busy until they are proven to be idle."""
    request = AdoptRequest(data.selector, data.reason, data.actor, data.idle, data.dry_run)
    items = await adoption.adopt(namespace, name, request)
    return AdoptionResult(namespace, name, data.selector, data.dry_run, items)
