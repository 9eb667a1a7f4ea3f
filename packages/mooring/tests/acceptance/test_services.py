"""Services as real processes, on the sandbox and on a real control plane: why they fail, and that their fixes help."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from packages.mooring.tests.acceptance.services import ODD, read_service, run_fix, service_body, until_code
from packages.mooring.tests.acceptance.world import Up, until
from packages.mooring.tests.controllers.services.hands import fill_in

NAMESPACE, CRAMPED = "odd-services", "cramped-services"


@dataclass(frozen=True)
class Broken:
    """One broken service, and what its reader knows that Mooring cannot."""

    code: str
    says: str
    spec: dict[str, Any]
    blanks: dict[str, str] = field(default_factory=dict)
    namespace: str = NAMESPACE


def taken_from(name: str) -> dict[str, Any]:
    return {"env": [{"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": name, "key": "mode"}}}]}


PATH = {"</PATH>": "/openapi.json"}
BROKEN = {
    "no-placement": Broken("Unschedulable", "0 of 12 nodes fit", {"placement": {}}),
    "crash-loop": Broken("CrashLooping", "KeyError: 'MODE'", {"args": ["--needs", "MODE"]}, {"<VALUE>": "fast"}),
    "missing-key": Broken("ConfigMissing", "has no key mode", taken_from("half"), {"<VALUE>": "fast"}),
    "missing-map": Broken("ConfigMissing", "there is no ConfigMap none", taken_from("none"), {"<VALUE>": "fast"}),
    "start-refused": Broken("StartRefused", "cannot be started", {"command": ["/no/such"]}),
    "wrong-port": Broken("PortMismatch", "its log names port 9000", {"args": ["--port", "9000"]}),
    "probe-failing": Broken("ProbeFailing", "answered 500", {"openapiPath": "/broken"}),
    "no-document": Broken("DocumentNotFound", "answered 404", {"openapiPath": "/nothing"}, PATH),
    "html-document": Broken("DocumentInvalid", "it is not JSON", {"openapiPath": "/html"}, PATH),
    "redirect": Broken("DocumentRedirects", "302", {"openapiPath": "/moved"}, PATH),
    "quota": Broken("QuotaExceeded", "the quota none is used up", {}, namespace=CRAMPED),
    "missing-image": Broken("ImageNotFound", "(404)", {"image": "missing.example.invalid/odd:9"}, {"<TAG>": "latest"}),
    "private-image": Broken(
        "ImageUnauthorized",
        "(401)",
        {"image": "private.example.invalid/odd:1"},
        {"<USER>": "me", "<PASSWORD>": "secret"},
    ),
}


@pytest.fixture(scope="module")
def broken(up: Up) -> Iterator[Up]:
    """All of them at once, so that they fail side by side."""
    for namespace in (NAMESPACE, CRAMPED):
        up.kubectl("create", "namespace", namespace)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    up.kubectl("-n", CRAMPED, "create", "-f", "-", body=quota)
    up.kubectl("-n", NAMESPACE, "create", "configmap", "half", "--from-literal=other=x")
    items = [service_body(case.namespace, name, **case.spec) for name, case in BROKEN.items()]
    up.kubectl("apply", "-f", "-", body={"apiVersion": "v1", "kind": "List", "items": items})
    yield up
    up.kubectl("delete", "namespace", NAMESPACE, CRAMPED, "--wait=false")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_service_says_why(broken: Up, name: str):
    """And its fix is run at once: what it does is looked at when all of them have been run."""
    case = BROKEN[name]
    status = until_code(broken, f"{case.namespace}/{name}", case.code)
    assert status["phase"] == "Failed" and case.says in status["reason"]
    run_fix(broken, _filled_in(name, status["fix"]))


def _filled_in(name: str, fix: str) -> str:
    """With what its reader knows. A process has no other image: what is repaired is where it is asked."""
    match name:
        case "start-refused":
            return fix.replace('["<PROGRAM>"]', json.dumps(ODD))
        case "probe-failing":
            return fix.replace('"image": "<REPAIRED_IMAGE>"', '"image": "odd:2", "openapiPath": "/openapi.json"')
        case _:
            return fill_in(fix, BROKEN[name].blanks)


@pytest.mark.parametrize("name", BROKEN)
def test_a_service_whose_fix_was_run_serves(broken: Up, name: str):
    served = until_code(broken, f"{BROKEN[name].namespace}/{name}", "Serving")
    assert served["phase"] == "Serving" and served["api"] == {"title": "Odd", "endpoints": 2}
    assert served["url"].startswith("http://127.")


def test_the_demo_has_a_service_that_serves(up: Up):
    status = until_code(up, "harbour/tides", "Serving")
    assert status["api"] == {"title": "Tides", "endpoints": 2}
    with up.http() as http:
        document = http.get("/v1/services/harbour/tides/document").raise_for_status()
    assert document.headers["content-type"].startswith("application/json")
    assert "/tides/{harbour}" in document.json()["paths"]


def test_the_terminal_lists_services_and_says_which_exist(up: Up):
    until_code(up, "harbour/tides", "Serving")
    listed = up.command("services", "tides", "-o", "json")
    assert listed.code == 0 and '"title": "Tides"' in listed.out
    missing = up.command("services", "nobody")
    assert missing.code == 3 and "harbour/tides" in missing.err


def test_a_service_that_is_deleted_takes_everything_with_it(up: Up):
    up.kubectl("apply", "-f", "-", body=service_body("harbour", "short"))
    until_code(up, "harbour/short", "Serving")
    up.kubectl("-n", "harbour", "delete", "managedservice", "short", "--cascade=foreground")
    left = up.kubectl("-n", "harbour", "get", "deploy,svc,pdb,pods", "-l", "mooring.dev/service=short", "-o", "name")
    assert left.out == ""
    assert "short" not in {one["name"] for one in up.get("/v1/services")["items"]}
    assert read_service(up, "harbour/tides")["status"]["phase"] == "Serving"


def test_the_terminal_previews_applies_and_deletes_a_service(up: Up, tmp_path: Path):
    namespace, file = "ordered-services", tmp_path / "service.json"
    up.kubectl("create", "namespace", namespace)
    file.write_text(json.dumps(service_body(namespace, "ordered", placement={})))
    refused = up.command("services", "apply", "-f", str(file))
    assert refused.code == 1 and "0 of 12 nodes fit" in refused.err and "set in the spec" in refused.err
    assert up.objects("managedservices", "-n", namespace) == []
    file.write_text(json.dumps(service_body(namespace, "ordered")))
    assert up.command("services", "apply", "-f", str(file), "--dry-run").code == 0
    assert up.objects("managedservices", "-n", namespace) == []
    assert up.command("services", "apply", "-f", str(file), "--reason", "a test").code == 0
    until_code(up, f"{namespace}/ordered", "Serving")
    file.write_text(json.dumps(service_body(namespace, "ordered", replicas=2)))
    assert "updated" in up.command("services", "apply", "-f", str(file)).out
    assert "unchanged" in up.command("services", "apply", "-f", str(file)).out
    assert up.command("services", "delete", "ordered", "--yes").code == 0
    owned = "deployments,services,poddisruptionbudgets,pods"
    until(lambda: not up.objects(owned, "-n", namespace), 90, "what it owned is collected")
    up.kubectl("delete", "namespace", namespace, "--wait=false")
