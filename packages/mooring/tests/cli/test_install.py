"""`mooring install`: a cluster accepts what it prints, and the Helm chart renders the same."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.mooring.tests.acceptance.world import run_command, shared_up
from packages.mooring.tests.requirements import require_helm

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("cluster", ["sandbox", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
def test_a_cluster_accepts_what_is_printed(request: pytest.FixtureRequest, cluster: str):
    up = shared_up(request.config, cluster)
    printed = run_command("install", "--namespace", "default", "--node-pool", "blast", KUBECONFIG=str(up.kubeconfig))
    assert printed.code == 0
    (up.home / "install.yaml").write_text(printed.out)
    accepted = up.kubectl("apply", "--dry-run=server", "-f", str(up.home / "install.yaml"))
    kinds = {document["kind"] for document in yaml.safe_load_all(printed.out)}
    assert len(accepted.out.splitlines()) == len(list(yaml.safe_load_all(printed.out)))
    assert kinds >= {"CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Deployment", "Service"}


def test_image_and_namespace_can_be_chosen():
    printed = run_command("install", "--image", "registry.example/mooring:7", "--namespace", "fleet")
    documents = list(yaml.safe_load_all(printed.out))
    deployment = next(document for document in documents if document["kind"] == "Deployment")
    assert deployment["metadata"]["namespace"] == "fleet"
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/mooring:7"
    assert {"kind": "Namespace"}.items() <= documents[[d["kind"] for d in documents].index("Namespace")].items()


def test_the_first_step_is_printed_on_stderr():
    printed = run_command("install", "--namespace", "fleet")
    assert "kubectl -n fleet create secret generic mooring" in printed.err
    assert "kubectl" not in printed.out


def test_the_helm_chart_has_the_same_manifests(tmp_path: Path):
    subprocess.run([sys.executable, str(ROOT / "tools" / "chart"), str(tmp_path)], check=True)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.yaml"))
    assert len(written) >= 6
    for name in written:
        kept = (ROOT / "deploy" / "helm" / name).read_text()
        assert kept == (tmp_path / name).read_text(), f"deploy/helm/{name} is old: run tools/chart"


AFFINITY = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
SPOT = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ((), {}),
        (("--image", "registry.example/mooring:7"), {"image": "registry.example/mooring:7"}),
        (("--node-selector", "disk=ssd", "--node-selector", "arm=no"), {"nodeSelector": {"disk": "ssd", "arm": "no"}}),
        (("--node-selector", "karpenter.sh/nodepool=work"), {"nodePool": "work"}),
        (("--node-selector", "agentpool=work"), {"nodePool": "work", "nodePoolLabel": "agentpool"}),
        (("--toleration", "spot=yes:NoSchedule"), {"tolerations": [SPOT]}),
        (("--affinity", yaml.safe_dump(AFFINITY)), {"affinity": AFFINITY}),
    ],
    ids=["defaults", "image", "selector", "node pool", "node pool by label", "tolerations", "affinity"],
)
def test_the_helm_chart_renders_what_install_prints(tmp_path: Path, options: tuple[str, ...], values: dict[str, Any]):
    helm = require_helm()
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    arguments = ["--namespace", "fleet", "--include-crds", "--values", str(tmp_path / "values.yaml")]
    command = [helm, "template", "mooring", str(ROOT / "deploy" / "helm"), *arguments]
    rendered = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    printed = run_command("install", "--namespace", "fleet", *options, HOME=str(tmp_path))
    assert printed.code == 0
    by_helm, by_install = (
        {(body["kind"], body["metadata"]["name"]): body for body in yaml.safe_load_all(text) if body}
        for text in (rendered, printed.out)
    )
    del by_install["Namespace", "fleet"]  # Helm creates it itself, if asked
    assert by_helm == by_install
