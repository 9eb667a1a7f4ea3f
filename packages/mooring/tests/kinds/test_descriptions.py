"""`kubectl explain` says what every field means, in which unit, with which default and limits."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from mooring.kinds import load_crds

# Constraints of a field that its description has to name, because `kubectl explain` does not show them.
LIMITS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "default")
APHORISMS = ("what is so", "whoever", "go nowhere", "nobody", "somebody", "outlives", "be told", "is told")


def fields(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every property of a schema, with those inside of objects and lists.

    Except the object's own metadata: the API server describes it, and refuses a definition that does.
    """
    for name, inner in (schema.get("properties") or {}).items():
        if (path, name) == ("", "metadata"):
            continue
        yield f"{path}.{name}", inner
        yield from fields(inner, f"{path}.{name}")
        yield from fields(inner.get("items") or {}, f"{path}.{name}[]")


def all_fields() -> list[tuple[str, Mapping[str, Any]]]:
    found = []
    for crd in load_crds():
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        kind = crd["spec"]["names"]["kind"]
        found += [(kind, schema), *((f"{kind}{path}", field) for path, field in fields(schema))]
    return found


FIELDS = all_fields()


def test_there_are_all_kinds_with_spec_and_status():
    paths = {path for path, _ in FIELDS}
    for kind in ("WorkerPool", "Warmup", "Submission", "ManagedService"):
        assert {kind, f"{kind}.spec", f"{kind}.status", f"{kind}.status.conditions[].reason"} <= paths


@pytest.mark.parametrize(("path", "field"), FIELDS, ids=[path for path, _ in FIELDS])
def test_a_field_has_a_description_with_its_default_and_limits(path: str, field: Mapping[str, Any]):
    text = field.get("description", "")
    assert text, f"{path} has no description"
    assert text.endswith("."), f"{path}: {text!r} is not a sentence"
    assert [phrase for phrase in APHORISMS if phrase in text.lower()] == []
    for limit in LIMITS:
        value = field.get(limit)
        if isinstance(value, bool):
            assert f"Default: {str(value).lower()}." in text, f"{path}: {limit} {value} is not in {text!r}"
        elif isinstance(value, int | str):
            assert str(value) in text, f"{path}: {limit} {value} is not in {text!r}"


def test_a_time_in_seconds_says_so():
    for path, field in FIELDS:
        if path.endswith("Seconds"):
            assert "seconds" in field["description"].lower(), path


def test_a_field_of_the_spec_says_whether_it_is_needed():
    for crd in load_crds():
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for name in spec.get("required", ()):
            assert "Required." in spec["properties"][name]["description"], name


def test_pods_have_the_same_template_in_every_kind():
    """But for what a Warmup cannot take, and for the token that a service without an account does not get."""
    shapes = {}
    for crd in load_crds():
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        if (template := spec["properties"].get("podTemplate")) is not None:
            for name in ("affinity", "topologySpreadConstraints", "automountServiceAccountToken"):
                del template["properties"][name]["description"]
            shapes[crd["spec"]["names"]["kind"]] = template
    assert set(shapes) == {"Warmup", "Submission", "ManagedService"}
    assert shapes["Warmup"] == shapes["Submission"] == shapes["ManagedService"]
