"""The cases beside this file as the objects that are sent, and the answers that a real kube-apiserver gave."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
GROUP = "shapes.example.com"

Json = dict[str, Any]


def load(name: str) -> Any:
    """The cases of a file."""
    return yaml.load((HERE / f"{name}.yaml").read_text(), yaml.CSafeLoader)


def recorded(name: str) -> Any:
    """What a real server answered to them."""
    return json.loads((HERE / f"{name}.json").read_text())


def definition(kind: str, spec: Json) -> Json:
    """A definition of a kind whose spec has this schema."""
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": _STATUS}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


_STATUS = {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}


def custom(kind: str, spec: Any) -> Json:
    """An object of such a kind."""
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}


def gadget_definition() -> Json:
    """The definition of `objects.yaml`."""
    written = load("objects")
    spec = {"type": "object", "required": written["required"], "properties": written["properties"]}
    gadgets = definition("Gadget", spec)
    gadgets["spec"]["versions"][0]["subresources"] = {
        "status": {},
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    }
    return gadgets


def changed_definition(case: Json) -> Json:
    """A good definition with the changes of a case of `definitions.yaml`."""
    widgets = definition("Widget", {"type": "object", "properties": {"a": {"type": "integer"}}})
    version = widgets["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    _merge(schema["properties"]["spec"]["properties"], case.get("fields", {}))
    _merge(schema, case.get("schema", {}))
    _merge(version, case.get("version", {}))
    _merge(widgets, case.get("definition", {}))
    return widgets


def ruled_definition(rules: list[str]) -> Json:
    """The definition of `rules.yaml` with some of its rules."""
    spec = {"type": "object", "properties": load("rules")["properties"]}
    return definition("Ruled", {**spec, "x-kubernetes-validations": [{"rule": rule} for rule in rules]})


def _merge(into: Json, changes: Json) -> None:
    for key, value in deepcopy(changes).items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value
