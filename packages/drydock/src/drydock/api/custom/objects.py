"""The rules of custom objects: pruned, defaulted and validated by the schema of their definition."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from drydock.api.answers import causes
from drydock.api.answers.status import Cause
from drydock.api.cel.rules import has_rules, rule_errors
from drydock.api.kinds.kind import Context, Object
from drydock.api.schema.constraints import ABSENT, type_errors
from drydock.api.schema.defaulting import apply_defaults
from drydock.api.schema.pruning import prune
from drydock.api.schema.shape import Schema

_STOPS_RULES = ("FieldValueRequired", "FieldValueTypeInvalid", "FieldValueTooLong", "FieldValueTooMany")
_RULES_SKIPPED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete"
    " validation"
)
_MOST_REPLICAS = 2**31 - 1
_GO_TYPES: dict[type, str] = {
    str: "string",
    float: "float64",
    bool: "bool",
    int: "int64",
    list: "[]interface {}",
    type(None): "<nil>",
}


class CustomStrategy:
    """The strategy of one version of a custom kind."""

    def __init__(self, schema: Schema, *, has_status: bool, replicas_path: str) -> None:
        self._schema = schema
        self._has_status = has_status
        self._replicas_path = replicas_path

    def prepare_create(self, new: Object, context: Context) -> None:
        if self._has_status:
            new.pop("status", None)
        self._fill(new)

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return self._validate(new, None)

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        self._fill(new)
        if subresource == "status":
            for key in (new.keys() | old.keys()) - {"status", "metadata", "apiVersion", "kind"}:
                _keep(key, new, old)
            _keep_metadata(new, old)
        elif self._has_status:
            _keep("status", new, old)

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        return self._validate(new, old)

    def _fill(self, new: Object) -> None:
        prune(self._schema, new)
        apply_defaults(self._schema, new)

    def _validate(self, new: Object, old: Object | None) -> list[Cause]:
        wrong = type_errors(self._schema, new, ABSENT if old is None else old)
        wrong += self._replica_errors(new)
        if any(cause.reason in _STOPS_RULES for cause in wrong):
            return [*wrong, causes.invalid("<nil>", None, _RULES_SKIPPED)] if has_rules(self._schema) else wrong
        return wrong + rule_errors(self._schema, new, old)

    def _replica_errors(self, new: Object) -> Iterator[Cause]:
        path = self._replicas_path
        value: Any = new
        for part in path.removeprefix(".").split(".") if path else ():
            if not isinstance(value, dict):
                yield _accessor_error(path, value, "map[string]interface{}")
                return
            if part not in value:
                return
            value = value[part]
        if not path:
            return
        if type(value) is not int:
            yield _accessor_error(path, value, "int64")
        elif value < 0:
            yield causes.invalid(path, value, "should be a non-negative integer")
        elif value > _MOST_REPLICAS:
            yield causes.invalid(path, value, f"should be less than or equal to {_MOST_REPLICAS}")


def _accessor_error(path: str, value: Any, expected: str) -> Cause:
    go_type = _GO_TYPES.get(type(value), "map[string]interface {}")
    shown = value if isinstance(value, str) else causes.show(value).removesuffix(".0")
    return causes.invalid(path, 0, f"{path} accessor error: {shown} is of the type {go_type}, expected {expected}")


def _keep(key: str, new: Object, old: Object) -> None:
    if key in old:
        new[key] = deepcopy(old[key])
    else:
        new.pop(key, None)


def _keep_metadata(new: Object, old: Object) -> None:
    """A status update changes nothing of the metadata but who manages which fields."""
    kept = deepcopy(old["metadata"])
    if managed := new["metadata"].get("managedFields"):
        kept["managedFields"] = managed
    new["metadata"] = kept
