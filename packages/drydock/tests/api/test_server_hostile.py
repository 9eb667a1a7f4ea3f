"""Whatever a client sends, it gets an answer with a Status, and the server lives on."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drydock.api.patch.json_patch import copy_json
from packages.drydock.tests.api.caller import (
    APPLY,
    CONFIGMAPS,
    JSON_PATCH,
    MERGE,
    PODS,
    Answer,
    caller,
    pod,
)
from packages.drydock.tests.api.custom.test_lifecycle import definition

NAMES = ["metadata", "spec", "status", "kind", "apiVersion", "name", "labels", "data", "uid", "finalizers", "target"]
NAMES += ["deleteOptions", "preconditions", "replicas", "containers", "resourceVersion", "audiences", "token", "rules"]
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "v1", "ConfigMap", "Pod", "\x00"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
WHOLE: list[Any] = [
    pod(
        "here",
        node="n",
        labels={"a": "b"},
        finalizers=["tests.dev/x"],
        ownerReferences=[{"kind": "K", "name": "n"}],
    ),
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "here", "labels": {"a": "b"}}, "data": {"k": "v"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "here"}, "status": {"conditions": [{"type": "Ready"}]}},
    {"apiVersion": "v1", "kind": "Pod", **pod("here")},
    definition("rockets", "Rocket", subresources={"status": {}}, shortNames=["rk"]),
    {"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
    {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "alice"}],
    },
    {"metadata": {"name": "here"}, "deleteOptions": {"gracePeriodSeconds": 1, "preconditions": {"uid": "u"}}},
    {"metadata": {"name": "here"}, "target": {"kind": "Node", "name": "n"}},
    {"spec": {"audiences": ["a"], "expirationSeconds": 600, "boundObjectRef": {"kind": "Pod", "apiVersion": "v1"}}},
    {"metadata": {"name": "d"}, "spec": {"replicas": 3}},
    {"spec": {"token": "t", "audiences": ["a"]}},
    {"spec": {"user": "u", "groups": ["g"], "resourceAttributes": {"verb": "get", "resource": "pods"}}},
    [{"op": "replace", "path": "/metadata/labels/a", "value": "c"}],
]


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, item in inner for path in paths(item, (*here, key)))]


def put_at(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = copy_json(value)
    target = copy
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = new
    return copy


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """Something that would be good, but for one place."""
    good = draw(st.sampled_from(WHOLE))
    return put_at(good, draw(st.sampled_from(paths(good))), draw(values))


DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/d"
TARGETS = [
    ("POST", CONFIGMAPS, "application/json"),
    ("POST", PODS, "application/json"),
    ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json"),
    ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", "application/json"),
    ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "application/json"),
    ("PUT", f"{CONFIGMAPS}/here", "application/json"),
    ("PUT", f"{PODS}/here", "application/json"),
    ("PUT", f"{PODS}/here/status", "application/json"),
    ("PUT", "/api/v1/namespaces/default/finalize", "application/json"),
    ("DELETE", f"{CONFIGMAPS}/here", "application/json"),
    ("PATCH", f"{CONFIGMAPS}/here", MERGE),
    ("PATCH", f"{PODS}/here", MERGE),
    ("PATCH", f"{PODS}/here/status", MERGE),
    ("PATCH", f"{PODS}/here", JSON_PATCH),
    ("PATCH", f"{CONFIGMAPS}/here?fieldManager=m", APPLY),
    ("PATCH", f"{PODS}/here?fieldManager=m", APPLY),
    ("POST", f"{PODS}/here/eviction", "application/json"),
    ("POST", f"{PODS}/here/binding", "application/json"),
    ("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", "application/json"),
    ("PUT", f"{DEPLOYMENT}/scale", "application/json"),
    ("PATCH", f"{DEPLOYMENT}/scale", MERGE),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", "application/json"),
    ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json"),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "application/json"),
]


async def send_all(method: str, path: str, type_: str, bodies: list[Any]) -> list[Answer]:
    call = caller()
    await call.configmap("here")
    await call.pod("here")
    await call.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await call.post(DEPLOYMENT.removesuffix("/d"), {"metadata": {"name": "d"}, "spec": spec})
    answers = [await call(method, path, body, type=type_) for body in bodies]
    assert (await call.get("/api/v1/namespaces")).status == 200
    return answers


@pytest.mark.parametrize(("method", "path", "type_"), TARGETS)
@given(bodies=st.lists(values | damaged() | st.sampled_from(WHOLE), min_size=1, max_size=20))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_any_body_is_answered(method: str, path: str, type_: str, bodies: list[Any]) -> None:
    for answer in await send_all(method, path, type_, bodies):
        assert answer.status < 600 and (answer.status < 300 or answer.body["kind"] == "Status")


queries = st.lists(
    st.tuples(
        st.sampled_from(
            ["limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector", "pretty"]
        ),
        st.text(st.characters(codec="ascii"), max_size=8).filter(lambda text: "&" not in text),
    ),
    max_size=3,
)


@given(found=st.lists(queries, min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
async def test_any_query_is_answered(found: list[list[tuple[str, str]]]) -> None:
    call = caller()
    for query in found:
        answer = await call.get(f"{PODS}?" + "&".join(f"{key}={value}" for key, value in query))
        assert answer.status == 200 or answer.body["kind"] == "Status"


async def test_a_quantity_too_long_to_hold_is_a_bad_request() -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "9" * 1000}}
    answer = await caller().post(PODS, body)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
