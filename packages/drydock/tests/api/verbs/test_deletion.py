from typing import Any

from drydock.virtual.loop import VirtualLoop
from packages.drydock.tests.api.caller import CONFIGMAPS, PODS, Answer, Caller, caller

JOBS = "/apis/batch/v1/namespaces/default/jobs"
REPLICASETS = "/apis/apps/v1/namespaces/default/replicasets"


async def make_job(call: Caller, **metadata: Any) -> Answer:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return await call.post(JOBS, {"metadata": {"name": "j", **metadata}, "spec": {"template": template}})


async def make_replica_set(call: Caller) -> Answer:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return await call.post(REPLICASETS, {"metadata": {"name": "r"}, "spec": spec})


async def test_a_deletion_answers_with_a_status_that_names_what_is_gone() -> None:
    call = caller()
    uid = (await call.configmap("a")).meta["uid"]
    answer = await call.delete(f"{CONFIGMAPS}/a")
    assert answer.status == 200 and answer.body["status"] == "Success"
    assert answer.body["details"] == {"name": "a", "kind": "configmaps", "uid": uid}
    assert (await call.get(f"{CONFIGMAPS}/a")).status == 404
    assert (await call.delete(f"{CONFIGMAPS}/a")).status == 404


async def test_preconditions_protect_another_object_of_the_same_name() -> None:
    call = caller()
    uid = (await call.pod("a")).meta["uid"]
    answer = await call.delete(f"{PODS}/a", {"preconditions": {"uid": "other"}})
    assert answer.status == 409
    assert answer.message == (
        'Operation cannot be fulfilled on Pod "a": the UID in the precondition (other) does not match the UID in'
        f" record ({uid}). The object might have been deleted and then recreated"
    )
    assert (await call.delete(f"{PODS}/a", {"preconditions": {"uid": uid}})).status == 200


async def test_preconditions_protect_a_state_that_the_caller_has_not_seen() -> None:
    call = caller()
    version = (await call.pod("a")).meta["resourceVersion"]
    newer = (await call.patch(f"{PODS}/a", {"metadata": {"labels": {"claimed": "yes"}}})).meta["resourceVersion"]
    answer = await call.delete(f"{PODS}/a", {"preconditions": {"resourceVersion": version}})
    assert answer.status == 409
    assert answer.message == (
        f'Operation cannot be fulfilled on Pod "a": the ResourceVersion in the precondition ({version}) does not match'
        f" the ResourceVersion in record ({newer}). The object might have been modified"
    )
    assert (await call.get(f"{PODS}/a")).status == 200


async def test_a_pod_on_a_node_waits_for_its_kubelet() -> None:
    call = caller()
    await call.pod("a", node="n")
    going = await call.delete(f"{PODS}/a")
    assert going.meta["deletionTimestamp"] == "2026-03-01T12:00:30Z"
    assert going.meta["deletionGracePeriodSeconds"] == 30
    assert going.meta["generation"] == 2
    again = await call.delete(f"{PODS}/a")
    assert again.meta["resourceVersion"] == going.meta["resourceVersion"]
    assert (await call.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})).status == 200
    assert (await call.get(f"{PODS}/a")).status == 404


async def test_a_pod_without_a_node_and_one_that_has_finished_go_at_once() -> None:
    call = caller()
    await call.pod("unscheduled")
    await call.pod("finished", node="n")
    await call.patch(f"{PODS}/finished/status", {"status": {"phase": "Succeeded"}})
    for name in ("unscheduled", "finished"):
        assert (await call.delete(f"{PODS}/{name}")).meta["deletionGracePeriodSeconds"] == 0
        assert (await call.get(f"{PODS}/{name}")).status == 404


async def test_a_grace_period_can_be_shortened_and_not_lengthened() -> None:
    call = caller()
    await call.pod("a", node="n")
    await call.delete(f"{PODS}/a")
    await VirtualLoop.running().clock.sleep(2)
    shorter = await call.delete(f"{PODS}/a", {"gracePeriodSeconds": 5})
    assert shorter.meta["deletionTimestamp"] == "2026-03-01T12:00:05Z"
    assert shorter.meta["generation"] == 2
    longer = await call.delete(f"{PODS}/a", {"gracePeriodSeconds": 50})
    assert longer.meta["resourceVersion"] == shorter.meta["resourceVersion"]


async def test_a_grace_period_that_would_already_be_over_is_one_second_from_now() -> None:
    call = caller()
    await call.pod("a", node="n")
    await call.delete(f"{PODS}/a")
    await VirtualLoop.running().clock.sleep(20)
    answer = await call.delete(f"{PODS}/a", {"gracePeriodSeconds": 5})
    assert answer.meta["deletionTimestamp"] == "2026-03-01T12:00:20Z"
    assert answer.meta["deletionGracePeriodSeconds"] == 1


async def test_a_finalizer_keeps_an_object_until_it_is_taken_away() -> None:
    call = caller()
    await call.configmap("a", finalizers=["tests.dev/hold"])
    going = await call.delete(f"{CONFIGMAPS}/a")
    assert going.meta["deletionTimestamp"] == "2026-03-01T12:00:00Z"
    assert going.meta["deletionGracePeriodSeconds"] == 0
    again = await call.delete(f"{CONFIGMAPS}/a")
    assert again.meta["resourceVersion"] == going.meta["resourceVersion"]
    last = await call.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}})
    assert last.status == 200 and "finalizers" not in last.meta
    assert (await call.get(f"{CONFIGMAPS}/a")).status == 404


async def test_no_finalizer_can_be_added_to_what_is_going() -> None:
    call = caller()
    await call.pod("a", node="n")
    await call.delete(f"{PODS}/a")
    answer = await call.patch(f"{PODS}/a", {"metadata": {"finalizers": ["tests.dev/late"]}})
    assert answer.status == 422
    assert answer.message == (
        'Pod "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being'
        ' deleted, found new finalizers []string{"tests.dev/late"}'
    )
    assert (await call.patch(f"{PODS}/a", {"metadata": {"labels": {"still": "writable"}}})).status == 200


async def test_a_graceful_pod_with_a_finalizer_outlives_its_kubelets_last_word() -> None:
    call = caller()
    await call.pod("a", node="n", finalizers=["tests.dev/hold"])
    await call.delete(f"{PODS}/a")
    final = await call.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    assert final.meta["deletionGracePeriodSeconds"] == 0
    await call.patch(f"{PODS}/a", {"metadata": {"finalizers": None}})
    assert (await call.get(f"{PODS}/a")).status == 404


async def test_the_propagation_policy_leaves_work_for_the_collector() -> None:
    call = caller()
    await make_replica_set(call)
    foreground = await call.delete(f"{REPLICASETS}/r", {"propagationPolicy": "Foreground"})
    assert foreground.meta["finalizers"] == ["foregroundDeletion"] and foreground.meta["generation"] == 2
    orphaning = await call.delete(f"{REPLICASETS}/r", {"propagationPolicy": "Orphan"})
    assert orphaning.meta["finalizers"] == ["orphan"]
    assert (await call.delete(f"{REPLICASETS}/r", {"propagationPolicy": "Background"})).body["status"] == "Success"


async def test_a_job_deleted_without_a_policy_orphans_its_pods_and_says_so() -> None:
    call = caller()
    await make_job(call)
    answer = await call.delete(f"{JOBS}/j")
    assert answer.meta["finalizers"] == ["orphan"]
    assert answer.headers["warning"].startswith('299 - "child pods are preserved by default when jobs are deleted')
    await call.delete(f"{JOBS}/j", {"propagationPolicy": "Background"})
    assert (await call.get(f"{JOBS}/j")).status == 404


async def test_options_that_make_no_sense_are_refused() -> None:
    call = caller()
    await call.pod("a")
    answer = await call.delete(f"{PODS}/a", {"propagationPolicy": "Sideways"})
    assert answer.message == (
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported values:'
        ' "Foreground", "Background", "Orphan", "nil"'
    )
    assert (await call.delete(f"{PODS}/a?dryRun=Some")).status == 422
    assert (await call.delete(f"{PODS}/a", {"gracePeriodSeconds": "long"})).status == 400


async def test_a_dry_run_deletes_nothing() -> None:
    call = caller()
    await call.pod("a", node="n")
    assert "deletionTimestamp" in (await call.delete(f"{PODS}/a?dryRun=All")).meta
    assert "deletionTimestamp" not in (await call.get(f"{PODS}/a")).meta


async def test_a_collection_is_deleted_by_selector() -> None:
    call = caller()
    for name, colour in (("a", "red"), ("b", "red"), ("c", "blue")):
        await call.configmap(name, labels={"colour": colour})
    answer = await call.delete(f"{CONFIGMAPS}?labelSelector=colour=red")
    assert answer.body["kind"] == "ConfigMapList" and answer.names == ["a", "b"]
    assert (await call.get(CONFIGMAPS)).names == ["c"]


async def test_a_namespace_goes_when_its_own_finalizer_is_done() -> None:
    call = caller()
    path = "/api/v1/namespaces/going"
    await call.post("/api/v1/namespaces", {"metadata": {"name": "going"}})
    going = await call.delete(path)
    assert going.body["status"]["phase"] == "Terminating" and going.body["spec"]["finalizers"] == ["kubernetes"]
    assert (await call.delete(path)).meta["resourceVersion"] == going.meta["resourceVersion"]
    done = await call.put(f"{path}/finalize", {"metadata": {"name": "going"}, "spec": {"finalizers": []}})
    assert done.status == 200
    assert (await call.get(path)).status == 404


async def test_system_namespaces_stay() -> None:
    answer = await caller().delete("/api/v1/namespaces/kube-system")
    assert (answer.status, answer.message) == (
        403,
        'namespaces "kube-system" is forbidden: this namespace may not be deleted',
    )
