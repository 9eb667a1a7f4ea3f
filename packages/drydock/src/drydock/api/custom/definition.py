"""CustomResourceDefinitions: the rules they are held to, and the kinds they define."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from datetime import datetime

from drydock.api.answers.status import Cause
from drydock.api.custom.definition_validation import change_errors, definition_errors
from drydock.api.custom.objects import CustomStrategy
from drydock.api.kinds.kind import Column, Context, Kind, Object
from drydock.api.kinds.selectable import read_field
from drydock.api.printing.columns import AGE, NAME
from drydock.api.schema.structural import root_schema


class DefinitionStrategy:
    """The strategy of definitions themselves."""

    def prepare_create(self, new: Object, context: Context) -> None:
        _fill_names(new)
        new["status"] = {
            "conditions": [],
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _storage_versions(new),
        }

    def validate_create(self, new: Object, context: Context) -> Sequence[Cause]:
        return definition_errors(new)

    def prepare_update(self, new: Object, old: Object, subresource: str, context: Context) -> None:
        if subresource == "status":
            new["spec"] = deepcopy(old["spec"])
            return
        _fill_names(new)
        new["status"] = status = deepcopy(old.get("status") or {})
        stored = status.setdefault("storedVersions", [])
        stored += [version for version in _storage_versions(new) if version not in stored]

    def validate_update(self, new: Object, old: Object, subresource: str, context: Context) -> Sequence[Cause]:
        return change_errors(new, old)


def _fill_names(definition: Object) -> None:
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if kind := names.get("kind"):
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})


def _storage_versions(definition: Object) -> list[str]:
    return [version["name"] for version in definition["spec"].get("versions") or () if version.get("storage")]


def established_status(definition: Object, others: Iterable[Object], now: datetime) -> Object:
    """The definition's status once its names are settled among the `others` of the cluster."""
    conflict = _name_conflict(definition, others)
    old = definition.get("status") or {}
    moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    if conflict:
        reason, message = conflict
        accepted = old.get("acceptedNames") or {"plural": "", "kind": ""}
        told = [("NamesAccepted", "False", reason, message)]
        told.append(("Established", "False", "NotAccepted", "not all names are accepted"))
    else:
        accepted = deepcopy(definition["spec"]["names"])
        told = [("NamesAccepted", "True", "NoConflicts", "no conflicts found")]
        told.append(("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"))
    before = {condition["type"]: condition for condition in old.get("conditions") or ()}
    conditions = []
    for kind, status, reason, message in told:
        unchanged = before.get(kind, {}).get("status") == status
        since = before[kind]["lastTransitionTime"] if unchanged else moment
        conditions.append(
            {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
        )
    return {**old, "conditions": conditions, "acceptedNames": accepted}


def is_established(definition: Object) -> bool:
    """Is the kind served?"""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _name_conflict(definition: Object, others: Iterable[Object]) -> tuple[str, str] | None:
    spec = definition["spec"]
    taken: dict[str, set[str | None]] = {"resources": set(), "kinds": set()}
    for other in others:
        if other["metadata"]["name"] == definition["metadata"]["name"] or other["spec"]["group"] != spec["group"]:
            continue
        accepted = (other.get("status") or {}).get("acceptedNames") or {}
        taken["resources"] |= {accepted.get("plural"), accepted.get("singular"), *(accepted.get("shortNames") or ())}
        taken["kinds"] |= {accepted.get("kind"), accepted.get("listKind")}
    names = spec["names"]
    wanted = [
        ("PluralConflict", names["plural"], "resources"),
        ("SingularConflict", names["singular"], "resources"),
        *(("ShortNamesConflict", short, "resources") for short in names.get("shortNames") or ()),
        ("KindConflict", names["kind"], "kinds"),
        ("ListKindConflict", names["listKind"], "kinds"),
    ]
    for reason, name, space in wanted:
        if name in taken[space]:
            return reason, f'"{name}" is already in use'
    return None


def kinds_of(definition: Object) -> list[Kind]:
    """The kinds that an established definition makes the server serve: one for each served version."""
    return [_kind(definition["spec"], version) for version in definition["spec"]["versions"] if version.get("served")]


def _kind(spec: Object, version: Object) -> Kind:
    names = spec["names"]
    group_name = ".".join(reversed(spec["group"].split(".")))
    schema = root_schema(version["schema"]["openAPIV3Schema"], f"{group_name}.{version['name']}.{names['kind']}")
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    has_status = "status" in subresources
    paths = (
        (scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", "")) if scale else None
    )
    return Kind(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        schema=schema,
        strategy=CustomStrategy(schema, has_status=has_status, replicas_path=paths[0] if paths else ""),
        singular=names.get("singular") or names["kind"].lower(),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=frozenset(name for name in ("status", "scale") if name in subresources),
        columns=_columns(version),
        spec_has_generation=True,
        scale_paths=paths,
        selectable_fields=tuple(each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ()),
        field_value=read_field,
        custom=True,
    )


def _columns(version: Object) -> tuple[Column, ...]:
    declared = version.get("additionalPrinterColumns")
    if not declared:
        return (NAME, AGE)
    return (NAME, *(_column(column) for column in declared))


def _column(declared: Object) -> Column:
    return Column(
        declared["name"],
        declared["type"],
        json_path=declared["jsonPath"],
        priority=declared.get("priority", 0),
        description=declared.get("description", ""),
    )
