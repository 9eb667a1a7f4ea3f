from packages.drydock.tests.api.caller import CONFIGMAPS, PODS, caller, pod

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def test_a_created_object_gets_its_identity_from_the_server() -> None:
    call = caller()
    sent = {"name": "a", "uid": "mine", "creationTimestamp": "2020-01-01T00:00:00Z", "selfLink": "/x"}
    answer = await call.post(CONFIGMAPS, {"metadata": sent, "data": {"k": "v"}})
    assert answer.status == 201
    assert answer.body["kind"] == "ConfigMap" and answer.body["apiVersion"] == "v1"
    assert answer.meta["uid"] != "mine"
    assert answer.meta["creationTimestamp"] == "2026-03-01T12:00:00Z"
    assert answer.meta["namespace"] == "default"
    assert "selfLink" not in answer.meta
    assert (await call.get(f"{CONFIGMAPS}/a")).body == answer.body


async def test_each_write_gets_a_higher_version_than_any_before() -> None:
    call = caller()
    first = await call.configmap("a")
    second = await call.pod("b")
    assert int(second.meta["resourceVersion"]) == int(first.meta["resourceVersion"]) + 1


async def test_a_name_that_exists_is_refused() -> None:
    call = caller()
    await call.configmap("a")
    answer = await call.post(CONFIGMAPS, {"metadata": {"name": "a"}})
    assert (answer.status, answer.message) == (409, 'configmaps "a" already exists')
    assert answer.body["reason"] == "AlreadyExists"
    assert answer.body["details"] == {"name": "a", "kind": "configmaps"}


async def test_a_name_that_is_only_just_going_still_exists() -> None:
    call = caller()
    await call.pod("a", node="n")
    await call.delete(f"{PODS}/a")
    answer = await call.post(PODS, pod("a"))
    assert (answer.status, answer.message) == (409, 'object is being deleted: pods "a" already exists')


async def test_generate_name_adds_five_letters() -> None:
    answer = await caller().post(CONFIGMAPS, {"metadata": {"generateName": "job-"}})
    assert answer.meta["name"].startswith("job-") and len(answer.meta["name"]) == 9
    assert answer.meta["generateName"] == "job-"


async def test_an_object_needs_a_name() -> None:
    answer = await caller().post(CONFIGMAPS, {"metadata": {}})
    assert answer.status == 422
    assert answer.message == (
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
    )


async def test_nothing_is_created_in_a_namespace_that_is_not_there() -> None:
    answer = await caller().post("/api/v1/namespaces/nowhere/pods", pod("a"))
    assert (answer.status, answer.message) == (404, 'namespaces "nowhere" not found')


async def test_nothing_is_created_in_a_namespace_that_is_going() -> None:
    call = caller()
    await call.post("/api/v1/namespaces", {"metadata": {"name": "going"}})
    await call.delete("/api/v1/namespaces/going")
    answer = await call.post("/api/v1/namespaces/going/configmaps", {"metadata": {"name": "a"}})
    assert answer.status == 403
    assert answer.message == (
        'configmaps "a" is forbidden: unable to create new content in namespace going because it is being terminated'
    )
    assert answer.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"


async def test_the_body_must_be_about_the_namespace_and_the_kind_of_the_path() -> None:
    call = caller()
    answer = await call.post(CONFIGMAPS, {"metadata": {"name": "a", "namespace": "other"}})
    assert answer.status == 400
    assert answer.message == "the namespace of the provided object does not match the namespace sent on the request"
    answer = await call.post(CONFIGMAPS, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}})
    assert answer.status == 400 and "cannot be handled as a ConfigMap" in answer.message


async def test_a_version_cannot_be_set_on_create() -> None:
    answer = await caller().post(CONFIGMAPS, {"metadata": {"name": "a", "resourceVersion": "5"}})
    assert (answer.status, answer.message) == (500, "resourceVersion should not be set on objects to be created")


async def test_a_dry_run_answers_as_if_and_stores_nothing() -> None:
    call = caller()
    answer = await call.post(f"{CONFIGMAPS}?dryRun=All", {"metadata": {"name": "a"}})
    assert answer.status == 201 and answer.meta["uid"] and "resourceVersion" not in answer.meta
    assert (await call.get(f"{CONFIGMAPS}/a")).status == 404
    refused = await call.post(f"{CONFIGMAPS}?dryRun=Some", {"metadata": {"name": "a"}})
    assert refused.message == (
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"'
    )


async def test_an_unknown_field_is_warned_about_refused_or_ignored_as_asked() -> None:
    call = caller()
    body = {"metadata": {"name": "a"}, "data": {"k": "v"}, "colour": "red"}
    warned = await call.post(f"{CONFIGMAPS}?dryRun=All", body)
    assert warned.status == 201 and warned.headers["warning"] == '299 - "unknown field \\"colour\\""'
    assert "colour" not in warned.body
    strict = await call.post(f"{CONFIGMAPS}?fieldValidation=Strict", body)
    assert strict.status == 400
    assert strict.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "colour"'
    )
    ignored = await call.post(f"{CONFIGMAPS}?fieldValidation=Ignore", body)
    assert ignored.status == 201 and "warning" not in ignored.headers


async def test_a_value_of_the_wrong_type_is_refused_in_the_words_of_the_decoder() -> None:
    answer = await caller().post(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"k": 1}})
    assert answer.status == 400
    assert answer.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct'
        " field ConfigMap.data of type string"
    )


async def test_a_null_in_a_list_or_a_map_is_an_empty_value() -> None:
    call = caller()
    answer = await call.post(CONFIGMAPS, {"metadata": {"name": "a", "labels": {"x": None}}, "data": {"k": None}})
    assert answer.meta["labels"] == {"x": ""} and answer.body["data"] == {"k": ""}
    wrong = await call.post(CONFIGMAPS, {"metadata": {"name": "b", "finalizers": [None]}})
    assert wrong.status == 422


async def test_a_body_may_be_yaml_and_must_be_readable() -> None:
    call = caller()
    text = b"metadata:\n  name: a\ndata:\n  day: '2026-03-01'\n"
    answer = await call("POST", CONFIGMAPS, text, type="application/yaml")
    assert answer.status == 201 and answer.body["data"] == {"day": "2026-03-01"}
    broken = await call("POST", CONFIGMAPS, b"{nope")
    assert broken.status == 400 and broken.message.startswith("the object provided is unrecognized")


async def test_a_body_over_three_megabytes_is_too_large() -> None:
    answer = await caller()("POST", CONFIGMAPS, b" " * (3 * 1024 * 1024 + 1))
    assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")


async def test_generation_starts_at_one_for_kinds_with_a_spec_to_follow() -> None:
    call = caller()
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = await call.post(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    assert deployment.meta["generation"] == 1
    assert "generation" not in (await call.configmap("a")).meta


async def test_what_a_client_set_is_listed_under_its_name() -> None:
    answer = await caller().post(f"{CONFIGMAPS}?fieldManager=me", {"metadata": {"name": "a"}, "data": {"k": "v"}})
    (entry,) = answer.meta["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Update")
    assert entry["fieldsV1"]["f:data"] == {".": {}, "f:k": {}}
    assert (await caller().configmap("b", labels={"x": "y"})).meta["managedFields"][0]["manager"] == "tests"


async def test_methods_and_resources_that_do_not_exist_are_told_apart() -> None:
    call = caller()
    missing = await call.get("/api/v1/namespaces/default/rockets")
    assert (missing.status, missing.message) == (404, "the server could not find the requested resource")
    assert (await call.get("/apis/apps/v9/deployments")).status == 404
    assert (await call.get("/api/v1/namespaces/default/nodes")).status == 404
    assert (await call.get(f"{PODS}/a/rockets")).status == 404
    wrong = await call.put("/api/v1/nodes", {"metadata": {"name": "n"}})
    assert (wrong.status, wrong.message) == (405, "the server does not allow this method on the requested resource")
    assert (await call.post("/api/v1/pods", pod("a"))).status == 405
    assert (await call.post("/api/v1/nodes/n", {})).status == 405
