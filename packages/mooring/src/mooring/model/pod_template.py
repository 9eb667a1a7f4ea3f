"""A PodTemplate: what the owner of a Warmup, a Submission or a ManagedService adds to the pods that Mooring makes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from hawser.quantity import parse_quantity
from mooring.model import command_checks
from mooring.model.errors import InvalidInput
from mooring.model.names import NODE_POOL_LABELS, OWN_PREFIX
from mooring.model.placement import Placement

RawObject = dict[str, Any]

FIELD = "spec.podTemplate"
# Volumes and paths of Mooring begin like this, so that what an owner adds cannot meet them.
OWN_VOLUMES = "mooring-"
OWN_PATH = "/mooring"
RESERVED_PREFIXES = (OWN_PREFIX, "batch.kubernetes.io/")
RESERVED_KEYS = frozenset({"job-name", "controller-uid", "pod-template-hash"})  # set by Kubernetes' controllers
_LONGEST_GRACE_SECONDS = 86_400
_TEXTS_OF_TOLERATIONS = ("key", "operator", "value", "effect")
_VOLUME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


class PodTemplate(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Fields have the names and shapes of a pod. Those of a container are for every container of the pod."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    service_account_name: str = ""
    automount_service_account_token: bool | None = None
    volumes: tuple[RawObject, ...] = ()
    volume_mounts: tuple[RawObject, ...] = ()
    env_from: tuple[RawObject, ...] = ()
    resources: RawObject = {}
    image_pull_policy: Literal["", "Always", "IfNotPresent", "Never"] = ""
    image_pull_secrets: tuple[RawObject, ...] = ()
    security_context: RawObject = {}
    container_security_context: RawObject = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[RawObject, ...] = ()
    affinity: RawObject = {}
    topology_spread_constraints: tuple[RawObject, ...] = ()
    priority_class_name: str = ""
    runtime_class_name: str = ""
    termination_grace_period_seconds: int | None = None
    host_aliases: tuple[RawObject, ...] = ()
    dns_policy: Literal["", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] = ""
    dns_config: RawObject = {}

    def without_volumes(self) -> "PodTemplate":
        """For a pod that must run although what its volumes and variables come from may be gone."""
        return msgspec.structs.replace(self, volumes=(), volume_mounts=(), env_from=())

    def placement(self, placement: Placement) -> Placement:
        """A placement with the template's selector and tolerations added."""
        if not self.node_selector and not self.tolerations:
            return placement
        return msgspec.structs.replace(
            placement,
            node_selector={**self.node_selector, **placement.node_selector},
            tolerations=[*placement.tolerations, *self.tolerations],
        )


@dataclass(frozen=True, slots=True)
class SiblingFields:
    """The fields beside `podTemplate` that are about the same pod."""

    placement: Placement = field(default_factory=Placement)
    service_account: str = ""
    resources: Mapping[str, Any] = field(default_factory=dict)
    volumes: tuple[RawObject, ...] = ()
    volume_mounts: tuple[RawObject, ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)  # mount paths in use, each with the field that sets it
    node_is_chosen: bool = False  # Mooring pins each pod to a node


def check_pod_template(template: PodTemplate, siblings: SiblingFields) -> Iterator[InvalidInput]:
    """All errors and conflicts, each with its field, the value and what is allowed."""
    yield from check_keys(f"{FIELD}.labels", template.labels)
    for key, value in template.labels.items():
        if not LABEL_VALUE.fullmatch(value):
            yield InvalidInput(
                f"{FIELD}.labels[{key}]", value, "a label's value: at most 63 letters, digits, - _ and ."
            )
    yield from check_keys(f"{FIELD}.annotations", template.annotations)
    yield from _check_account(template.service_account_name, siblings.service_account)
    yield from _check_volumes(template, siblings)
    yield from check_resources(f"{FIELD}.resources", template.resources)
    if template.resources and siblings.resources and template.resources != siblings.resources:
        expected = "left out: spec.resources is set, too, and differs"
        yield InvalidInput(f"{FIELD}.resources", template.resources, expected)
    for index, secret in enumerate(template.image_pull_secrets):
        place, name = f"{FIELD}.imagePullSecrets[{index}].name", secret.get("name")
        if not isinstance(name, str):
            yield InvalidInput(place, name, "the name of a Secret")
        else:
            yield from command_checks.check_name(place, name)
    yield from _check_scheduling(template, siblings)
    grace = template.termination_grace_period_seconds
    if grace is not None and not 0 <= grace <= _LONGEST_GRACE_SECONDS:
        yield InvalidInput(f"{FIELD}.terminationGracePeriodSeconds", grace, f"between 0 and {_LONGEST_GRACE_SECONDS}")


def check_keys(place: str, entries: Mapping[str, str]) -> Iterator[InvalidInput]:
    """Keys of labels or annotations: well formed, and none that Mooring or Kubernetes sets itself."""
    for key, value in entries.items():
        if key.startswith(RESERVED_PREFIXES) or key in RESERVED_KEYS:
            yield InvalidInput(f"{place}[{key}]", value, "left out: Mooring or Kubernetes sets that key itself")
        elif not LABEL_KEY.fullmatch(key):
            yield InvalidInput(place, key, "a key such as app or example.com/team")


def check_resources(place: str, resources: Mapping[str, Any]) -> Iterator[InvalidInput]:
    """Requests and limits, as in a container."""
    for part, amounts in resources.items():
        inside = f"{place}.{part}"
        if part == "claims":
            continue
        if part not in ("requests", "limits"):
            yield InvalidInput(inside, amounts, "requests, limits or claims, as in a pod")
        elif not isinstance(amounts, dict):
            yield InvalidInput(inside, amounts, 'an object, such as {"cpu": "500m", "memory": "1Gi"}')
        else:
            for name, amount in amounts.items():
                yield from _check_amount(f"{inside}.{name}", amount)


def check_tolerations(place: str, tolerations: tuple[RawObject, ...] | list[RawObject]) -> Iterator[InvalidInput]:
    """The texts of tolerations; the rest is judged by the API server."""
    for index, toleration in enumerate(tolerations):
        for name in _TEXTS_OF_TOLERATIONS:
            if not isinstance(toleration.get(name, ""), str):
                yield InvalidInput(f"{place}[{index}].{name}", toleration[name], "text")


def _check_account(name: str, other: str) -> Iterator[InvalidInput]:
    place = f"{FIELD}.serviceAccountName"
    if name and other and name != other:
        yield InvalidInput(place, name, f"{other!r}, as spec.serviceAccount is, or only one of the two")
    elif name:
        yield from command_checks.check_name(place, name)


def _check_volumes(template: PodTemplate, siblings: SiblingFields) -> Iterator[InvalidInput]:
    taken = {volume.get("name"): f"spec.volumes[{index}]" for index, volume in enumerate(siblings.volumes)}
    for index, volume in enumerate(template.volumes):
        place, name = f"{FIELD}.volumes[{index}].name", volume.get("name")
        if not isinstance(name, str) or not _VOLUME.fullmatch(name):
            yield InvalidInput(place, name, "the name of a volume: at most 63 lower case letters, digits and -")
        elif name.startswith(OWN_VOLUMES):
            yield InvalidInput(place, name, f"another name: volumes that begin with {OWN_VOLUMES} are Mooring's own")
        elif name in taken:
            yield InvalidInput(place, name, f"another name: {taken[name]} has this one")
        taken.setdefault(name, f"{FIELD}.volumes[{index}]")
    used = dict(siblings.paths)
    for index, mount in enumerate(siblings.volume_mounts):
        used.setdefault(_plain(str(mount.get("mountPath"))), f"spec.volumeMounts[{index}]")
    for index, mount in enumerate(template.volume_mounts):
        place = f"{FIELD}.volumeMounts[{index}]"
        if mount.get("name") not in taken:
            yield InvalidInput(f"{place}.name", mount.get("name"), f"the name of a volume in {FIELD}.volumes")
        yield from _check_path(f"{place}.mountPath", mount.get("mountPath"), used, siblings.paths)
        used.setdefault(_plain(str(mount.get("mountPath"))), place)


def _check_path(
    place: str, path: object, used: Mapping[str, str], protected: Mapping[str, str]
) -> Iterator[InvalidInput]:
    if not isinstance(path, str) or not path.startswith("/") or ":" in path:
        yield InvalidInput(place, path, "an absolute path without colons")
        return
    plain = _plain(path)
    inside = next((taken for taken in (OWN_PATH, *protected) if plain == taken or plain.startswith(f"{taken}/")), "")
    if inside:
        holder = protected.get(inside, "Mooring")
        yield InvalidInput(place, path, f"another path: {inside} belongs to {holder}")
    elif plain in used:
        yield InvalidInput(place, path, f"another path: {used[plain]} has this one")


def check_selector(
    template: PodTemplate, placement: Placement, where: str = "spec.placement"
) -> Iterator[InvalidInput]:
    """Labels of nodes on which the template and a placement disagree: no node could have both."""
    for key, value in template.node_selector.items():
        place = f"{FIELD}.nodeSelector[{key}]"
        wanted = placement.node_selector.get(key, value)
        if wanted != value:
            yield InvalidInput(place, value, f"{wanted!r}, as {where}.nodeSelector is, or left out")
        elif placement.node_pool and key in NODE_POOL_LABELS and value != placement.node_pool:
            yield InvalidInput(place, value, f"{placement.node_pool!r}, as {where}.nodePool is, or left out")


def _check_scheduling(template: PodTemplate, siblings: SiblingFields) -> Iterator[InvalidInput]:
    yield from check_selector(template, siblings.placement)
    yield from check_tolerations(f"{FIELD}.tolerations", template.tolerations)
    if siblings.node_is_chosen:
        why = "left out: Mooring chooses the node of each shard; use nodeSelector, or spec.placement"
        if template.affinity:
            yield InvalidInput(f"{FIELD}.affinity", template.affinity, why)
        if template.topology_spread_constraints:
            place = f"{FIELD}.topologySpreadConstraints"
            yield InvalidInput(place, list(template.topology_spread_constraints), why)


def _check_amount(place: str, amount: object) -> Iterator[InvalidInput]:
    known = isinstance(amount, str | int | float) and not isinstance(amount, bool)
    try:
        if known and parse_quantity(amount, place) >= 0:
            return
    except InvalidInput as error:
        yield error
        return
    yield InvalidInput(place, amount, 'a quantity such as "500m", "2" or "1.5Gi", and not negative')


def _plain(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))
