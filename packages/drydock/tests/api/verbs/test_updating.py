from packages.drydock.tests.api.caller import (
    APPLY,
    CONFIGMAPS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    caller,
)

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


async def test_an_update_with_a_stale_version_is_a_conflict() -> None:
    call = caller()
    await call.configmap("a")
    answer = await call.put(f"{CONFIGMAPS}/a", {"metadata": {"name": "a", "resourceVersion": "1"}})
    assert answer.status == 409
    assert answer.message == f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}'


async def test_an_update_without_a_version_overwrites_blindly_where_the_kind_allows_it() -> None:
    call = caller()
    await call.configmap("a")
    assert (await call.put(f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "v"}})).status == 200
    await call.post(BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1}})
    answer = await call.put(f"{BUDGETS}/b", {"metadata": {"name": "b"}, "spec": {"minAvailable": 2}})
    assert answer.status == 422
    assert answer.message == (
        'poddisruptionbudgets.policy "b" is invalid: metadata.resourceVersion: Invalid value: 0:'
        " must be specified for an update"
    )


async def test_an_update_that_changes_nothing_writes_nothing() -> None:
    call = caller()
    made = await call.post(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    same = await call.put(f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "v"}})
    assert same.meta["resourceVersion"] == made.meta["resourceVersion"]
    assert (await call.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})).body == made.body
    assert call.api.cluster.store.version == int(made.meta["resourceVersion"])


async def test_a_put_about_another_object_is_refused() -> None:
    call = caller()
    uid = (await call.configmap("a")).meta["uid"]
    answer = await call.put(f"{CONFIGMAPS}/a", {"metadata": {"name": "b"}})
    assert (answer.status, answer.message) == (
        400,
        "the name of the object (b) does not match the name on the URL (a)",
    )
    other = await call.put(f"{CONFIGMAPS}/a", {"metadata": {"name": "a", "uid": "other"}})
    assert other.status == 409
    assert other.message.endswith(f"Precondition failed: UID in precondition: other, UID in object meta: {uid}")


async def test_a_put_creates_only_the_kinds_that_are_made_that_way() -> None:
    call = caller()
    assert (await call.put(f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}})).status == 404
    assert (await call.put(f"{LEASES}/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}})).status == 201


async def test_a_patch_with_a_wrong_uid_says_that_the_field_is_immutable() -> None:
    call = caller()
    await call.pod("a")
    for kind_of_patch in (MERGE, STRATEGIC):
        answer = await call.patch(f"{PODS}/a", {"metadata": {"uid": "other"}}, kind_of_patch)
        assert answer.status == 422
        assert answer.message == 'Pod "a" is invalid: metadata.uid: Invalid value: "other": field is immutable'
        assert answer.body["details"]["causes"][0]["field"] == "metadata.uid"


async def test_a_patch_with_a_stale_version_is_a_conflict_and_with_the_right_one_is_not() -> None:
    call = caller()
    version = (await call.pod("a")).meta["resourceVersion"]
    stale = {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}}
    assert (await call.patch(f"{PODS}/a", stale)).status == 409
    fresh = {"metadata": {"resourceVersion": version, "labels": {"x": "y"}}}
    assert (await call.patch(f"{PODS}/a", fresh)).meta["labels"] == {"x": "y"}


async def test_a_json_patch_whose_test_fails_is_unprocessable() -> None:
    call = caller()
    await call.pod("a")
    operations = [{"op": "test", "path": "/metadata/name", "value": "b"}]
    answer = await call.patch(f"{PODS}/a", operations, JSON_PATCH)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}]
    assert (await call.patch(f"{PODS}/a", operations, JSON_PATCH)).meta["labels"] == {"x": "y"}


async def test_patches_that_cannot_be_read_or_applied_are_told_apart() -> None:
    call = caller()
    await call.configmap("a")
    assert (await call.patch(f"{CONFIGMAPS}/missing", {})).status == 404
    assert (await call.patch(f"{CONFIGMAPS}/a", {}, "text/plain")).status == 415
    assert (await call.patch(f"{CONFIGMAPS}/a", [])).status == 400
    assert (await call("PATCH", f"{CONFIGMAPS}/a", b"{nope", type=MERGE)).message.startswith("error decoding patch: ")
    assert (await call.patch(f"{CONFIGMAPS}/a", {"data": 5})).status == 422
    assert (await call.patch(f"{CONFIGMAPS}/a", {"kind": "Pod"})).status == 422
    assert (await call.patch(f"{CONFIGMAPS}/a?fieldValidation=Strict", {"colour": "red"})).status == 422
    forced = await call.patch(f"{CONFIGMAPS}/a?force=true", {})
    assert forced.message.endswith("force: Forbidden: may not be specified for non-apply patch")


async def test_a_dry_run_of_a_patch_shows_the_change_and_keeps_the_object() -> None:
    call = caller()
    made = await call.configmap("a")
    answer = await call.patch(f"{CONFIGMAPS}/a?dryRun=All", {"data": {"k": "v"}})
    assert answer.body["data"] == {"k": "v"}
    assert answer.meta["resourceVersion"] == made.meta["resourceVersion"]
    assert "data" not in (await call.get(f"{CONFIGMAPS}/a")).body


async def test_an_apply_creates_what_is_missing_and_changes_what_is_there() -> None:
    call = caller()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    assert (await call.patch(f"{CONFIGMAPS}/a?fieldManager=me", body, APPLY)).status == 201
    again = await call.patch(f"{CONFIGMAPS}/a?fieldManager=me", {**body, "data": {"k": "w"}}, APPLY)
    assert (again.status, again.body["data"]) == (200, {"k": "w"})
    assert again.meta["managedFields"][0]["operation"] == "Apply"
    unchanged = await call.patch(f"{CONFIGMAPS}/a?fieldManager=me", {**body, "data": {"k": "w"}}, APPLY)
    assert unchanged.meta["resourceVersion"] == again.meta["resourceVersion"]


async def test_an_apply_with_a_uid_never_resurrects() -> None:
    call = caller()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "gone"}}
    answer = await call.patch(f"{CONFIGMAPS}/a?fieldManager=me", body, APPLY)
    assert answer.status == 409
    assert answer.message == (
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid gone,'
        " and no existing object was found"
    )


async def test_an_apply_of_another_managers_field_is_a_conflict_until_forced() -> None:
    call = caller()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    await call.patch(f"{CONFIGMAPS}/a?fieldManager=me", body, APPLY)
    theirs = {**body, "data": {"k": "w"}}
    assert (await call.patch(f"{CONFIGMAPS}/a?fieldManager=you", theirs, APPLY)).status == 409
    assert (await call.patch(f"{CONFIGMAPS}/a?fieldManager=you&force=true", theirs, APPLY)).body["data"] == {"k": "w"}


async def test_an_apply_needs_a_manager_and_says_its_kind() -> None:
    call = caller()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert "fieldManager: Required value" in (await call.patch(f"{CONFIGMAPS}/a", body, APPLY)).message
    answer = await call.patch(f"{CONFIGMAPS}/a?fieldManager=me", {"metadata": {"name": "a"}}, APPLY)
    assert (answer.status, answer.message) == (400, "invalid object type: /, Kind=")


async def test_generation_rises_with_the_spec_and_only_with_it() -> None:
    call = caller()
    await call.post(BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1}})
    labelled = await call.patch(f"{BUDGETS}/b", {"metadata": {"labels": {"x": "y"}}})
    assert labelled.meta["generation"] == 1
    changed = await call.patch(f"{BUDGETS}/b", {"spec": {"minAvailable": 2}})
    assert changed.meta["generation"] == 2
    assert (await call.patch(f"{BUDGETS}/b", {"metadata": {"generation": 9}})).meta["generation"] == 2


async def test_status_changes_only_through_its_own_path_and_that_changes_nothing_else() -> None:
    call = caller()
    await call.post(BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1}})
    both = {"spec": {"minAvailable": 5}, "status": {"disruptionsAllowed": 3}}
    through_status = await call.patch(f"{BUDGETS}/b/status", both)
    assert through_status.body["spec"]["minAvailable"] == 1
    assert through_status.body["status"]["disruptionsAllowed"] == 3
    through_spec = await call.patch(f"{BUDGETS}/b", {"spec": {"minAvailable": 5}, "status": {"disruptionsAllowed": 9}})
    assert through_spec.body["spec"]["minAvailable"] == 5
    assert through_spec.body["status"]["disruptionsAllowed"] == 3


async def test_system_fields_survive_an_update_that_leaves_them_out() -> None:
    call = caller()
    made = await call.configmap("a", finalizers=["tests.dev/hold"])
    await call.delete(f"{CONFIGMAPS}/a")
    changed = await call.put(f"{CONFIGMAPS}/a", {"metadata": {"name": "a", "finalizers": ["tests.dev/hold"]}})
    assert changed.meta["uid"] == made.meta["uid"]
    assert changed.meta["creationTimestamp"] == made.meta["creationTimestamp"]
    assert changed.meta["deletionTimestamp"] and changed.meta["deletionGracePeriodSeconds"] == 0
