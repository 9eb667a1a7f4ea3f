"""Installation of Mooring's own kinds, of the roles of its callers and of its policy, in a cluster."""

from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.resources import CLUSTERROLES, CRDS, PRIORITYCLASSES
from mooring.kinds import load_crds
from mooring.kinds.caller_roles import caller_roles
from mooring.kinds.headroom_class import headroom_class
from mooring.kinds.marks_policy import BINDINGS, POLICIES, marks_policy
from mooring.kinds.release import Release
from mooring.model.errors import Unavailable

FIELD_MANAGER = "mooring-install"
_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.2


async def install_crds(client: KubeClient, clock: Clock) -> None:
    """Apply all four definitions, and wait until the cluster serves them."""
    names = []
    for crd in load_crds():
        await client.apply(CRDS, crd, field_manager=FIELD_MANAGER, force=True)
        names.append(crd["metadata"]["name"])
    deadline = clock.monotonic() + _WAIT_SECONDS
    for name in names:
        while not await _established(client, name):
            if clock.monotonic() > deadline:
                raise Unavailable(
                    f"the cluster does not serve {name} after {_WAIT_SECONDS:.0f} s", fix=f"kubectl describe crd {name}"
                )
            await clock.sleep(_POLL_SECONDS)


async def install_caller_roles(client: KubeClient) -> None:
    """The ClusterRoles that the documents and every refusal name."""
    for role in caller_roles():
        await client.apply(CLUSTERROLES, role, field_manager=FIELD_MANAGER, force=True)


async def install_headroom_class(client: KubeClient) -> None:
    """The PriorityClass that placeholder pods have unless their pool names another."""
    await client.apply(PRIORITYCLASSES, headroom_class(), field_manager=FIELD_MANAGER, force=True)


async def install_marks_policy(client: KubeClient, release: Release) -> None:
    """The policy that keeps marks to the account of this release, and its binding."""
    for resource, body in zip((POLICIES, BINDINGS), marks_policy(release), strict=True):
        await client.apply(resource, body, field_manager=FIELD_MANAGER, force=True)


async def _established(client: KubeClient, name: str) -> bool:
    crd = await client.get(CRDS.raw(), name)
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)
