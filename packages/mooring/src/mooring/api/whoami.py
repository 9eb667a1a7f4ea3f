"""`/v1/whoami`: who the caller is, and what it may do."""

from typing import Any

import msgspec
from litestar import Request, get

from mooring.api.access import acts
from mooring.api.access.authorization import Authorization
from mooring.api.access.scope import Scopes
from mooring.model.identity import Identity, owner_of

_IN_NAMESPACE = {
    "read": acts.Act("list", "workerpools"),
    "claim": acts.CLAIM,
    "claimForOthers": acts.CLAIM_FOR_OTHERS,
    "endClaims": acts.END_CLAIM,
    "retireWorkers": acts.RETIRE,
    "changeWarmups": acts.CHANGE_WARMUP,
    "submit": acts.CREATE_SUBMISSION,
    "createJobs": acts.CREATE_JOBS,
    "deploy": acts.CREATE_SERVICE,
    "createDeployments": acts.CREATE_DEPLOYMENTS,
}
_EVERYWHERE = {
    "readInvariants": acts.READ_INVARIANTS,
    "switchInvariants": acts.SWITCH_INVARIANT,
    "readNodes": acts.READ_NODE,
    **_IN_NAMESPACE,
}


class Whoami(msgspec.Struct, frozen=True):
    """The caller. `rights` are those in the whole cluster, or in the namespace that was asked about."""

    user: str
    groups: tuple[str, ...]
    via: str
    owner: str
    namespace: str
    rights: dict[str, bool]
    namespaces: list[str]


@get("/v1/whoami", access=acts.AUTHENTICATED, tags=["access"], summary="Who the caller is and what it may do")
async def whoami(
    request: Request[Any, Any, Any], authorization: Authorization, scopes: Scopes, namespace: str = ""
) -> Whoami:
    """User, groups, how they were proven, and the owner of its claims; what it may do everywhere or in `namespace`.

    `namespaces` are those with pools that the caller may read.
    """
    identity: Identity = request.user
    rights = {
        name: await authorization.allows(identity, act.access(namespace))
        for name, act in (_IN_NAMESPACE if namespace else _EVERYWHERE).items()
    }
    return Whoami(
        identity.user,
        identity.groups,
        identity.via,
        owner_of(identity),
        namespace,
        rights,
        sorted(await scopes.seen_namespaces(identity, "workerpools")),
    )
