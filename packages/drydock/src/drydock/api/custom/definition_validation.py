"""What is wrong with a CustomResourceDefinition."""

import re
from collections.abc import Iterator
from typing import Any

from drydock.api.answers import causes
from drydock.api.answers.status import Cause
from drydock.api.kinds.kind import Object
from drydock.api.printing.jsonpath import JsonPathError, parse_path
from drydock.api.schema.shape import Schema
from drydock.api.schema.structural import root_schema
from drydock.api.schema.structural_rules import schema_errors

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
_PRESERVE = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"


def definition_errors(definition: Object) -> list[Cause]:
    """Everything wrong with a new definition."""
    return list(_definition(definition, definition.get("spec") or {}))


def change_errors(new: Object, old: Object) -> list[Cause]:
    """Everything wrong with a changed definition."""
    return [*_immutable(new, old), *definition_errors(new), *_stored_versions(new)]


def _definition(definition: Object, spec: Object) -> Iterator[Cause]:
    names = spec.get("names") or {}
    name = definition["metadata"].get("name", "")
    if name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        yield causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _group(definition, spec.get("group", ""))
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        yield causes.not_supported("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    yield from _names(names)
    if spec.get("preserveUnknownFields"):
        yield causes.invalid("spec.preserveUnknownFields", True, _PRESERVE)
    yield from _versions(spec.get("versions") or [])
    if (strategy := (spec.get("conversion") or {}).get("strategy", "None")) != "None":
        # kube-apiserver also has Webhook; here is nobody who would call it.
        yield causes.not_supported("spec.conversion.strategy", strategy, ("None",))


def _group(definition: Object, group: str) -> Iterator[Cause]:
    if not group:
        yield causes.required("spec.group")
    elif not _SUBDOMAIN.fullmatch(group):
        yield causes.invalid("spec.group", group, "a lowercase RFC 1123 subdomain is required")
    elif "." not in group:
        yield causes.invalid("spec.group", group, "should be a domain with at least one dot")
    annotations = definition["metadata"].get("annotations") or {}
    if _PROTECTED.fullmatch(group) and _APPROVAL not in annotations:
        detail = (
            f'protected groups must have approval annotation "{_APPROVAL}", see'
            " https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield causes.required(f"metadata.annotations[{_APPROVAL}]", detail)


def _names(names: Object) -> Iterator[Cause]:
    for field in ("plural", "singular", "kind", "listKind"):
        value = names.get(field, "")
        mixed_case = field in ("kind", "listKind")
        if not value:
            yield causes.required(f"spec.names.{field}")
        elif not _LABEL.fullmatch(value.lower() if mixed_case else value):
            prefix = "may have mixed case, but should otherwise match: " if mixed_case else ""
            yield causes.invalid(f"spec.names.{field}", value, f"{prefix}{_LABEL_RULE}")
    for field in ("shortNames", "categories"):
        for index, value in enumerate(names.get(field) or ()):
            if not _LABEL.fullmatch(value):
                yield causes.invalid(f"spec.names.{field}[{index}]", value, _LABEL_RULE)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield causes.invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")


def _versions(versions: list[Object]) -> Iterator[Cause]:
    named = [version.get("name", "") for version in versions]
    shown = [{"Name": version.get("name"), "Storage": version.get("storage", False)} for version in versions]
    if len(set(named)) != len(named):
        yield causes.invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield causes.invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    if not any(version.get("storage") for version in versions):
        yield causes.invalid("status.storedVersions", None, "must have at least one stored version")
    for index, version in enumerate(versions):
        here = f"spec.versions[{index}]"
        if not _LABEL.fullmatch(version.get("name", "")):
            yield causes.invalid(f"{here}.name", version.get("name", ""), _LABEL_RULE)
        # A single version is reported as kube-apiserver stores it: without its place in the list.
        alone = len(versions) == 1
        yield from _version(version, here, "spec" if alone else here, "validation" if alone else "schema")


def _version(version: Object, here: str, prefix: str, schema_field: str) -> Iterator[Cause]:
    declared = (version.get("schema") or {}).get("openAPIV3Schema")
    if not declared:
        yield causes.required(f"{here}.schema.openAPIV3Schema")
        return
    wrong = schema_errors(declared, f"{prefix}.{schema_field}.openAPIV3Schema")
    yield from wrong
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column(column, f"{prefix}.additionalPrinterColumns[{index}]")
    if scale := (version.get("subresources") or {}).get("scale"):
        yield from _scale(scale, f"{prefix}.subresources.scale")
    if not wrong:
        yield from _selectable(version, root_schema(declared), prefix)


def _column(column: Object, path: str) -> Iterator[Cause]:
    if not column.get("name"):
        yield causes.required(f"{path}.name")
    if column.get("type") not in _COLUMN_TYPES:
        yield causes.invalid(f"{path}.type", column.get("type", ""), f"must be one of {','.join(_COLUMN_TYPES)}")
    yield from _path(column.get("jsonPath", ""), f"{path}.JSONPath")


def _path(text: str, path: str) -> Iterator[Cause]:
    if not text:
        yield causes.required(path)
        return
    try:
        parse_path(text)
    except JsonPathError:
        yield causes.invalid(path, text, "must be a simple json path starting with .")
        return
    if not text.startswith("."):
        yield causes.invalid(path, text, "must be a simple json path starting with .")


def _scale(scale: Object, path: str) -> Iterator[Cause]:
    for field, below in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        text = scale.get(field, "")
        wrong = list(_path(text, f"{path}.{field}"))
        yield from wrong
        if not wrong and not text.startswith(f"{below}."):
            yield causes.invalid(f"{path}.{field}", text, f"should be a json path under {below}")
    selector = scale.get("labelSelectorPath", "")
    if selector and not selector.startswith((".spec.", ".status.")):
        detail = "should be a json path under either .spec or .status"
        yield causes.invalid(f"{path}.labelSelectorPath", selector, detail)


def _selectable(version: Object, schema: Schema, prefix: str) -> Iterator[Cause]:
    for index, selectable in enumerate(version.get("selectableFields") or ()):
        path, text = f"{prefix}.selectableFields[{index}].jsonPath", selectable.get("jsonPath", "")
        found: Schema | None = schema
        for part in text.removeprefix(".").split("."):
            found = found.properties.get(part) if found is not None else None
        if found is None:
            yield causes.invalid(path, text, "is an invalid path: does not refer to a valid field")
        elif text.startswith(".metadata"):
            yield causes.invalid(path, text, "must not point to fields in metadata")
        elif found.type not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer."
                " Enum string fields and strings with formats are allowed."
            )
            yield causes.invalid(path, text, detail)


def _immutable(new: Object, old: Object) -> Iterator[Cause]:
    def value(definition: Object, path: str) -> Any:
        found: Any = definition
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found

    for path in ("spec.group", "spec.scope", "spec.names.kind", "spec.names.plural"):
        if value(new, path) != value(old, path):
            yield causes.immutable(path, value(new, path))


def _stored_versions(definition: Object) -> Iterator[Cause]:
    served = {version.get("name") for version in definition["spec"].get("versions") or ()}
    for index, stored in enumerate((definition.get("status") or {}).get("storedVersions") or ()):
        if stored not in served:
            detail = (
                f"missing from spec.versions; {stored} was previously a storage version, and must remain in"
                " spec.versions until a storage migration ensures no data remains persisted in"
                f" {stored} and removes {stored} from status.storedVersions"
            )
            yield causes.invalid(f"status.storedVersions[{index}]", stored, detail)
