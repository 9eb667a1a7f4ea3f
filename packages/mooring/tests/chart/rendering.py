"""The Helm chart, rendered."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from packages.mooring.tests.requirements import require_helm

CHART = Path(__file__).resolve().parents[4] / "deploy" / "helm"
Body = dict[str, Any]
Objects = dict[tuple[str, str], Body]


@dataclass(frozen=True, slots=True)
class Helm:
    """What a run of Helm said."""

    code: int
    out: str
    err: str


def run_helm(*arguments: str, values: Body | None = None, **environment: str) -> Helm:
    """Run Helm; `values` go in on the standard input."""
    command = [require_helm(), *arguments, *(["--values", "-"] if values is not None else [])]
    done = subprocess.run(
        command,
        input=json.dumps(values) if values is not None else None,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environment},
        check=False,
    )
    return Helm(done.returncode, done.stdout, done.stderr)


def template(values: Body | None = None, *, release: str = "mooring", namespace: str = "mooring") -> Helm:
    """`helm template` of the chart."""
    return run_helm("template", release, str(CHART), "--namespace", namespace, values=values or {})


def by_name(text: str) -> Objects:
    """The objects of YAML documents, by kind and name."""
    return {(body["kind"], body["metadata"]["name"]): body for body in yaml.safe_load_all(text) if body}


def render(values: Body | None = None, *, release: str = "mooring", namespace: str = "mooring") -> Objects:
    """The objects that the chart makes of these values."""
    done = template(values, release=release, namespace=namespace)
    assert done.code == 0, done.err
    return by_name(done.out)


def pod_of(objects: Objects, name: str = "mooring") -> Body:
    """The pod of the Deployment."""
    spec: Body = objects["Deployment", name]["spec"]["template"]["spec"]
    return spec


def variables(objects: Objects, name: str = "mooring") -> dict[str, str]:
    """The environment of the container; values from elsewhere are empty."""
    return {one["name"]: one.get("value", "") for one in pod_of(objects, name)["containers"][0]["env"]}


def without_labels_of_helm(value: Any) -> Any:
    """The same without the labels by which Helm and `mooring install` name themselves."""
    own = ("helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by")
    if isinstance(value, dict):
        return {key: without_labels_of_helm(one) for key, one in value.items() if key not in own}
    return [without_labels_of_helm(one) for one in value] if isinstance(value, list) else value
