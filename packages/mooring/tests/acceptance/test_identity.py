"""Pods with an identity, as real processes on the sandbox and on a real control plane: kubectl inside, and tokens."""

import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from packages.mooring.tests.acceptance.services import PLACED, service_body, until_code
from packages.mooring.tests.acceptance.world import Up, until

NAMESPACE = "identity"
AUDIENCE = "api://AzureADTokenExchange"
TOKEN = "/var/run/secrets/identity/token"
SOURCE = {"serviceAccountToken": {"audience": AUDIENCE, "expirationSeconds": 3600, "path": "token"}}
SHAPE: dict[str, Any] = {
    "labels": {"azure.workload.identity/use": "true"},
    "serviceAccountName": "searcher",
    "volumes": [{"name": "identity", "projected": {"sources": [SOURCE]}}],
    "volumeMounts": [{"name": "identity", "mountPath": str(Path(TOKEN).parent), "readOnly": True}],
    "resources": {"requests": {"cpu": "10m"}},
}
LOOKING = [sys.executable, str(Path(__file__).with_name("looking_service.py")), TOKEN]


@pytest.fixture(scope="module")
def searcher(up: Up) -> Up:
    """An account that may list pods, made as docs/how-to/pods.md says."""
    up.kubectl("create", "namespace", NAMESPACE)
    inside = ("-n", NAMESPACE)
    up.kubectl(*inside, "create", "serviceaccount", "searcher")
    up.kubectl(*inside, "create", "role", "read-pods", "--verb=get,list", "--resource=pods")
    up.kubectl(
        *inside, "create", "rolebinding", "searcher", "--role=read-pods", f"--serviceaccount={NAMESPACE}:searcher"
    )
    return up


def review(up: Up, token: str, *audiences: str) -> dict[str, Any]:
    """What the API server says about a token."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token, **({"audiences": audiences} if audiences else {})},
    }
    return dict(json.loads(up.kubectl("create", "-f", "-", "-o", "json", body=body).out)["status"])


def test_a_service_runs_kubectl_inside_and_has_a_token_for_its_audience(searcher: Up):
    up = searcher
    up.kubectl("apply", "-f", "-", body=service_body(NAMESPACE, "looker", command=LOOKING, podTemplate=SHAPE))
    status = until_code(up, f"{NAMESPACE}/looker", "Serving")
    (pod,) = up.objects("-n", NAMESPACE, "pods", "-l", "mooring.dev/service=looker")
    assert pod["metadata"]["labels"]["azure.workload.identity/use"] == "true"
    assert f"pod/{pod['metadata']['name']}" in httpx.get(f"{status['url']}/pods", timeout=120).text.splitlines()
    token = httpx.get(f"{status['url']}/token", timeout=30).text
    known = review(up, token, AUDIENCE)
    assert known["authenticated"] and known["audiences"] == [AUDIENCE]
    assert known["user"]["username"] == f"system:serviceaccount:{NAMESPACE}:searcher"
    assert not review(up, token).get("authenticated"), "it is for that audience only"


def test_a_service_without_an_account_has_no_token(searcher: Up):
    up = searcher
    shape = {key: value for key, value in SHAPE.items() if key != "serviceAccountName"}
    up.kubectl("apply", "-f", "-", body=service_body(NAMESPACE, "plain", command=LOOKING, podTemplate=shape))
    status = until_code(up, f"{NAMESPACE}/plain", "Serving")
    assert "pod/" not in httpx.get(f"{status['url']}/pods", timeout=120).text


def test_a_step_of_a_submission_runs_kubectl_as_its_account(searcher: Up):
    body = {
        "namespace": NAMESPACE,
        "key": "look",
        "program": "kubectl",
        "args": ["get", "pods"],
        "batches": [{}],
        "placement": PLACED,
        "podTemplate": SHAPE,
    }
    with searcher.http() as http:
        made = http.post("/v1/submissions", json=body).raise_for_status().json()
        path = f"/v1/submissions/{NAMESPACE}/{made['name']}"

        def ended() -> dict[str, Any] | None:
            found: dict[str, Any] = http.get(path).json()
            return found if found["status"]["phase"] in ("Succeeded", "Failed", "Refused") else None

        done = until(ended, 90, "the submission ends", every=0.5)
        assert done["status"]["phase"] == "Succeeded", done["status"]
        lines = http.get(f"{path}/logs", params={"step": "batch-0"}).json()["lines"]
    assert any(line.startswith(f"{made['name']}-batch-0") for line in lines), lines


def test_a_warmup_fetches_as_its_account(searcher: Up):
    up = searcher
    script = f'kubectl get pods && cp "${{DRYDOCK_ROOT:-}}{TOKEN}" "$MOORING_SHARD_PATH/token"'
    spec = {
        "dataset": "identified",
        "image": "sh",
        "command": ["sh", "-c", script],
        "attempts": 1,
        "propagationSeconds": 0,
        "placement": PLACED,
        "podTemplate": SHAPE,
    }
    metadata = {"name": "identified", "namespace": NAMESPACE}
    body = {"apiVersion": "mooring.dev/v1alpha1", "kind": "Warmup", "metadata": metadata, "spec": spec}
    up.kubectl("apply", "-f", "-", body=body)

    def ready() -> bool:
        return bool(up.get(f"/v1/warmups/{NAMESPACE}/identified")["status"]["phase"] == "Ready")

    until(ready, 90, "the dataset is warm", every=0.5)
