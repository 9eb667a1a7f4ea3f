"""The environment of a running Deployment, copied by prefix: Secrets and ConfigMaps stay references."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hawser.client import KubeClient
from hawser.errors import KubeError, ObjectNotFound
from hawser.resources import CONFIGMAPS, DEPLOYMENTS
from mooring.model.submission import InheritEnv

Body = dict[str, Any]


class _Missing(Exception):
    """A ConfigMap that the Deployment's own pods could not start without."""


@dataclass(frozen=True, slots=True)
class Inherited:
    """The variables to copy; or what is wrong (`problem`), where None means that it could not be read.

    `left_out` are Secrets that are taken as a whole: only their contents show which variables they have.
    """

    variables: tuple[Body, ...] = ()
    problem: str | None = ""
    left_out: tuple[str, ...] = ()


async def read_inheritance(client: KubeClient, namespace: str, inherit: InheritEnv | None) -> Inherited:
    """Look at the Deployment as it is now."""
    if inherit is None:
        return Inherited()
    try:
        deployment = await client.get(DEPLOYMENTS.raw(), inherit.deployment, namespace)
        if not (deployment.get("status") or {}).get("availableReplicas"):
            return Inherited(problem=f"the Deployment {inherit.deployment} has no available replica")
        containers = deployment["spec"]["template"]["spec"].get("containers") or ()
        found = await _Reading(client, namespace, inherit.prefixes).read(containers)
    except ObjectNotFound:
        return Inherited(problem=f"there is no Deployment {inherit.deployment}")
    except _Missing as error:
        return Inherited(
            problem=f"the Deployment {inherit.deployment} takes variables from {error}, which is not there"
        )
    except KubeError:
        return Inherited(problem=None)
    if not found.variables:
        listed = ", ".join(inherit.prefixes)
        problem = f"the Deployment {inherit.deployment} has no variable that begins with {listed}"
        return Inherited(problem=problem, left_out=found.left_out)
    return found


class _Reading:
    """One look at the containers of a Deployment; of two variables with one name the later counts, as in a pod."""

    def __init__(self, client: KubeClient, namespace: str, prefixes: tuple[str, ...]) -> None:
        self._client = client
        self._namespace = namespace
        self._prefixes = prefixes

    async def read(self, containers: Sequence[Body]) -> Inherited:
        found: dict[str, Body] = {}
        left_out: dict[str, None] = {}
        for container in containers:
            for source in container.get("envFrom") or ():
                if secret := (source.get("secretRef") or {}).get("name"):
                    if self._may_match(source.get("prefix") or ""):
                        left_out[secret] = None
                    continue
                found.update({variable["name"]: variable for variable in await self._of_config_map(source)})
            found.update({variable["name"]: variable for variable in self._own(container)})
        return Inherited(tuple(found.values()), left_out=tuple(left_out))

    def _own(self, container: Body) -> Iterator[Body]:
        for variable in container.get("env") or ():
            if str(variable.get("name", "")).startswith(self._prefixes):
                yield {key: variable[key] for key in ("name", "value", "valueFrom") if key in variable}

    async def _of_config_map(self, source: Body) -> list[Body]:
        """Every key whose variable has one of the prefixes, as a reference to that key."""
        reference, before = source.get("configMapRef") or {}, source.get("prefix") or ""
        name, optional = reference.get("name"), bool(reference.get("optional"))
        if not name or not self._may_match(before):
            return []
        try:
            held = await self._client.get(CONFIGMAPS, name, self._namespace)
        except ObjectNotFound:
            if optional:
                return []
            raise _Missing(f"the ConfigMap {name}") from None
        wanted = [key for key in sorted(held.data) if f"{before}{key}".startswith(self._prefixes)]
        return [
            {
                "name": f"{before}{key}",
                "valueFrom": {
                    "configMapKeyRef": {"name": name, "key": key, **({"optional": True} if optional else {})}
                },
            }
            for key in wanted
        ]

    def _may_match(self, before: str) -> bool:
        """Whether variables that begin so can have one of the prefixes."""
        return any(before.startswith(prefix) or prefix.startswith(before) for prefix in self._prefixes)
