"""`mooring install`: a cluster accepts what it prints. The tests of the chart compare it with what Helm renders."""

import pytest
import yaml

from packages.mooring.tests.acceptance.world import run_command, shared_up

pytestmark = pytest.mark.realtime


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
