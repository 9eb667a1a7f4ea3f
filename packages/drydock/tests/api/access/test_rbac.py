from typing import Any

import pytest

from packages.drydock.tests.api.caller import CONFIGMAPS, PODS, Caller, caller, pod

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/namespaces/default/roles"
BINDINGS = f"{RBAC}/namespaces/default/rolebindings"


async def grant(
    admin: Caller, *rules: dict[str, Any], subject: dict[str, Any] | None = None, everywhere: bool = False
) -> None:
    """Give alice, or another subject, some rules: in the default namespace or everywhere."""
    kind = "ClusterRole" if everywhere else "Role"
    roles, bindings = (f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings") if everywhere else (ROLES, BINDINGS)
    assert (await admin.post(roles, {"metadata": {"name": "r"}, "rules": list(rules)})).status == 201
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "r"}
    subject = subject or {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}
    body = {"metadata": {"name": "rb"}, "roleRef": reference, "subjects": [subject]}
    assert (await admin.post(bindings, body)).status == 201


def rule(*verbs: str, resources: list[str], group: str = "", names: list[str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"verbs": list(verbs), "apiGroups": [group], "resources": resources}
    return {**found, "resourceNames": names} if names else found


async def test_a_token_nobody_knows_is_unauthorized() -> None:
    answer = await Caller(caller().api, token="wrong").get(PODS)
    assert (answer.status, answer.message, answer.body["reason"]) == (401, "Unauthorized", "Unauthorized")
    basic = await Caller(caller().api, token="", headers={"authorization": "Basic YTpi"}).get(PODS)
    assert basic.status == 401


async def test_without_a_token_one_is_anonymous_and_sees_only_public_things() -> None:
    nobody = Caller(caller().api, token="")
    answer = await nobody.get(PODS)
    assert answer.status == 403 and 'User "system:anonymous" cannot list resource "pods"' in answer.message
    assert (await nobody.get("/readyz")).raw == b"ok"
    assert (await nobody.get("/version")).body["minor"] == "36"
    assert (await nobody.get("/metrics")).message == 'forbidden: User "system:anonymous" cannot get path "/metrics"'


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "GET",
            PODS,
            'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"',
        ),
        (
            "GET",
            "/api/v1/pods?watch=1",
            'pods is forbidden: User "alice" cannot watch resource "pods" in API group "" at the cluster scope',
        ),
        (
            "GET",
            "/api/v1/nodes/n",
            'nodes "n" is forbidden: User "alice" cannot get resource "nodes" in API group "" at the cluster scope',
        ),
        (
            "POST",
            f"{PODS}/a/eviction",
            'pods "a" is forbidden: User "alice" cannot create resource "pods/eviction" in API group "" in the'
            ' namespace "default"',
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/default/deployments",
            'deployments.apps is forbidden: User "alice" cannot deletecollection resource "deployments" in API group'
            ' "apps" in the namespace "default"',
        ),
    ],
)
async def test_who_is_not_allowed_is_told_what(method: str, path: str, message: str) -> None:
    answer = await Caller(caller().api, token="alice-token")(method, path)
    assert (answer.status, answer.message, answer.body["reason"]) == (403, message, "Forbidden")


async def test_a_role_allows_its_verbs_in_its_namespace() -> None:
    admin = caller()
    alice = Caller(admin.api, token="alice-token")
    await grant(admin, rule("get", "list", resources=["pods"]))
    assert (await alice.get(PODS)).status == 200
    assert (await alice.get("/api/v1/pods")).status == 403
    assert (await alice.get("/api/v1/namespaces/kube-system/pods")).status == 403
    assert (await alice.post(PODS, pod("a"))).status == 403
    assert (await alice.get(f"{PODS}/a/log")).status == 403


async def test_a_cluster_role_allows_everywhere_and_a_role_that_goes_takes_it_away() -> None:
    admin = caller()
    alice = Caller(admin.api, token="alice-token")
    await grant(admin, rule("*", resources=["*"]), everywhere=True)
    assert (await alice.get("/api/v1/pods")).status == 200
    assert (await alice.get("/apis/apps/v1/deployments")).status == 403
    await admin.delete(f"{RBAC}/clusterroles/r")
    assert (await alice.get("/api/v1/pods")).status == 403


async def test_resource_names_limit_a_rule_also_for_lists_of_one() -> None:
    admin = caller()
    alice = Caller(admin.api, token="alice-token")
    await admin.configmap("mine")
    await grant(admin, rule("get", "list", "watch", resources=["configmaps"], names=["mine"]))
    assert (await alice.get(f"{CONFIGMAPS}/mine")).status == 200
    assert (await alice.get(f"{CONFIGMAPS}/other")).status == 403
    assert (await alice.get(CONFIGMAPS)).status == 403
    assert (await alice.get(f"{CONFIGMAPS}?fieldSelector=metadata.name=mine")).status == 200


@pytest.mark.parametrize(
    ("resource", "allowed"), [("pods/log", True), ("*/log", True), ("pods", False), ("pods/*", False)]
)
async def test_a_subresource_is_allowed_by_its_own_name(resource: str, allowed: bool) -> None:
    admin = caller()
    await admin.pod("a")
    await grant(admin, rule("get", resources=[resource]))
    answer = await Caller(admin.api, token="alice-token").get(f"{PODS}/a/log")
    assert (answer.status == 204) is allowed


async def test_groups_and_service_accounts_are_subjects_too() -> None:
    admin = caller()
    await grant(admin, rule("list", resources=["pods"]), subject={"kind": "Group", "name": "devs"})
    assert (await Caller(admin.api, token="alice-token").get(PODS)).status == 200
    await admin.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
    body = {
        "metadata": {"name": "for-robot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
    }
    await admin.post(f"{RBAC}/clusterrolebindings", body)
    asked = await admin.post("/api/v1/namespaces/default/serviceaccounts/robot/token", {"spec": {}})
    robot = Caller(admin.api, token=asked.body["status"]["token"])
    assert (await robot.get("/api/v1/pods")).status == 200
    assert (await robot.get("/api/v1/secrets")).status == 403
    assert (await robot.post(PODS, pod("a"))).status == 403


async def test_aggregated_roles_hold_the_rules_of_those_they_select() -> None:
    admin = caller()
    alice = Caller(admin.api, token="alice-token")
    labels = {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}
    extra = {"metadata": {"name": "more", "labels": labels}, "rules": [rule("list", resources=["nodes"])]}
    await admin.post(f"{RBAC}/clusterroles", extra)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    body = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [{"kind": "User", "name": "alice"}]}
    await admin.post(f"{RBAC}/clusterrolebindings", body)
    assert (await alice.get("/api/v1/nodes")).status == 200
    assert (await alice.post(PODS, pod("a"))).status == 201
    assert (await alice.get(PODS)).status == 200, "an editor may read"


async def test_paths_are_allowed_by_prefix() -> None:
    admin = caller()
    await grant(admin, {"verbs": ["get"], "nonResourceURLs": ["/debug/*"]}, everywhere=True)
    alice = Caller(admin.api, token="alice-token")
    assert (await alice.get("/debug/pprof")).status == 404
    assert (await alice.get("/debug")).status == 403


async def test_one_may_act_as_another_if_allowed_to() -> None:
    admin = caller()
    as_alice = {"impersonate-user": "alice", "impersonate-group": "devs"}
    answer = await admin.get(PODS, **as_alice)
    assert answer.status == 403 and 'User "alice"' in answer.message
    alice = Caller(admin.api, token="alice-token")
    refused = await alice.get(PODS, **{"impersonate-user": "admin"})
    assert refused.message.startswith('users "admin" is forbidden: User "alice" cannot impersonate resource "users"')


async def test_a_review_tells_what_one_may_do_and_why() -> None:
    admin = caller()
    alice = Caller(admin.api, token="alice-token")
    await grant(admin, rule("get", resources=["pods"]))
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    wanted = {"verb": "get", "resource": "pods", "namespace": "default"}
    allowed = await alice.post(path, {"spec": {"resourceAttributes": wanted}})
    assert allowed.status == 201
    assert allowed.body["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "rb/default" of Role "r" to User "alice"',
    }
    denied = await alice.post(path, {"spec": {"resourceAttributes": {**wanted, "namespace": "kube-system"}}})
    assert denied.body["status"] == {"allowed": False}
    other = {"spec": {"user": "alice", "resourceAttributes": wanted}}
    about_her = await admin.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", other)
    assert about_her.body["status"]["allowed"] is True
    paths = {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/version"}}}
    assert (await alice.post(path, paths)).body["status"]["allowed"] is True
    assert (await alice.post(path, {"spec": {}})).status == 422


async def test_a_rules_review_lists_everything_one_may_do() -> None:
    admin = caller()
    await grant(admin, rule("get", resources=["pods"]))
    alice = Caller(admin.api, token="alice-token")
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status = (await alice.post(path, {"spec": {"namespace": "default"}})).body["status"]
    assert {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]} in status["resourceRules"]
    assert any("/version" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])


async def test_one_can_ask_who_one_is() -> None:
    alice = Caller(caller().api, token="alice-token")
    answer = await alice.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert answer.body["status"]["userInfo"] == {
        "username": "alice",
        "uid": "alice-uid",
        "groups": ["devs", "system:authenticated"],
    }
