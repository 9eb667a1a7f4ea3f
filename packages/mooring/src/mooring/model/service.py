"""A ManagedService: its spec with validation, and its status."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from mooring.model.errors import InvalidInput
from mooring.model.evidence import Failure
from mooring.model.placement import Placement
from mooring.model.pod_template import PodTemplate, SiblingFields, check_keys, check_pod_template
from mooring.model.why import Condition, Why

Phase = Literal["", "Absent", "Starting", "Serving", "Failed", "Unknown"]


class ServiceSpec(msgspec.Struct, rename="camel", frozen=True):
    """`spec` of a ManagedService."""

    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    port: int = 0
    replicas: int = 1
    placement: Placement = msgspec.field(default_factory=Placement)
    openapi_path: str = "/openapi.json"
    env: tuple[dict[str, Any], ...] = ()
    expose: Literal["None", "ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    rollback: Literal["Never", "LastServing"] = "Never"
    pod_template: PodTemplate = msgspec.field(default_factory=PodTemplate)
    service_annotations: dict[str, str] = {}


class ServiceApi(msgspec.Struct, rename="camel", frozen=True):
    """The title and size of the service's API."""

    title: str = ""
    endpoints: int = 0


class ServiceRollout(msgspec.Struct, rename="camel", frozen=True):
    """The running image, the progress of its rollout, and the image that a rollback goes back to."""

    image: str = ""
    replicas: int = 0
    updated: int = 0
    ready: int = 0
    last_serving: str = ""  # the image that served last
    rolled_back_from: str = ""  # the image that was given up; tried again after another one was requested


class ServiceStatus(msgspec.Struct, rename="camel", frozen=True):
    """`status` of a ManagedService. `Serving` requires that the service answered with its document."""

    observed_generation: int = 0
    phase: Phase = ""
    reason: str = ""
    fix: str = ""
    url: str = ""
    api: ServiceApi | None = None
    rollout: ServiceRollout = ServiceRollout()
    failure: Failure | None = None
    conditions: tuple[Condition, ...] = ()


class Service(msgspec.Struct, frozen=True):
    """A ManagedService as the cluster has it."""

    namespace: str
    name: str
    uid: str
    generation: int
    spec: ServiceSpec
    status: ServiceStatus = ServiceStatus()
    terminating: bool = False
    defects: tuple[str, ...] = ()  # fields that could not be read
    created_at: datetime | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


def find_problems(service: Service) -> tuple[str, ...]:
    """Why the service must not be reconciled; empty if it may."""
    return (*service.defects, *(str(problem) for problem in check_service(service)))


def check_service(service: Service) -> list[InvalidInput]:
    """All errors of a spec, each with its field. The CRD's validation gives kubectl users most of them."""
    spec = service.spec
    problems: list[InvalidInput] = []
    if not _NAME.fullmatch(service.name):
        message = "a DNS label that begins with a letter: its Service gets the same name"
        problems.append(InvalidInput("metadata.name", service.name, message))
    if not spec.image.strip() or spec.image != spec.image.strip():
        problems.append(InvalidInput("spec.image", spec.image, "the name of an image"))
    if not 1 <= spec.port <= 65_535:
        problems.append(InvalidInput("spec.port", spec.port, "between 1 and 65535"))
    if not 0 <= spec.replicas <= 1_000:
        problems.append(InvalidInput("spec.replicas", spec.replicas, "between 0 and 1000"))
    if (
        not spec.openapi_path.startswith("/")
        or spec.openapi_path.startswith("//")
        or not spec.openapi_path.isprintable()
    ):
        problems.append(InvalidInput("spec.openapiPath", spec.openapi_path, "a path that begins with one /"))
    if spec.placement.node_pool and spec.placement.node_selector:
        message = "either nodePool or nodeSelector, not both"
        problems.append(InvalidInput("spec.placement", "nodePool and nodeSelector", message))
    problems += _check_env(spec.env)
    problems += check_pod_template(spec.pod_template, SiblingFields(spec.placement))
    problems += check_keys("spec.serviceAnnotations", spec.service_annotations)
    return problems


def _check_env(env: Sequence[Mapping[str, Any]]) -> list[InvalidInput]:
    problems = []
    seen: set[str] = set()
    for index, variable in enumerate(env):
        name = variable.get("name")
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            problems.append(InvalidInput(f"spec.env[{index}].name", name, "the name of a variable"))
        elif name in seen:
            problems.append(InvalidInput(f"spec.env[{index}].name", name, "named once"))
        else:
            seen.add(name)
    return problems


def explain_status(status: ServiceStatus, created_at: datetime | None) -> Why:
    """The "why" of a service from its status. Without a status it waits since its creation."""
    serving = next((condition for condition in status.conditions if condition.type == "Serving"), None)
    blockers = tuple(
        f"{condition.type}: {condition.message}"
        for condition in status.conditions
        if condition.status != "True" and condition.type not in ("Serving", "RolledBack")
    )
    since = (serving.since if serving else None) or created_at
    code = serving.reason if serving else "NotReconciled"
    return Why(code, status.reason or "not reconciled yet", since, blockers, fix=status.fix)
