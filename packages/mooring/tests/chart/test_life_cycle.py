"""Install, upgrade, rollback and uninstall by Helm, on a real control plane with simulated nodes."""

import base64
import json
import os

import pytest
from cryptography import x509

from packages.mooring.tests.chart.cluster import RealCluster, cluster
from packages.mooring.tests.chart.rendering import Body, render

__all__ = ["cluster"]
pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

ROUNDS = int(os.environ.get("MOORING_CHART_ROUNDS", "3"))
ALL: Body = {
    "crds": {"keep": False},
    "networkPolicy": {"enabled": True},
    "ingress": {"enabled": True, "hosts": ["mooring.example"]},
    "dashboard": {"enabled": True},
    "priorityClass": {"create": True},
}

POOL: Body = {
    "apiVersion": "mooring.dev/v1alpha1",
    "kind": "WorkerPool",
    "metadata": {"name": "a", "namespace": "kept"},
    "spec": {"warm": 1, "max": 2, "template": {"spec": {"containers": [{"name": "main", "image": "worker"}]}}},
}


def secret_of(cluster: RealCluster, namespace: str) -> Body:
    found: Body = cluster.get("-n", namespace, "secret", "mooring-tls")
    return found


def authorities(secret: Body) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(base64.b64decode(secret["data"]["ca.crt"]))


def revision(cluster: RealCluster, namespace: str) -> int:
    listed = json.loads(cluster.helm("history", "mooring", "--namespace", namespace, "-o", "json").out)
    return int(listed[-1]["revision"])


def test_rounds_of_install_and_uninstall_leave_the_cluster_as_it_was(cluster: RealCluster):
    cluster.make_namespace("rounds")
    before = cluster.everything()
    for _ in range(ROUNDS):
        cluster.install("mooring", "rounds", ALL)
        cluster.install("mooring", "rounds", {**ALL, "replicas": 3, "logLevel": "debug"}, verb="upgrade")
        assert cluster.get("-n", "rounds", "deployment", "mooring")["spec"]["replicas"] == 3
        cluster.helm("rollback", "mooring", "1", "--namespace", "rounds")
        assert cluster.get("-n", "rounds", "deployment", "mooring")["spec"]["replicas"] == 2
        assert revision(cluster, "rounds") == 3
        cluster.helm("uninstall", "mooring", "--namespace", "rounds", "--wait", "--timeout", "90s")
        cluster.until(lambda: cluster.everything() == before, "nothing is left, and nothing is missing")


def test_definitions_and_pools_outlive_the_release_unless_asked_otherwise(cluster: RealCluster):
    cluster.make_namespace("kept")
    before = cluster.everything()
    cluster.install("mooring", "kept")
    body = json.dumps(POOL)
    cluster.until(
        lambda: "created" in cluster.kubectl("create", "-f", "-", text=body, fails=True), "the kind is served"
    )
    cluster.helm("uninstall", "mooring", "--namespace", "kept", "--wait", "--timeout", "90s")

    def left() -> set[str]:
        return {line.split()[0] for line in cluster.everything() - before}

    cluster.until(lambda: left() == {"CustomResourceDefinition", "APIService", "WorkerPool"}, "only these are left")
    cluster.install("mooring", "kept")
    assert cluster.get("-n", "kept", "workerpool", "a")["spec"]["warm"] == 1
    cluster.helm("uninstall", "mooring", "--namespace", "kept", "--wait", "--timeout", "90s")
    names = [crd["metadata"]["name"] for crd in cluster.get("crd") if crd["spec"]["group"] == "mooring.dev"]
    cluster.kubectl("delete", "crd", *names)
    cluster.until(lambda: cluster.everything() == before, "the cluster is as it was")


def test_an_upgrade_brings_the_definitions_of_the_release(cluster: RealCluster):
    cluster.make_namespace("newer")
    cluster.install("mooring", "newer", ALL)
    columns = "/spec/versions/0/additionalPrinterColumns"
    patch = json.dumps([{"op": "remove", "path": columns}])
    cluster.kubectl("patch", "crd", "workerpools.mooring.dev", "--type=json", "-p", patch)
    cluster.install("mooring", "newer", ALL, verb="upgrade")
    found = cluster.get("crd", "workerpools.mooring.dev")["spec"]["versions"][0]
    cluster.helm("uninstall", "mooring", "--namespace", "newer", "--wait", "--timeout", "90s")
    wanted = render(ALL)["CustomResourceDefinition", "workerpools.mooring.dev"]["spec"]["versions"][0]
    assert found["additionalPrinterColumns"] == wanted["additionalPrinterColumns"]


def test_the_certificate_stays_in_upgrades_and_is_renewed_near_its_end(cluster: RealCluster):
    cluster.make_namespace("renewed")
    cluster.install("mooring", "renewed", ALL)
    first = secret_of(cluster, "renewed")
    cluster.install("mooring", "renewed", {**ALL, "replicas": 3}, verb="upgrade")
    assert secret_of(cluster, "renewed")["data"] == first["data"]
    cluster.kubectl("-n", "renewed", "annotate", "secret", "mooring-tls", "--overwrite", "mooring.dev/renew-at=1")
    cluster.install("mooring", "renewed", ALL, verb="upgrade")
    second = secret_of(cluster, "renewed")
    assert second["data"]["tls.crt"] != first["data"]["tls.crt"]
    assert authorities(second) == authorities(first), "workers have the CA from when their pods were made, and no other"
    [certificate] = x509.load_pem_x509_certificates(base64.b64decode(second["data"]["tls.crt"]))
    certificate.verify_directly_issued_by(authorities(first)[0])
    cluster.install("mooring", "renewed", {**ALL, "tls": {"dnsNames": ["mooring.example"]}}, verb="upgrade")
    assert authorities(secret_of(cluster, "renewed")) == authorities(first), "also with other names"
    for _ in range(2):  # an upgrade near the end of the CA
        ended = ("mooring.dev/renew-at=1", "mooring.dev/ca-until=1")
        cluster.kubectl("-n", "renewed", "annotate", "secret", "mooring-tls", "--overwrite", *ended)
        before = authorities(secret_of(cluster, "renewed"))
        cluster.install("mooring", "renewed", ALL, verb="upgrade")
        last = secret_of(cluster, "renewed")
        assert authorities(last)[1:] == before[:1], "the CA before is trusted too; two at most"
        [certificate] = x509.load_pem_x509_certificates(base64.b64decode(last["data"]["tls.crt"]))
        certificate.verify_directly_issued_by(authorities(last)[0])
    cluster.helm("uninstall", "mooring", "--namespace", "renewed", "--wait", "--timeout", "90s")


def test_the_pods_satisfy_the_restricted_pod_security_standard(cluster: RealCluster):
    cluster.make_namespace("strict", **{"pod-security.kubernetes.io/enforce": "restricted"})
    cluster.install("mooring", "strict", ALL)
    cluster.until(lambda: len(cluster.get("-n", "strict", "pods")) == 2, "both replicas are admitted")
    cluster.helm("uninstall", "mooring", "--namespace", "strict", "--wait", "--timeout", "90s")
    cluster.until(lambda: cluster.get("-n", "strict", "pods") == [], "no pod is left")


def test_two_releases_work_in_one_cluster_side_by_side(cluster: RealCluster):
    for name in ("first", "second", "work-1", "work-2"):
        cluster.make_namespace(name)
    before = cluster.everything()
    cluster.install("mooring", "first", {**ALL, "watchNamespaces": ["work-1"]})
    others = {
        "crds": {"install": False},
        "rbac": {"userRoles": False},
        "watchNamespaces": ["work-2"],
        "headroomClass": False,
    }
    cluster.install("mooring", "second", others)
    for namespace in ("first", "second"):
        cluster.until(lambda where=namespace: len(cluster.get("-n", where, "pods")) == 2, f"replicas in {namespace}")  # type: ignore[misc]
    mark = ("label", "--overwrite", "serviceaccount", "default", "mooring.dev/worker=x")
    for namespace, refusal in (("work-1", "mooring.first-marks"), ("work-2", "mooring.second-marks")):
        cluster.until(
            lambda where=namespace, why=refusal: why in cluster.kubectl("-n", where, *mark, fails=True),  # type: ignore[misc]
            f"the policy of {namespace} is in effect",
        )
    for namespace in ("second", "first"):
        cluster.helm("uninstall", "mooring", "--namespace", namespace, "--wait", "--timeout", "90s")
    cluster.until(lambda: cluster.everything() == before, "the cluster is as it was")
