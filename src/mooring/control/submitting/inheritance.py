"""The environment of a running Deployment, copied by prefix: what comes from a Secret stays a reference."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mooring.kube.client import KubeClient
from mooring.kube.errors import KubeError, ObjectNotFound
from mooring.kube.resources import DEPLOYMENTS
from mooring.model.submission import InheritEnv

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Inherited:
    """The variables to copy; or what is wrong (`problem`), where None means that it could not be read."""

    variables: tuple[Body, ...] = ()
    problem: str | None = ""


async def read_inheritance(client: KubeClient, namespace: str, inherit: InheritEnv | None) -> Inherited:
    """Look at the Deployment as it is now."""
    if inherit is None:
        return Inherited()
    try:
        deployment = await client.get(DEPLOYMENTS.raw(), inherit.deployment, namespace)
    except ObjectNotFound:
        return Inherited(problem=f"there is no Deployment {inherit.deployment}")
    except KubeError:
        return Inherited(problem=None)
    if not (deployment.get("status") or {}).get("availableReplicas"):
        return Inherited(problem=f"the Deployment {inherit.deployment} has no available replica")
    found = {str(variable["name"]): variable for variable in _variables(deployment, inherit.prefixes)}
    if not found:
        listed = ", ".join(inherit.prefixes)
        return Inherited(problem=f"the Deployment {inherit.deployment} has no variable that begins with {listed}")
    return Inherited(tuple(found.values()))


def _variables(deployment: Body, prefixes: tuple[str, ...]) -> Iterator[Body]:
    """`envFrom` is left out: what a whole Secret holds cannot be told by prefix without reading it."""
    containers = deployment["spec"]["template"]["spec"].get("containers") or ()
    for container in containers:
        for variable in container.get("env") or ():
            if str(variable.get("name", "")).startswith(prefixes):
                kept = {key: variable[key] for key in ("name", "value", "valueFrom") if key in variable}
                yield kept
