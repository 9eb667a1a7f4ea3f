"""The printed recovery of a refused pull, run by a shell: the clouds' clients are replaced by programs that answer."""

import os
import subprocess
from pathlib import Path

import pytest

from mooring.planning.explanations.pods import PodFacts, explain_pod
from mooring.planning.services.pull_recovery import FailedPull, grant_and_pull
from packages.mooring.tests.planning.fleets import NOW

RESTART = "kubectl -n blast rollout restart deployment search"
# What each client answers, by a part of its command line.
ANSWERS = """
case "$(basename "$0") $*" in
  *kubernetes*azure*cluster*) echo MC_group_cluster_region ;;
  *topology*region*) echo eu-west-2 ;;
  *azure-node*providerID*) echo azure:///x ;;
  *ec2-node*providerID*) echo aws:///eu-west-2a/i-0abc ;;
  *gce-node*providerID*) echo gce://nodes-project/europe-west1-b/gce-node ;;
  "az aks list"*MC_group_cluster_region*) echo 11-22 ;;
  "az acr show --name acme"*) echo /registries/acme ;;
  *describe-instances*eu-west-2*i-0abc*) echo arn:aws:iam::9:instance-profile/nodes ;;
  *get-instance-profile*"nodes "*) echo node-role ;;
  *"instances describe gce-node --project nodes-project --zone europe-west1-b"*) echo node@nodes.iam ;;
esac
"""


def run(line: str, folder: Path) -> list[str]:
    """The commands that a shell runs for this line, in their order."""
    log = folder / "log"
    for name in ("kubectl", "az", "aws", "gcloud"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "$(basename "$0") $*" >>{log}\n{ANSWERS}')
        program.chmod(0o755)
    path = f"{folder}{os.pathsep}/usr/bin:/bin"
    done = subprocess.run(
        ["sh", "-euc", line], env={"PATH": path}, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return log.read_text().splitlines()


@pytest.mark.parametrize(
    ("image", "node", "granted"),
    [
        (
            "acme.azurecr.io/search:7",
            "azure-node",
            "az role assignment create --assignee-object-id 11-22 --assignee-principal-type ServicePrincipal"
            " --role AcrPull --scope /registries/acme",
        ),
        (
            "123.dkr.ecr.eu-west-1.amazonaws.com/search:7",
            "ec2-node",
            "aws iam attach-role-policy --role-name node-role"
            " --policy-arn arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
        ),
        (
            "europe-docker.pkg.dev/acme/apps/search:7",
            "gce-node",
            "gcloud artifacts repositories add-iam-policy-binding apps --project acme --location europe"
            " --role roles/artifactregistry.reader --member serviceAccount:node@nodes.iam",
        ),
    ],
)
def test_the_recovery_finds_the_node_s_identity_grants_it_access_and_forces_a_new_pull(
    tmp_path: Path, image: str, node: str, granted: str
):
    line = grant_and_pull(FailedPull(image, "blast", node, RESTART))
    assert "<" not in line, "nothing is left to fill in"
    commands = run(line, tmp_path)
    assert commands[-2:] == [granted, RESTART]


def test_without_the_name_of_its_group_no_cluster_is_granted_anything(tmp_path: Path):
    line = grant_and_pull(FailedPull("acme.azurecr.io/search:7", "blast", "azure-node", RESTART))
    with pytest.raises(AssertionError):
        run(line.replace("azure", "other").replace("acme.othercr", "acme.azurecr"), tmp_path)
    assert (tmp_path / "log").read_text().splitlines()[-1].startswith("kubectl get node")


def test_a_registry_without_a_cloud_gets_a_pull_secret_that_is_added_to_the_account_of_the_pods(tmp_path: Path):
    pull = FailedPull("ghcr.io/acme/search:7", "blast", "n", RESTART, "reader")
    line = grant_and_pull(pull).replace("<USER>", "me").replace("<PASSWORD>", "secret")
    commands = run(line, tmp_path)

    assert sorted(commands[:2]) == [
        "kubectl -n blast create secret docker-registry pull-ghcr-io --docker-server=ghcr.io"
        " --docker-username=me --docker-password=secret --dry-run=client -o yaml",
        "kubectl apply -f -",
    ]
    patch = 'kubectl -n blast patch serviceaccount reader -p {"imagePullSecrets": [{"name": "pull-ghcr-io"}]}'
    assert commands[2:] == [patch, RESTART]


def pod(image: str, message: str, **metadata: object) -> dict[str, object]:
    waiting = {"reason": "ImagePullBackOff", "message": message}
    return {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", **metadata},
        "spec": {"containers": [{"name": "main", "image": image}], "nodeName": "azure-node"},
        "status": {"phase": "Pending", "containerStatuses": [{"name": "main", "state": {"waiting": waiting}}]},
    }


def owned(kind: str, name: str) -> list[dict[str, object]]:
    return [{"kind": kind, "name": name, "controller": True}]


@pytest.mark.parametrize(
    ("owners", "again"),
    [
        (owned("WorkerPool", "linux"), ["kubectl -n ns delete pod p"]),
        (owned("ReplicaSet", "web-9f"), ["kubectl -n ns rollout restart deployment web"]),
        (owned("ReplicaSet", "alone"), ["kubectl -n ns delete pod p"]),
        ([], ["kubectl -n ns get pod p -o json", "kubectl -n ns replace --force -f -"]),
    ],
)
def test_explain_prints_the_same_recovery_for_any_pod(
    tmp_path: Path, owners: list[dict[str, object]], again: list[str]
):
    labels = {"pod-template-hash": "9f"}
    refused = pod("acme.azurecr.io/app:1", "401 Unauthorized", ownerReferences=owners, labels=labels)
    found = explain_pod(PodFacts(NOW, refused))
    assert found.findings[0].code == "image_unauthorized"
    commands = run(found.fix, tmp_path)
    assert any("--role AcrPull --scope /registries/acme" in command for command in commands)
    assert sorted(commands[-len(again) :]) == sorted(again)


@pytest.mark.parametrize(
    ("metadata", "command"),
    [
        (
            {"labels": {"mooring.dev/service": "api"}},
            'kubectl -n ns patch managedservice api --type merge -p {"spec": {"image": "r.example/app:2"}}',
        ),
        (
            {"labels": {"pod-template-hash": "9f"}, "ownerReferences": owned("ReplicaSet", "web-9f")},
            "kubectl -n ns set image deployment/web main=r.example/app:2",
        ),
        (
            {"ownerReferences": owned("DaemonSet", "agent")},
            "kubectl -n ns set image daemonset/agent main=r.example/app:2",
        ),
        ({"ownerReferences": owned("WorkerPool", "linux")}, "kubectl -n ns edit workerpool linux"),
        ({"ownerReferences": owned("Job", "warm")}, "kubectl -n ns describe job warm"),
        ({}, "kubectl -n ns set image pod/p main=r.example/app:2"),
    ],
)
def test_explain_of_a_missing_image_changes_it_where_the_pod_gets_it_from(
    tmp_path: Path, metadata: dict[str, object], command: str
):
    found = explain_pod(PodFacts(NOW, pod("r.example/app:1", "manifest unknown", **metadata)))
    assert run(found.fix.replace("<TAG>", "2"), tmp_path) == [command]
