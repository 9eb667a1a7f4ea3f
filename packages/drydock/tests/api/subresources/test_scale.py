from typing import Any

import pytest

from packages.drydock.tests.api.caller import JSON_PATCH, Caller, caller
from packages.drydock.tests.api.custom.test_lifecycle import CRDS, definition

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
POOLS = "/apis/tests.dev/v1/namespaces/default/pools"


async def make_deployment(call: Caller, selector: dict[str, Any] | None = None) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": selector or {"matchLabels": {"app": "web"}}, "template": template}
    made = await call.post(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    assert made.status == 201, made.raw


async def test_the_scale_of_a_deployment_shows_its_replicas_and_selector() -> None:
    call = caller()
    await make_deployment(call)
    scale = await call.get(f"{DEPLOYMENTS}/d/scale")
    assert (scale.body["kind"], scale.body["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale.body["spec"] == {"replicas": 2}
    assert scale.body["status"] == {"replicas": 0, "selector": "app=web"}
    whole = await call.get(f"{DEPLOYMENTS}/d")
    assert scale.meta["uid"] == whole.meta["uid"]
    assert scale.meta["resourceVersion"] == whole.meta["resourceVersion"]


async def test_a_selector_with_expressions_is_written_out() -> None:
    call = caller()
    expressions = [
        {"key": "app", "operator": "In", "values": ["web", "api"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "app", "operator": "Exists"},
        {"key": "app", "operator": "NotIn", "values": ["db"]},
    ]
    await make_deployment(call, {"matchLabels": {"app": "web"}, "matchExpressions": expressions})
    selector = (await call.get(f"{DEPLOYMENTS}/d/scale")).body["status"]["selector"]
    assert selector == "!old,app,app in (api,web),app notin (db),app=web"


async def test_replicas_are_set_by_update_and_by_patch() -> None:
    call = caller()
    await make_deployment(call)
    put = await call.put(f"{DEPLOYMENTS}/d/scale", {"metadata": {"name": "d"}, "spec": {"replicas": 3}})
    assert put.body["spec"]["replicas"] == 3
    assert (await call.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 4}})).body["spec"]["replicas"] == 4
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 5}]
    assert (await call.patch(f"{DEPLOYMENTS}/d/scale", operations, JSON_PATCH)).body["spec"]["replicas"] == 5
    whole = await call.get(f"{DEPLOYMENTS}/d")
    assert whole.body["spec"]["replicas"] == 5 and whole.meta["generation"] == 4
    assert any(entry.get("subresource") == "scale" for entry in whole.meta["managedFields"])


async def test_a_stale_scale_is_a_conflict_and_a_negative_one_nonsense() -> None:
    call = caller()
    await make_deployment(call)
    stale = {"metadata": {"name": "d", "resourceVersion": "1"}, "spec": {"replicas": 3}}
    assert (await call.put(f"{DEPLOYMENTS}/d/scale", stale)).status == 409
    negative = await call.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": -4}})
    assert negative.message == (
        'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -4: must be greater than or equal to 0'
    )
    assert (await call.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": "many"}})).status == 422
    assert (await call.get(f"{DEPLOYMENTS}/missing/scale")).status == 404
    assert (await call.post(f"{DEPLOYMENTS}/d/scale", {})).status == 405


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_custom_kind_scales_along_the_paths_it_declares(method: str) -> None:
    call = caller()
    scale = {
        "specReplicasPath": ".spec.warm",
        "statusReplicasPath": ".status.workers",
        "labelSelectorPath": ".status.selector",
    }
    await call.post(CRDS, definition("pools", "Pool", subresources={"scale": scale, "status": {}}))
    await call.post(POOLS, {"metadata": {"name": "p"}, "spec": {"warm": 1}})
    await call.patch(f"{POOLS}/p/status", {"status": {"workers": 7, "selector": "pool=p"}})
    body = {"metadata": {"name": "p"}, "spec": {"replicas": 9}}
    if method == "PUT":
        body["metadata"]["resourceVersion"] = (await call.get(f"{POOLS}/p")).meta["resourceVersion"]
        answer = await call.put(f"{POOLS}/p/scale", body)
    else:
        answer = await call.patch(f"{POOLS}/p/scale", body)
    assert answer.body["spec"] == {"replicas": 9}
    assert answer.body["status"] == {"replicas": 7, "selector": "pool=p"}
    assert (await call.get(f"{POOLS}/p")).body["spec"] == {"warm": 9}
