"""A request to create or change a pool, read from a manifest or from the fields of a form."""

from typing import Any

import msgspec

from mooring.model import command_checks, names
from mooring.model.errors import InvalidInput
from mooring.model.pool import PoolSpec, check_spec
from mooring.model.unreadable import explain_unreadable

KIND = "WorkerPool"
_ENVELOPE = ("apiVersion", "kind", "metadata", "spec", "status")
_MOST_PROBLEMS = 20

Json = dict[str, Any]


class PoolOrder(msgspec.Struct, frozen=True):
    """A valid order. `body` is the spec as it was sent: a field that is left out gets its default."""

    namespace: str
    name: str
    spec: PoolSpec
    body: Json
    uid: str = ""  # if it is given, only the pool with this uid is changed

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


def read_pool_order(namespace: str, name: str, sent: object) -> PoolOrder:
    """The order, or `InvalidInput` for its first problem; `detail.problems` has all of them."""
    metadata, body = _open(sent)
    problems = [
        *command_checks.check_name("namespace", namespace),
        *command_checks.check_name("metadata.name", name),
        *(
            InvalidInput(f"metadata.{field}", metadata.get(field), f"{expected!r}, as in the path")
            for field, expected in (("name", name), ("namespace", namespace))
            if metadata.get(field) not in (None, "", expected)
        ),
    ]
    known = {field.encode_name for field in msgspec.structs.fields(PoolSpec)}
    problems += [InvalidInput(f"spec.{field}", body[field], "a known field") for field in body if field not in known]
    spec = PoolSpec()
    try:
        spec = msgspec.convert(body, PoolSpec)
    except msgspec.ValidationError as error:
        problems.append(explain_unreadable("spec", error, PoolSpec))
    else:
        problems += check_spec(spec)
    if problems:
        first = problems[0]
        first.detail["problems"] = [str(problem) for problem in problems[:_MOST_PROBLEMS]]
        raise first
    return PoolOrder(namespace, name, spec, body, str(metadata.get("uid") or ""))


def _open(sent: object) -> tuple[Json, Json]:
    """Metadata and spec of a manifest; a body without any part of a manifest is a spec."""
    if not isinstance(sent, dict):
        raise InvalidInput("body", sent, f"an object: the spec of a {KIND}, or a whole manifest")
    if not any(field in sent for field in _ENVELOPE):
        return {}, sent
    for field, expected in (("apiVersion", names.API_VERSION), ("kind", KIND)):
        if sent.get(field, expected) != expected:
            raise InvalidInput(field, sent[field], expected)
    metadata, spec = sent.get("metadata") or {}, sent.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        raise InvalidInput("spec", spec, f"the spec of a {KIND}")
    return metadata, spec
