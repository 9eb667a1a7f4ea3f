"""Services over HTTP: previewed, created, updated and deleted, with real processes behind them."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from packages.mooring.tests.acceptance.services import ODD, until_code
from packages.mooring.tests.acceptance.world import Up, until

NAMESPACE = "api-services"
SPEC = {"image": "odd:1", "command": ODD, "port": 8080, "placement": {"nodePool": "blast"}}


@pytest.fixture(scope="module")
def namespace(up: Up) -> Iterator[str]:
    up.kubectl("create", "namespace", NAMESPACE)
    yield NAMESPACE
    up.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def put(api: httpx.Client, name: str, body: object, **query: str) -> httpx.Response:
    return api.put(f"/v1/services/{NAMESPACE}/{name}", json=body, params=query)


def test_a_dry_run_answers_with_the_preflight_and_writes_nothing(api: httpx.Client, namespace: str):
    answer = put(api, "dry", {**SPEC, "placement": {}}, dryRun="true")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["action"], found["dryRun"], found["preflight"]["ok"]) == ("create", True, False)
    assert "0 of 12 nodes fit" in found["preflight"]["message"]
    assert found["preflight"]["fix"] == 'set in the spec: {"placement": {"nodePool": "blast"}}'
    assert put(api, "dry", SPEC, dryRun="true").json()["preflight"]["ok"] is True
    assert api.get(f"/v1/services/{namespace}/dry").status_code == 404


@pytest.mark.parametrize("query", [{"dryrun": "true"}, {"dry_run": "true"}, {"dryRun": "true", "force": "yes"}])
def test_a_misspelt_parameter_of_an_order_is_refused_and_nothing_is_written(
    api: httpx.Client, namespace: str, query: dict[str, str]
):
    answers = put(api, "typo", SPEC, **query), api.delete(f"/v1/services/{namespace}/typo", params=query)
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input"), answer.text
        assert "dryRun" in answer.json()["detail"]["fix"]
    assert api.get(f"/v1/services/{namespace}/typo").status_code == 404


def test_a_wrong_value_is_reported_under_the_name_that_the_client_sent(api: httpx.Client, namespace: str):
    assert put(api, "dry", SPEC, dryRun="maybe").json()["message"].startswith("dryRun: ")


def test_a_service_is_created_serves_is_updated_and_deleted_with_what_it_owns(
    api: httpx.Client, up: Up, namespace: str
):
    made = put(api, "life", SPEC, reason="first")
    assert made.status_code == 201 and made.json()["service"]["uid"]
    until_code(up, f"{namespace}/life", "Serving")
    again = put(api, "life", SPEC)
    assert (again.status_code, again.json()["action"]) == (200, "unchanged")
    manifest = up.objects("managedservices", "-n", namespace)[0]
    manifest["spec"]["replicas"] = 2
    manifest["metadata"].pop("resourceVersion")
    grown = put(api, "life", manifest)  # as kubectl prints it
    assert grown.status_code == 200 and grown.json()["changes"] == ["replicas: 1 -> 2"], grown.text
    assert grown.json()["newPods"] is False
    other = put(api, "life", {"metadata": {"uid": "somebody"}, "spec": SPEC})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")

    path = f"/v1/services/{namespace}/life"
    assert api.delete(path, params={"uid": "somebody"}).status_code == 409
    assert api.delete(path, params={"dryRun": "true"}).json()["dryRun"] is True
    gone = api.delete(path, params={"reason": "not needed"})
    assert (gone.status_code, gone.json()["action"]) == (202, "delete")
    until(lambda: not up.objects("deployments,services,poddisruptionbudgets,pods", "-n", namespace), 60, "all is gone")
    until(lambda: api.get(path).status_code == 404, 10, "it is forgotten")
    assert api.delete(path).status_code == 404
    rows = api.get("/v1/audit", params={"name": "life", "namespace": namespace, "actor": "operator"}).json()["items"]
    given = [(row["action"], row["reason"]) for row in rows if row["reason"]]
    assert given == [("delete", "not needed"), ("create", "first")]


@pytest.mark.parametrize(
    ("name", "body", "status", "says"),
    [
        ("wrong", {**SPEC, "port": 0}, 400, "spec.port"),
        ("wrong", {**SPEC, "port": "80"}, 400, "port"),
        ("wrong", {**SPEC, "imgae": "x"}, 400, "spec.imgae"),
        ("9wrong", SPEC, 400, "metadata.name"),
        ("wrong", [], 400, "body"),
        ("wrong", {"kind": "Pod", "spec": SPEC}, 400, "kind"),
    ],
)
def test_a_wrong_order_is_refused_by_its_field(
    api: httpx.Client, namespace: str, name: str, body: Any, status: int, says: str
):
    answer = put(api, name, body)
    assert answer.status_code == status and says in answer.json()["message"], answer.text


def test_a_namespace_that_is_not_there_is_not_found(api: httpx.Client):
    answer = api.put("/v1/services/nowhere/api", json=SPEC)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
