"""Every command that Mooring can print is run with its placeholders filled in.

`docs/printed_commands.py` finds them in the source; a command of the source that matches none of those below fails.
A command that would take a node away from other tests is sent with `--dry-run=server`: the API server checks all of it.
"""

import contextlib
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from packages.mooring.tests.acceptance.pools import NAMESPACE, own_pool
from packages.mooring.tests.acceptance.test_fixes import shell
from packages.mooring.tests.acceptance.world import Up, until
from packages.mooring.tests.docs.printed_commands import PLACEHOLDER
from packages.mooring.tests.docs.test_printed_commands import commands_of

DRY = "--dry-run=server"
MOORING = """
mooring adopt --pool {key} --selector mooring.dev/worker=stray --idle --reason 'it is idle'
mooring arm --reason 'after a restore'
mooring audit
mooring claims
mooring claims --all
mooring claims --only claimed -o wide
mooring claims --only claimed,running -o wide
mooring claims --only queued
mooring claims --only running -o wide
mooring claims --pool {key}
mooring claims --pool {key} --owner tester
mooring doctor
mooring drain-check {node}
mooring explain pod/{namespace}/{worker}
mooring explain pool/{key}
mooring explain node/{node}
mooring install
mooring invariants
mooring logs {namespace}/{worker}
mooring login --service-account {namespace}/guinea
mooring login --url {url} < {token}
mooring nodes
mooring pools
mooring pools -o wide
mooring release {claim} --reason 'not needed'
mooring resume account-has-pod
mooring retire {namespace}/{worker} --reason 'looks odd'
mooring run {key} -- true
mooring runbook no_idle_worker
mooring services
mooring services {service} --watch
mooring submissions
mooring submissions -o wide
mooring submissions {submission}
mooring submit --help
mooring warm {warmup} --close-circuit
mooring warmups
mooring warmups -o wide
mooring warmups {warmup}
mooring workers
mooring workers -o wide
mooring workers --node {node} -o wide
mooring workers --only claimed -o wide
mooring workers --only draining -o wide
mooring workers --pool {key}
mooring workers --pool {key} -o wide
"""
KUBECTL = """
kubectl create namespace {namespace}-of-mooring
kubectl -n {namespace} create configmap settings --from-file={file}
kubectl -n {namespace} create role reader --verb=get --resource=secrets --resource-name=mint
kubectl -n {namespace} create rolebinding reader --role=reader --serviceaccount={namespace}:guinea
kubectl -n {namespace} create secret docker-registry pull --docker-server=x --docker-username=x --docker-password=x \
  --dry-run=client -o yaml
cd {folder} && kubectl -n {namespace} create secret generic certificate --type=kubernetes.io/tls \
  --from-file=tls.crt --from-file=tls.key --from-file=ca.crt=tls.crt
kubectl -n {namespace} create secret generic mint --from-file=key={file}
kubectl -n {namespace} create secret generic mooring --from-literal=database=postgresql://... --from-literal=token=x
kubectl -n {namespace} create serviceaccount builder
kubectl -n {namespace} delete poddisruptionbudget guinea
kubectl -n {namespace} describe job guinea
kubectl -n {namespace} describe pod {worker}
kubectl -n harbour describe pods -l mooring.dev/service=tides
kubectl -n {namespace} describe pvc guinea
kubectl -n {namespace} describe replicaset -l mooring.dev/service=guinea
kubectl -n {namespace} describe resourcequota guinea
kubectl -n {namespace} describe secret mint
kubectl -n {namespace} describe workerpool {pool}
kubectl -n {namespace} edit deployment guinea
kubectl -n {namespace} edit workerpool {pool}
kubectl -n harbour edit managedservice tides
kubectl -n {namespace} get configmaps,secrets
kubectl -n {namespace} get deployment guinea -o yaml --show-managed-fields
kubectl -n {namespace} get pod {worker} -o yaml
kubectl -n {namespace} get pods
kubectl -n {namespace} logs crashed -c main --previous
kubectl -n {namespace} get pod crashed -o json | kubectl -n {namespace} replace --force -f -
kubectl -n {namespace} logs {worker} --all-containers --tail=20
kubectl -n {namespace} logs -l mooring.dev/pool={pool} --all-containers --tail=20 --prefix
kubectl -n {namespace} logs {worker} --tail=60
kubectl -n {namespace} patch resourcequota guinea --type merge -p '{{"spec": {{"hard": {{"pods": "90"}}}}}}'
kubectl -n {namespace} patch serviceaccount guinea -p '{{"imagePullSecrets": [{{"name": "pull"}}]}}'
kubectl -n {namespace} patch workerpool {pool} --type merge -p '{{"spec": {{"max": 7}}}}'
kubectl -n harbour patch managedservice tides --type merge -p '{{"spec": {{"replicas": 1}}}}'
kubectl patch warmup {warmup_name} -n {warmup_namespace} --type=merge -p '{{"spec":{{"reclaim":"Keep"}}}}'
kubectl -n {namespace} rollout restart deployment guinea
kubectl -n {namespace} rollout status deployment/guinea
kubectl -n {namespace} scale deployment guinea --replicas=0
kubectl -n {namespace} scale workerpool {pool} --replicas=3
kubectl -n {namespace} set image deployment/guinea main=busybox:2
kubectl -n {namespace} delete deployment guinea
kubectl -n {namespace} delete pod {worker} {dry}
echo '{volume}' | kubectl -n {namespace} create -f -
mooring install --namespace {namespace} | kubectl apply {dry} -f -
kubectl cordon {node} {dry}
kubectl delete nodeclaim big-1
kubectl describe crd workerpools.mooring.dev
kubectl describe node {node}
kubectl drain {node} --ignore-daemonsets --delete-emptydir-data {dry}
kubectl edit warmup {warmup_name} -n {warmup_namespace}
kubectl edit workerpool {pool} -n {namespace}
kubectl get --raw '/readyz?verbose'
kubectl get nodeclaims
kubectl get nodes -o wide
kubectl get pods -n {namespace} --show-labels
kubectl patch nodepool big --type merge -p '{{"spec": {{"template": {{"spec": {{"terminationGracePeriod": "1h"}}}}}}}}'
kubectl uncordon {node} {dry}
"""
ELSEWHERE = {
    "mooring up": "the fixture",
    "mooring login": "mooring login --url",
    "helm uninstall": "chart/test_life_cycle.py",
    "mooring replay": "tests/incidents",
    f"kubectl -n {PLACEHOLDER} delete hpa": "below, where the cluster has the kind",
    f"kubectl -n {PLACEHOLDER}": "the beginning of others",
}
REFUSED = {
    "mooring doctor": "",  # it may find something: other tests share the fleet
    "mooring warm {warmup} --close-circuit": "is not open",  # scenarios/test_rotation.py closes one
}
ENDLESS = {"mooring services {service} --watch"}


def commands(table: str) -> list[str]:
    return table.replace("\\\n", " ").strip().splitlines()


@dataclass(frozen=True)
class Named:
    """What the commands are about."""

    up: Up
    names: dict[str, str]

    def run(self, command: str) -> None:
        filled = command.format_map(self.names)
        bounded = f"timeout 5 {filled}; test $? = 124" if command in ENDLESS else filled
        done = shell(self.up, bounded)
        refused = done.code == 1 and REFUSED.get(command, "-") in done.err
        assert done.code == 0 or refused, f"{filled}: {done.err}{done.out}"
        assert done.out.strip() or done.err.strip(), f"{filled} shows nothing"


def _object(api: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **rest}


def _definition(kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": "karpenter.sh", "scope": "Cluster", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.karpenter.sh"},
        "spec": spec,
    }


CRASHING = {"name": "main", "image": "busybox", "command": ["sh", "-c", "echo bye; exit 1"]}
TEMPLATE = {"metadata": {"labels": {"app": "guinea"}}, "spec": {"containers": [CRASHING]}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TOLERANT = {"tolerations": [{"operator": "Exists"}]}
OBJECTS = [
    _object("v1", "ServiceAccount", "guinea"),
    _object("v1", "ResourceQuota", "guinea", spec={"hard": {"pods": "80"}}),
    _object("v1", "PersistentVolumeClaim", "guinea", spec=VOLUME),
    _object("v1", "Pod", "crashed", spec={"containers": [CRASHING], **TOLERANT}),
    _object("v1", "Pod", "stray", spec={"containers": [{**CRASHING, "command": ["sleep", "infinity"]}], **TOLERANT}),
    _object("policy/v1", "PodDisruptionBudget", "guinea", spec={"selector": {"matchLabels": {"app": "none"}}}),
    _object(
        "apps/v1",
        "Deployment",
        "guinea",
        spec={"replicas": 0, "selector": {"matchLabels": {"app": "guinea"}}, "template": TEMPLATE},
    ),
    _object(
        "batch/v1",
        "Job",
        "guinea",
        spec={"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [CRASHING]}}},
    ),
]
AUTOSCALER = _object(
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    "guinea",
    spec={"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "guinea"}},
)
KARPENTER = [
    {"apiVersion": "karpenter.sh/v1", "kind": kind, "metadata": {"name": name}, "spec": {}}
    for kind, name in (("NodePool", "big"), ("NodeClaim", "big-1"))
]


@pytest.fixture(scope="module")
def named(up: Up, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Named]:
    folder = tmp_path_factory.mktemp("printed")
    for name in ("file", "tls.crt", "tls.key"):
        (folder / name).write_text("content\n")
    with own_pool(up, "guinea") as pool, _extras(up), up.http() as http:
        asked = http.post(f"/v1/pools/{pool.key}/claims", json={"owner": "tester", "ttlSeconds": 600})
        claim = asked.raise_for_status().json()["id"]
        up.kubectl("-n", NAMESPACE, "label", "pod", "stray", "app=stray")
        up.kubectl("-n", NAMESPACE, "wait", "pod", "stray", "--for=condition=Ready", "--timeout=60s")
        up.command("adopt", "--pool", pool.key, "--selector", "app=stray", "--reason", "as a part of the fleet")
        warmup = up.get("/v1/warmups")["items"][0]
        submission = up.get("/v1/submissions")["items"][0]
        yield Named(
            up,
            {
                "namespace": NAMESPACE,
                "pool": pool.name,
                "key": pool.key,
                "worker": sorted(pool.idle())[0],
                "node": up.get("/v1/nodes")["items"][-1]["name"],
                "claim": claim,
                "warmup": f"{warmup['namespace']}/{warmup['name']}",
                "warmup_name": warmup["name"],
                "warmup_namespace": warmup["namespace"],
                "submission": f"{submission['namespace']}/{submission['name']}",
                "service": "harbour/tides",
                "url": up.url,
                "token": str(up.state / "token"),
                "folder": str(folder),
                "file": str(folder / "file"),
                "dry": DRY,
                "volume": json.dumps(_object("v1", "PersistentVolumeClaim", "made", spec=VOLUME)),
            },
        )


@contextlib.contextmanager
def _extras(up: Up) -> Iterator[None]:
    """Objects of the commands, and Karpenter's kinds."""
    definitions = [_definition("NodePool"), _definition("NodeClaim")]
    up.kubectl("apply", "-f", "-", body={"apiVersion": "v1", "kind": "List", "items": [*definitions, *OBJECTS]})
    until(lambda: up.kubectl("get", "nodepools,nodeclaims", check=False).code == 0, 30, "Karpenter's kinds")
    up.kubectl("apply", "-f", "-", body={"apiVersion": "v1", "kind": "List", "items": KARPENTER})
    try:
        yield
    finally:
        up.kubectl("delete", "crd", *(one["metadata"]["name"] for one in definitions))
        up.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def pattern(words: list[str]) -> re.Pattern[str]:
    """Matches the command with any value in place of a placeholder, a blank such as NAME, or a body of JSON."""
    parts = []
    for word in words:
        free = word in ("...", "WHY", "URL") or word.startswith("{") or word.isupper()
        text = ".+" if free else re.escape(word.replace("=FILE", f"={PLACEHOLDER}"))
        parts.append(text.replace(re.escape(PLACEHOLDER), ".+"))
    return re.compile(" ".join(parts) + "( .*)?")


def test_every_printed_command_is_one_of_these():
    values = defaultdict(lambda: "any/value", dry="")
    filled = [one.format_map(values) for table in (MOORING, KUBECTL) for one in commands(table)]
    run = [" ".join(shlex.split(part)) for one in filled for part in re.split(r" (?:\||&&) ", one)]
    for printed in (*commands_of("mooring"), *commands_of("kubectl"), *commands_of("helm")):
        if any(printed.text == known or f"{known} {PLACEHOLDER}" in printed.text for known in ELSEWHERE):
            continue
        wanted = pattern(printed.words)
        assert any(wanted.fullmatch(one) for one in run), f"{printed.place}: {printed.text} is not run"


def test_commands_of_kubectl_work(named: Named):
    until(lambda: _restarted(named.up), 60, "a container that ended")
    for command in commands(KUBECTL):
        named.run(command)
    if "kubernetes" in named.up.arguments:
        named.up.kubectl("apply", "-f", "-", body=AUTOSCALER)
        named.run("kubectl -n {namespace} delete hpa guinea")


def _restarted(up: Up) -> bool:
    statuses = json.loads(up.kubectl("-n", NAMESPACE, "get", "pod", "crashed", "-o", "json").out)["status"]
    return any(one["restartCount"] for one in statuses.get("containerStatuses", ()))


def test_commands_of_mooring_work(named: Named):
    for command in commands(MOORING):
        named.run(command)
