from typing import Any

import pytest

from packages.drydock.tests.api.caller import PODS, Caller, caller, pod

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
NOT_READY = {
    "key": "node.kubernetes.io/not-ready",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 300,
}


def asking(name: str, **requests: str) -> dict[str, Any]:
    containers = [{"name": "main", "image": "i", "resources": {"requests": requests}}]
    return pod(name, spec={"containers": containers})


async def quota(call: Caller, **hard: str) -> None:
    limits = {name.replace("__", "/").replace("_", "."): text for name, text in hard.items()}
    assert (await call.post(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": limits}})).status == 201


async def test_a_pod_gets_an_account_a_priority_and_five_minutes_on_a_lost_node() -> None:
    spec = (await caller().pod("a")).body["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["tolerations"] == [NOT_READY, {**NOT_READY, "key": "node.kubernetes.io/unreachable"}]
    assert "volumes" not in spec, "no token is mounted that nobody asked for"


async def test_what_admission_adds_belongs_to_no_manager() -> None:
    (entry,) = (await caller().pod("a")).meta["managedFields"]
    assert not {"f:tolerations", "f:priority", "f:serviceAccountName"} & entry["fieldsV1"]["f:spec"].keys()


async def test_a_pods_own_tolerations_are_respected() -> None:
    mine = [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    ]
    spec = (await caller().pod("a", spec={"tolerations": mine})).body["spec"]
    assert spec["tolerations"] == [*mine, {**NOT_READY, "key": "node.kubernetes.io/unreachable"}]
    everything = [{"operator": "Exists"}]
    spec = (await caller().pod("b", spec={"tolerations": everything})).body["spec"]
    assert spec["tolerations"] == everything


async def test_an_account_that_is_not_there_is_refused() -> None:
    answer = await caller().post(PODS, pod("a", spec={"serviceAccountName": "robot"}))
    assert answer.status == 403
    assert answer.message == (
        'pods "a" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found'
    )


async def test_priority_comes_from_the_class_and_from_nowhere_else() -> None:
    call = caller()
    await call.post(CLASSES, {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"})
    spec = (await call.pod("a", spec={"priorityClassName": "high"})).body["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    missing = await call.post(PODS, pod("b", spec={"priorityClassName": "low"}))
    assert missing.message == 'pods "b" is forbidden: no PriorityClass with name low was found'
    chosen = await call.post(PODS, pod("b", spec={"priority": 7}))
    assert chosen.status == 403 and "priority admission controller computed 0" in chosen.message
    await call.post(CLASSES, {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True})
    spec = (await call.pod("c")).body["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (5, "usual")


async def test_a_new_node_takes_no_pods_before_it_is_known_to_be_ready() -> None:
    made = await caller().post("/api/v1/nodes", {"metadata": {"name": "n"}})
    assert made.body["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


async def test_system_namespaces_and_roles_are_there_from_the_start() -> None:
    call = caller()
    names = (await call.get("/api/v1/namespaces")).names
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    roles = (await call.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")).names
    assert {"cluster-admin", "admin", "edit", "view", "system:discovery", "system:basic-user"} <= set(roles)
    assert (await call.get(CLASSES)).names == ["system-cluster-critical", "system-node-critical"]


async def test_a_quota_counts_objects() -> None:
    call = caller()
    await quota(call, pods="1", count__configmaps="1", count__jobs_batch="0")
    await call.configmap("a")
    over = await call.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "b"}})
    assert over.status == 403
    assert over.message == (
        'configmaps "b" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=1,'
        " limited: count/configmaps=1"
    )
    await call.pod("a")
    assert "exceeded quota: q, requested: pods=1, used: pods=1" in (await call.post(PODS, pod("b"))).message
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"metadata": {"name": "j"}, "spec": {"template": template}}
    refused = await call.post("/apis/batch/v1/namespaces/default/jobs", job)
    assert refused.message.startswith('jobs.batch "j" is forbidden: exceeded quota: q, requested: count/jobs.batch=1')


async def test_a_quota_makes_room_when_something_finishes_or_goes() -> None:
    call = caller()
    await quota(call, pods="1")
    await call.pod("a", node="n")
    await call.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    await call.pod("b")
    assert (await call.post(PODS, pod("c"))).status == 403
    await call.delete(f"{PODS}/b")
    await call.pod("c")


async def test_a_quota_on_compute_adds_up_requests_and_wants_them() -> None:
    call = caller()
    await quota(call, requests_cpu="1", requests_memory="1Gi")
    assert (await call.post(PODS, asking("a", cpu="500m", memory="512Mi"))).status == 201
    over = await call.post(PODS, asking("b", cpu="600m", memory="768Mi"))
    assert over.message == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=600m,requests.memory=768Mi,'
        " used: requests.cpu=500m,requests.memory=512Mi, limited: requests.cpu=1,requests.memory=1Gi"
    )
    silent = await call.post(PODS, asking("c", memory="1Mi"))
    assert silent.message == 'pods "c" is forbidden: failed quota: q: must specify requests.cpu for: main'


async def test_a_quota_is_checked_also_in_a_dry_run_and_only_for_its_namespace() -> None:
    call = caller()
    await quota(call, pods="0")
    assert (await call.post(f"{PODS}?dryRun=All", pod("a"))).status == 403
    assert (await call.post("/api/v1/namespaces/kube-system/pods", pod("a"))).status == 201


@pytest.mark.parametrize("field", ["priority", "preemptionPolicy"])
async def test_a_put_that_leaves_out_what_admission_added_is_completed(field: str) -> None:
    call = caller()
    body = (await call.pod("a")).body
    del body["spec"][field]
    del body["spec"]["tolerations"]
    body["metadata"]["labels"] = {"x": "y"}
    answer = await call.put(f"{PODS}/a", body)
    assert answer.status == 200 and field in answer.body["spec"]
    assert len(answer.body["spec"]["tolerations"]) == 2
