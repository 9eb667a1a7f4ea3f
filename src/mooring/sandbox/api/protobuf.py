"""Request bodies in Kubernetes' protobuf, which kubectl insists on for some of its commands; only for small kinds.

`kubectl drain`, `auth`, `create token|configmap|secret|namespace|role...` speak it and know no other way.
Kinds that hold pod templates are not here: `kubectl apply` sends those as JSON.
"""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mooring.sandbox.api.status import Refusal

MAGIC = b"k8s\x00"

# Each field is `number name:type`. No type is a string; `?` keeps what is empty, because its absence means something
# else; `[]` and `{}` are lists and maps, of strings unless they say of what.
_OBJECT = "1 metadata:ObjectMeta"
_NOTATION = {
    "ObjectMeta": "1 name 2 generateName 3 namespace 5 uid 6 resourceVersion 11 labels:{} 12 annotations:{}"
    " 13 ownerReferences:[OwnerReference] 14 finalizers:[]",
    "OwnerReference": "1 kind 3 name 4 uid 5 apiVersion 6 controller:bool? 7 blockOwnerDeletion:bool?",
    "DeleteOptions": "1 gracePeriodSeconds:int? 2 preconditions:Preconditions 3 orphanDependents:bool?"
    " 4 propagationPolicy 5 dryRun:[]",
    "Preconditions": "1 uid:? 2 resourceVersion:?",
    "LabelSelector": "1 matchLabels:{} 2 matchExpressions:[LabelSelectorRequirement]",
    "LabelSelectorRequirement": "1 key 2 operator 3 values:[]",
    "Quantity": "1 string",
    "IntOrString": "1 type:int 2 intVal:int? 3 strVal:?",
    "ConfigMap": f"{_OBJECT} 2 data:{{}} 3 binaryData:{{bytes}} 4 immutable:bool?",
    "Secret": f"{_OBJECT} 2 data:{{bytes}} 3 type 4 stringData:{{}} 5 immutable:bool?",
    "Namespace": f"{_OBJECT} 2 spec:NamespaceSpec",
    "NamespaceSpec": "1 finalizers:[]",
    "ServiceAccount": f"{_OBJECT} 2 secrets:[ObjectReference] 3 imagePullSecrets:[LocalObjectReference]"
    " 4 automountServiceAccountToken:bool?",
    "LocalObjectReference": "1 name",
    "ObjectReference": "1 kind 2 namespace 3 name 4 uid 5 apiVersion 6 resourceVersion 7 fieldPath",
    "ResourceQuota": f"{_OBJECT} 2 spec:ResourceQuotaSpec",
    "ResourceQuotaSpec": "1 hard:{Quantity} 2 scopes:[]",
    "Binding": f"{_OBJECT} 2 target:ObjectReference",
    "Eviction": f"{_OBJECT} 2 deleteOptions:DeleteOptions",
    "PodDisruptionBudget": f"{_OBJECT} 2 spec:PodDisruptionBudgetSpec",
    "PodDisruptionBudgetSpec": "1 minAvailable:IntOrString 2 selector:LabelSelector 3 maxUnavailable:IntOrString"
    " 4 unhealthyPodEvictionPolicy",
    "TokenRequest": f"{_OBJECT} 2 spec:TokenRequestSpec",
    "TokenRequestSpec": "1 audiences:[] 3 boundObjectRef:BoundObjectReference 4 expirationSeconds:int?",
    "BoundObjectReference": "1 kind 2 apiVersion 3 name 4 uid",
    "TokenReview": f"{_OBJECT} 2 spec:TokenReviewSpec",
    "TokenReviewSpec": "1 token 2 audiences:[]",
    "SelfSubjectReview": _OBJECT,
    "SelfSubjectAccessReview": f"{_OBJECT} 2 spec:SubjectAccessReviewSpec",
    "SubjectAccessReview": f"{_OBJECT} 2 spec:SubjectAccessReviewSpec",
    "LocalSubjectAccessReview": f"{_OBJECT} 2 spec:SubjectAccessReviewSpec",
    "SubjectAccessReviewSpec": "1 resourceAttributes:ResourceAttributes 2 nonResourceAttributes:NonResourceAttributes"
    " 3 user 4 groups:[] 6 uid",
    "ResourceAttributes": "1 namespace 2 verb 3 group 4 version 5 resource 6 subresource 7 name",
    "NonResourceAttributes": "1 path 2 verb",
    "SelfSubjectRulesReview": f"{_OBJECT} 2 spec:SelfSubjectRulesReviewSpec",
    "SelfSubjectRulesReviewSpec": "1 namespace",
    "Role": f"{_OBJECT} 2 rules:[PolicyRule]",
    "ClusterRole": f"{_OBJECT} 2 rules:[PolicyRule] 3 aggregationRule:AggregationRule",
    "RoleBinding": f"{_OBJECT} 2 subjects:[Subject] 3 roleRef:RoleRef",
    "ClusterRoleBinding": f"{_OBJECT} 2 subjects:[Subject] 3 roleRef:RoleRef",
    "PolicyRule": "1 verbs:[] 2 apiGroups:[] 3 resources:[] 4 resourceNames:[] 5 nonResourceURLs:[]",
    "Subject": "1 kind 2 apiGroup 3 name 4 namespace",
    "RoleRef": "1 apiGroup 2 kind 3 name",
    "AggregationRule": "1 clusterRoleSelectors:[LabelSelector]",
    "PriorityClass": f"{_OBJECT} 2 value:int 3 globalDefault:bool 4 description 5 preemptionPolicy:?",
    "TypeMeta": "1 apiVersion 2 kind",
}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: str


def _parse(notation: str) -> dict[int, _Field]:
    words = notation.split()
    fields = {}
    for number, named in zip(words[::2], words[1::2], strict=True):
        name, _, type_ = named.partition(":")
        fields[int(number)] = _Field(name, type_)
    return fields


_MESSAGES = {name: _parse(notation) for name, notation in _NOTATION.items()}
_KINDS = {name for name, notation in _NOTATION.items() if notation.startswith(_OBJECT)} | {"DeleteOptions"}


def decode_protobuf(body: bytes) -> dict[str, Any]:
    """The object in a body, as JSON has it; 400 when it is broken, 415 when its kind is not among those known."""
    if not body.startswith(MAGIC):
        raise Refusal(400, "BadRequest", "provided data does not appear to be a protobuf message")
    try:
        parts = dict(_split(body[len(MAGIC) :]))
        kind = _message("TypeMeta", parts.get(1, b""))
        name = kind.get("kind", "")
        if name not in _KINDS:
            told = (
                f"the body of the request was in an unknown format: {name or 'this'} can only be read as JSON or YAML"
            )
            raise Refusal(415, "UnsupportedMediaType", told)
        return {**kind, **_message(name, parts.get(2, b""))}
    except (IndexError, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise Refusal(400, "BadRequest", f"the protobuf message cannot be read: {error}") from error


def _split(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: their numbers and raw values."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        match key & 7:
            case 0:
                value, position = _varint(data, position)
                yield key >> 3, value
            case 2:
                length, position = _varint(data, position)
                if position + length > len(data):
                    raise IndexError("a field is longer than its message")
                yield key >> 3, data[position : position + length]
                position += length
            case wire_type:
                raise TypeError(f"wire type {wire_type} is not used here")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _message(name: str, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, raw in _split(data):
        field = _MESSAGES[name].get(number)
        if field is not None:
            _take(found, field, raw)
    return found


def _take(found: dict[str, Any], field: _Field, raw: Any) -> None:
    """Add one raw value to what has been found so far."""
    type_ = field.type
    if type_.startswith("["):
        found.setdefault(field.name, []).append(_value(type_.strip("[]"), raw))
    elif type_.startswith("{"):
        entry = dict(_split(raw))
        found.setdefault(field.name, {})[entry.get(1, b"").decode()] = _value(type_.strip("{}"), entry.get(2, b""))
    else:
        value = _value(type_.removesuffix("?"), raw)
        if value or type_.endswith("?") or type_ in _MESSAGES:
            found[field.name] = value


def _value(type_: str, raw: Any) -> Any:
    read = _READERS.get(type_)
    return read(raw) if read else _message(type_, raw)


def _integer(raw: int) -> int:
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _int_or_string(raw: bytes) -> int | str:
    parts = _message("IntOrString", raw)
    chosen: int | str = parts.get("strVal", "") if parts.get("type") else parts.get("intVal", 0)
    return chosen


_READERS: dict[str, Callable[[Any], Any]] = {
    "": lambda raw: raw.decode(),
    "int": _integer,
    "bool": bool,
    "bytes": lambda raw: base64.b64encode(raw).decode(),
    "Quantity": lambda raw: _message("Quantity", raw).get("string", "0"),
    "IntOrString": _int_or_string,
}
