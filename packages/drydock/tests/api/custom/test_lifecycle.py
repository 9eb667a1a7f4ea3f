from typing import Any

from packages.drydock.tests.api.caller import APPLY, MERGE, STRATEGIC, all_events, caller, told

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROCKETS = "/apis/tests.dev/v1/namespaces/default/rockets"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(
    plural: str,
    kind: str,
    *,
    versions: tuple[str, ...] = ("v1",),
    properties: dict[str, Any] | None = None,
    subresources: dict[str, Any] | None = None,
    **names: Any,
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties or {"spec": OPEN, "status": OPEN}}
    served = [
        {
            "name": version,
            "served": True,
            "storage": version == versions[0],
            "schema": {"openAPIV3Schema": schema},
            **({"subresources": subresources} if subresources else {}),
        }
        for version in versions
    ]
    return {
        "metadata": {"name": f"{plural}.tests.dev"},
        "spec": {
            "group": "tests.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": served,
        },
    }


async def test_a_kind_is_served_as_soon_as_it_is_defined() -> None:
    call = caller()
    assert (await call.get(ROCKETS)).status == 404
    assert (await call.post(CRDS, definition("rockets", "Rocket"))).status == 201
    conditions = (await call.get(f"{CRDS}/rockets.tests.dev")).body["status"]["conditions"]
    assert {(one["type"], one["status"]) for one in conditions} == {("NamesAccepted", "True"), ("Established", "True")}
    made = await call.post(ROCKETS, {"metadata": {"name": "r"}, "spec": {"stages": 3}})
    assert (made.status, made.meta["generation"]) == (201, 1)
    listed = await call.get(ROCKETS)
    assert listed.body["kind"] == "RocketList"
    assert listed.body["items"][0]["kind"] == "Rocket", "items of custom lists say what they are"


async def test_discovery_and_openapi_follow_the_definitions() -> None:
    call = caller()
    assert "tests.dev" not in [group["name"] for group in (await call.get("/apis")).body["groups"]]
    await call.post(CRDS, definition("rockets", "Rocket", shortNames=["rk"]))
    assert "tests.dev" in [group["name"] for group in (await call.get("/apis")).body["groups"]]
    resources = (await call.get("/apis/tests.dev/v1")).body["resources"]
    assert resources[0]["name"] == "rockets" and resources[0]["shortNames"] == ["rk"]
    assert "apis/tests.dev/v1" in (await call.get("/openapi/v3")).body["paths"]
    await call.delete(f"{CRDS}/rockets.tests.dev")
    assert (await call.get("/apis/tests.dev/v1")).status == 404


async def test_a_custom_update_needs_a_version_and_knows_no_strategic_patch() -> None:
    call = caller()
    await call.post(CRDS, definition("rockets", "Rocket"))
    made = await call.post(ROCKETS, {"metadata": {"name": "r"}, "spec": {"stages": 3}})
    blind = await call.put(f"{ROCKETS}/r", {"metadata": {"name": "r"}, "spec": {"stages": 4}})
    assert blind.status == 422 and "must be specified for an update" in blind.message
    body = {**made.body, "spec": {"stages": 4}}
    assert (await call.put(f"{ROCKETS}/r", body)).meta["generation"] == 2
    assert (await call.patch(f"{ROCKETS}/r", {"spec": {"stages": 5}}, STRATEGIC)).status == 415
    assert (await call.patch(f"{ROCKETS}/r", {"spec": {"stages": 5}}, MERGE)).status == 200
    applied = {
        "apiVersion": "tests.dev/v1",
        "kind": "Rocket",
        "metadata": {"name": "s"},
        "spec": {"stages": 1},
    }
    assert (await call.patch(f"{ROCKETS}/s?fieldManager=me", applied, APPLY)).status == 201


async def test_a_schema_prunes_defaults_and_refuses() -> None:
    call = caller()
    spec = {
        "type": "object",
        "properties": {"stages": {"type": "integer", "minimum": 1}, "fuel": {"type": "string", "default": "kerosene"}},
    }
    await call.post(CRDS, definition("rockets", "Rocket", properties={"spec": spec}))
    made = await call.post(ROCKETS, {"metadata": {"name": "r"}, "spec": {"stages": 3, "paint": "red"}})
    assert made.body["spec"] == {"stages": 3, "fuel": "kerosene"}
    assert made.headers["warning"] == '299 - "unknown field \\"spec.paint\\""'
    refused = await call.post(ROCKETS, {"metadata": {"name": "s"}, "spec": {"stages": 0}})
    assert refused.status == 422 and "spec.stages" in refused.message


async def test_status_is_apart_where_the_definition_says_so() -> None:
    call = caller()
    await call.post(CRDS, definition("rockets", "Rocket", subresources={"status": {}}))
    made = await call.post(ROCKETS, {"metadata": {"name": "r"}, "spec": {"a": 1}, "status": {"height": 1}})
    assert "status" not in made.body
    body = {"spec": {"a": 2}, "status": {"height": 2}, "metadata": {"labels": {"x": "y"}}}
    through_status = await call.patch(f"{ROCKETS}/r/status", body)
    assert through_status.body["spec"] == {"a": 1} and through_status.body["status"] == {"height": 2}
    assert "labels" not in through_status.meta and through_status.meta["generation"] == 1
    through_spec = await call.patch(f"{ROCKETS}/r", body)
    assert through_spec.body["spec"] == {"a": 2} and through_spec.meta["generation"] == 2


async def test_an_object_is_the_same_in_every_version_of_its_kind() -> None:
    call = caller()
    await call.post(CRDS, definition("rockets", "Rocket", versions=("v1", "v1beta1")))
    await call.post(ROCKETS, {"metadata": {"name": "r"}, "spec": {"a": 1}})
    other = await call.get("/apis/tests.dev/v1beta1/namespaces/default/rockets/r")
    assert other.body["apiVersion"] == "tests.dev/v1beta1" and other.body["spec"] == {"a": 1}
    path = "/apis/tests.dev/v1beta1/namespaces/default/rockets"
    await call.patch(f"{path}/r", {"spec": {"a": 2}})
    assert (await call.get(f"{ROCKETS}/r")).body["apiVersion"] == "tests.dev/v1"
    assert (await call.get(path)).body["items"][0]["apiVersion"] == "tests.dev/v1beta1"


async def test_a_definition_takes_its_objects_with_it() -> None:
    call = caller()
    await call.post(CRDS, definition("rockets", "Rocket"))
    await call.post(ROCKETS, {"metadata": {"name": "r"}})
    watch = await call.open("GET", f"{ROCKETS}?watch=1&timeoutSeconds=1")
    await call.delete(f"{CRDS}/rockets.tests.dev")
    assert (await call.get(ROCKETS)).status == 404
    assert (await call.get(f"{CRDS}/rockets.tests.dev")).status == 404
    assert told(await all_events(watch)) == [("ADDED", "r"), ("DELETED", "r")]


async def test_a_definition_waits_for_objects_that_wait() -> None:
    call = caller()
    await call.post(CRDS, definition("rockets", "Rocket"))
    await call.post(ROCKETS, {"metadata": {"name": "r", "finalizers": ["tests.dev/hold"]}})
    going = await call.delete(f"{CRDS}/rockets.tests.dev")
    assert "customresourcecleanup.apiextensions.k8s.io" in going.meta["finalizers"]
    assert (await call.get(f"{ROCKETS}/r")).meta["deletionTimestamp"]
    await call.patch(f"{ROCKETS}/r", {"metadata": {"finalizers": None}})
    assert (await call.get(f"{CRDS}/rockets.tests.dev")).status == 404


async def test_names_already_taken_are_not_accepted_twice() -> None:
    call = caller()
    await call.post(CRDS, definition("rockets", "Rocket"))
    await call.post(CRDS, definition("missiles", "Rocket"))
    status = (await call.get(f"{CRDS}/missiles.tests.dev")).body["status"]
    assert {one["type"]: one["status"] for one in status["conditions"]}["Established"] == "False"
    assert (await call.get("/apis/tests.dev/v1/missiles")).status == 404


async def test_a_changed_definition_holds_from_the_next_write_on() -> None:
    call = caller()
    await call.post(CRDS, definition("rockets", "Rocket"))
    await call.post(ROCKETS, {"metadata": {"name": "r"}, "spec": {"stages": 0}})
    spec = {"type": "object", "properties": {"stages": {"type": "integer", "minimum": 1}}}
    changed = definition("rockets", "Rocket", properties={"spec": spec})["spec"]
    assert (await call.patch(f"{CRDS}/rockets.tests.dev", {"spec": changed})).status == 200
    assert (await call.post(ROCKETS, {"metadata": {"name": "s"}, "spec": {"stages": 0}})).status == 422
