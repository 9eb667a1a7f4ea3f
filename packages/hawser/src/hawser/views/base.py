"""What every view is built on: a frozen struct that reads only the fields it names.

A view is for reading. Writing goes out as plain dicts, so that a field no view knows is never lost.
"""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

# Aware datetimes: decoded in C, and smaller than the text they come from.
Time = Annotated[datetime, msgspec.Meta(tz=True)]

UNDATED = datetime(2200, 1, 1, tzinfo=UTC)

_ACRONYMS = {"ip": "IP", "ips": "IPs", "id": "ID", "uid": "UID", "cidr": "CIDR"}


def wire_name(attribute: str) -> str:
    """`pod_ip` is `podIP` on the wire: camel case with Kubernetes' own acronyms."""
    first, *rest = attribute.split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in rest)


class View(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename=wire_name):
    """A part of an object. Untracked by the garbage collector: what is decoded from JSON holds no cycles."""


class OwnerReference(View, frozen=True):
    """Who owns an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class Meta(View, frozen=True):
    """The metadata of every object, without managed fields."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Namespace and name, as queues and read models name an object."""
        return f"{self.namespace}/{self.name}"

    @property
    def version(self) -> int:
        """The resourceVersion as a number; 0 if it is not one."""
        return int(self.resource_version) if self.resource_version.isdecimal() else 0

    @property
    def created_at(self) -> datetime:
        """When it was created; what does not say so is never old enough for anything."""
        return self.creation_timestamp or UNDATED

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Object(View, frozen=True):
    """A whole object. `defects` names what the wire held in a shape the view cannot read; those fields have
    their defaults, so an object with defects must not be judged by them."""

    metadata: Meta = Meta()
    defects: tuple[str, ...] = msgspec.field(default=(), name="(defects)")

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class Condition(View, frozen=True):
    """One condition of a status. `status` is "True", "False" or "Unknown"."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    observed_generation: int = 0


def find_condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """The condition of that type, if it is there."""
    for condition in conditions:
        if condition.type == type_:
            return condition
    return None


def is_true(conditions: tuple[Condition, ...], type_: str) -> bool:
    """Whether the condition is there and "True"."""
    found = find_condition(conditions, type_)
    return found is not None and found.status == "True"


class LabelSelector(View, frozen=True):
    """Which labels an object must carry."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple["Requirement", ...] = ()


class Requirement(View, frozen=True):
    """One line of a selector. `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


def parse_time(text: str) -> datetime | None:
    """A Kubernetes time from a label, an annotation or a raw object; None when it is no time."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def format_time(moment: datetime) -> str:
    """The way objects carry times: UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(moment: datetime) -> str:
    """The way Leases carry times: UTC, microseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
