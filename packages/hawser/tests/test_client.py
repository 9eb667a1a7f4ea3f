"""Each verb is one request, and each answer is a view or an exception."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from hawser.client import KubeClient
from hawser.errors import (
    AnswerUnreadable,
    ConnectionFailed,
    EvictionBlocked,
    Gone,
    InvalidInput,
    ObjectConflict,
    ObjectNotFound,
    ServerFailed,
)
from hawser.pages import Listing
from hawser.resources import DEPLOYMENTS, JOBS, NODES, PODS, SERVICEACCOUNTS
from hawser.transport import Request, Response
from hawser.views import Pod
from packages.hawser.tests.answers import FakeApi, chunked, refusal, whole

POD = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u1", "resourceVersion": "7"},
    "status": {"podIP": "10.0.0.1"},
}
START = datetime(2026, 3, 1, tzinfo=UTC)


def asked(api: FakeApi) -> tuple[str, str, dict[str, str], Any]:
    request = api.last
    return request.method, request.path, dict(request.query), json.loads(request.body) if request.body else None


def pages(*answers: Response) -> FakeApi:
    rest = iter(answers)
    return FakeApi(lambda request: next(rest))


def page(names: list[str], next_page: str = "", version: str = "50") -> Response:
    items = [{"metadata": {"name": name}} for name in names]
    return whole({"metadata": {"resourceVersion": version, "continue": next_page}, "items": items})


async def list_pods(api: FakeApi) -> Listing[Pod]:
    return await KubeClient(api).list(PODS, "ns", page_size=2)


async def test_get_reads_a_view() -> None:
    api = FakeApi(lambda request: whole(POD))
    pod = await KubeClient(api, user_agent="mooring/1").get(PODS, "p", "ns")
    assert (pod.metadata.uid, pod.status.pod_ip) == ("u1", "10.0.0.1")
    assert asked(api) == ("GET", "/api/v1/namespaces/ns/pods/p", {}, None)
    assert api.last.headers["user-agent"] == "mooring/1"


async def test_get_raw_reads_everything() -> None:
    api = FakeApi(lambda request: whole({**POD, "unheard": [1]}))
    assert (await KubeClient(api).get(PODS.raw(), "p", "ns"))["unheard"] == [1]


async def test_a_list_is_whole_over_its_pages() -> None:
    api = pages(page(["a", "b"], "more"), page(["c"]))
    found = await list_pods(api)
    assert [pod.metadata.name for pod in found.items] == ["a", "b", "c"]
    assert found.resource_version == "50"
    assert [dict(request.query) for request in api.requests] == [{"limit": "2"}, {"limit": "2", "continue": "more"}]


async def test_a_list_never_asks_for_the_servers_stale_cache() -> None:
    api = pages(page([]))
    await list_pods(api)
    assert "resourceVersion" not in dict(api.last.query)


async def test_items_may_be_null() -> None:
    assert (await list_pods(pages(whole({"metadata": {"resourceVersion": "1"}, "items": None})))).items == []


async def test_a_page_that_expired_starts_the_list_again() -> None:
    api = pages(page(["old"], "more", "50"), refusal(410, "Expired"), page(["a"], "m2", "60"), page(["b"], "", "60"))
    found = await list_pods(api)
    assert [pod.metadata.name for pod in found.items] == ["a", "b"]
    assert found.resource_version == "60"


async def test_a_list_that_expires_twice_is_no_list() -> None:
    api = pages(page(["a"], "x"), refusal(410, "Expired"), page(["a"], "x"), refusal(410, "Expired"))
    with pytest.raises(Gone):
        await list_pods(api)
    assert len(api.requests) == 4


async def test_a_failure_in_mid_list_is_never_a_short_list() -> None:
    with pytest.raises(ServerFailed):
        await list_pods(pages(page(["a"], "x"), refusal(500, "InternalError")))


async def test_selectors_are_passed_on() -> None:
    api = pages(page([]))
    await KubeClient(api).list(PODS, label_selector="a in (b,c)", field_selector="spec.nodeName=n")
    assert api.last.path == "/api/v1/pods"
    assert dict(api.last.query) == {"labelSelector": "a in (b,c)", "fieldSelector": "spec.nodeName=n", "limit": "500"}


async def test_items_of_a_raw_list_know_their_kind() -> None:
    found = await KubeClient(pages(page(["a"]))).list(DEPLOYMENTS.raw())
    assert found.items[0]["kind"] == "Deployment"
    assert found.items[0]["apiVersion"] == "apps/v1"


async def test_create_names_the_kind_and_takes_the_namespace_from_the_body() -> None:
    api = FakeApi(lambda request: whole(POD, 201))
    body = {"metadata": {"name": "p", "namespace": "ns"}}
    created = await KubeClient(api).create(PODS, body, dry_run=True, field_manager="pool")
    assert created.metadata.resource_version == "7"
    method, path, query, sent = asked(api)
    assert (method, path) == ("POST", "/api/v1/namespaces/ns/pods")
    assert query == {"dryRun": "All", "fieldManager": "pool"}
    assert sent == {"apiVersion": "v1", "kind": "Pod", **body}
    assert body == {"metadata": {"name": "p", "namespace": "ns"}}


async def test_create_without_a_namespace_is_refused_before_it_is_sent() -> None:
    api = FakeApi(lambda request: whole(POD))
    with pytest.raises(InvalidInput, match=r"metadata\.namespace"):
        await KubeClient(api).create(PODS, {"metadata": {"name": "p"}})
    assert api.requests == []


async def test_create_of_a_subresource_goes_to_its_object() -> None:
    api = FakeApi(lambda request: whole({"status": {"token": "t"}}, 201))
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"name": "sa"}, "spec": {}}
    answer = await KubeClient(api).create(SERVICEACCOUNTS.raw(), body, "ns", subresource="token")
    assert answer["status"]["token"] == "t"
    assert asked(api)[1] == "/api/v1/namespaces/ns/serviceaccounts/sa/token"
    assert asked(api)[3]["kind"] == "TokenRequest"


async def test_update_puts_the_whole_object_back() -> None:
    api = FakeApi(lambda request: whole(POD))
    await KubeClient(api).update(PODS, POD, subresource="status")
    assert asked(api)[:2] == ("PUT", "/api/v1/namespaces/ns/pods/p/status")


async def test_update_without_a_resource_version_would_overwrite_and_is_refused() -> None:
    api = FakeApi(lambda request: whole(POD))
    with pytest.raises(InvalidInput, match=r"metadata\.resourceVersion"):
        await KubeClient(api).update(PODS, {"metadata": {"name": "p", "namespace": "ns"}})
    assert api.requests == []


async def test_the_three_patches_differ_in_their_content_type() -> None:
    async def patch(api: FakeApi) -> None:
        client = KubeClient(api)
        await client.merge_patch(PODS, "p", {"metadata": {"uid": "u1"}}, "ns", field_manager="m", dry_run=True)
        await client.json_patch(PODS, "p", [{"op": "test", "path": "/a", "value": 1}], "ns")
        await client.apply(NODES, {"metadata": {"name": "n"}, "spec": {}}, field_manager="m", force=True)

    api = FakeApi(lambda request: whole(POD))
    await patch(api)
    merge, operations, apply = api.requests
    assert merge.headers["content-type"] == "application/merge-patch+json"
    assert dict(merge.query) == {"dryRun": "All", "fieldManager": "m"}
    assert json.loads(merge.body or b"") == {"metadata": {"uid": "u1"}}
    assert operations.headers["content-type"] == "application/json-patch+json"
    assert json.loads(operations.body or b"") == [{"op": "test", "path": "/a", "value": 1}]
    assert apply.headers["content-type"] == "application/apply-patch+yaml"
    assert dict(apply.query) == {"fieldManager": "m", "force": "true"}
    assert json.loads(apply.body or b"") == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "spec": {},
    }


async def test_delete_carries_its_preconditions() -> None:
    api = FakeApi(lambda request: whole({"kind": "Status", "status": "Success"}))
    deletion = KubeClient(api).delete(
        JOBS, "j", "ns", uid="u", resource_version="7", propagation="Background", grace_seconds=0
    )
    await deletion
    method, path, query, sent = asked(api)
    assert (method, path, query) == ("DELETE", "/apis/batch/v1/namespaces/ns/jobs/j", {})
    assert sent["preconditions"] == {"uid": "u", "resourceVersion": "7"}
    assert sent["propagationPolicy"] == "Background"
    assert sent["gracePeriodSeconds"] == 0


async def test_delete_of_a_nameless_object_never_becomes_a_delete_of_all() -> None:
    api = FakeApi(lambda request: whole({}))
    with pytest.raises(InvalidInput):
        await KubeClient(api).delete(PODS, "", "ns")
    assert api.requests == []


async def test_evict_goes_through_the_eviction_api() -> None:
    api = FakeApi(lambda request: whole({"kind": "Status", "status": "Success"}, 201))
    await KubeClient(api).evict("p", "ns", uid="u", resource_version="7", grace_seconds=30)
    method, path, _, sent = asked(api)
    assert (method, path) == ("POST", "/api/v1/namespaces/ns/pods/p/eviction")
    assert (sent["kind"], sent["apiVersion"], sent["metadata"]["name"]) == ("Eviction", "policy/v1", "p")
    assert sent["deleteOptions"] == {
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "gracePeriodSeconds": 30,
    }


async def test_a_budget_that_says_no_is_told_apart() -> None:
    api = FakeApi(lambda request: refusal(429, "TooManyRequests", causes=[{"reason": "DisruptionBudget"}]))
    with pytest.raises(EvictionBlocked):
        await KubeClient(api).evict("p", "ns")


async def test_logs_are_text_whatever_their_bytes() -> None:
    api = FakeApi(lambda request: chunked(b"one\n", b"\xff two"))
    text = await KubeClient(api).logs("p", "ns", container="c", tail_lines=60, previous=True, limit_bytes=9)
    assert text == "one\n\ufffd two"
    assert dict(api.last.query) == {"container": "c", "tailLines": "60", "previous": "true", "limitBytes": "9"}


async def test_a_token_is_reviewed_for_its_audiences() -> None:
    user = {"username": "system:serviceaccount:ns:w", "uid": "u", "groups": ["g"], "extra": {"pod": ["p"]}}
    api = FakeApi(lambda request: whole({"status": {"authenticated": True, "user": user, "audiences": ["mooring"]}}))
    result = await KubeClient(api).review_token("secret", ["mooring"])
    assert result.authenticated
    assert (result.username, result.groups, result.audiences) == ("system:serviceaccount:ns:w", ("g",), ("mooring",))
    assert result.extra == {"pod": ("p",)}
    assert asked(api)[1] == "/apis/authentication.k8s.io/v1/tokenreviews"
    assert asked(api)[3]["spec"] == {"token": "secret", "audiences": ["mooring"]}


async def test_a_refused_token_says_why() -> None:
    api = FakeApi(lambda request: whole({"status": {"user": {}, "error": "invalid bearer token"}}))
    result = await KubeClient(api).review_token("x", [])
    assert not result.authenticated
    assert result.error == "invalid bearer token"


async def test_can_i_asks_for_this_very_thing() -> None:
    api = FakeApi(lambda request: whole({"status": {"allowed": False, "evaluationError": "no role"}}))
    result = await KubeClient(api).can_i("patch", PODS, namespace="ns", subresource="status")
    assert (result.allowed, result.reason) == (False, "no role")
    assert asked(api)[3]["spec"]["resourceAttributes"] == {
        "verb": "patch",
        "version": "v1",
        "resource": "pods",
        "subresource": "status",
        "namespace": "ns",
    }


async def test_refusals_are_exceptions() -> None:
    async def get(answer: Response) -> None:
        await KubeClient(FakeApi(lambda request: answer)).get(PODS, "p", "ns")

    with pytest.raises(ObjectNotFound):
        await get(refusal(404, "NotFound"))
    with pytest.raises(ObjectConflict):
        await get(refusal(409, "Conflict"))


@pytest.mark.parametrize("body", [b"", b"not json", b'{"metadata":{"name":"p"'])
async def test_an_answer_cut_short_leaves_the_outcome_open(body: bytes) -> None:
    with pytest.raises(AnswerUnreadable) as caught:
        await KubeClient(FakeApi(lambda request: chunked(body))).get(PODS, "p", "ns")
    assert isinstance(caught.value, ConnectionFailed)


async def test_an_answer_that_never_ends_is_given_up_in_time() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    with pytest.raises(ConnectionFailed):
        await KubeClient(FakeApi(lambda request: Response(200, {}, endless()))).get(PODS, "p", "ns")
    assert asyncio.get_running_loop().time() == pytest.approx(30)


async def test_nothing_is_retried() -> None:
    def fail(request: Request) -> Response:
        raise ConnectionFailed("no route")

    api = FakeApi(fail)
    with pytest.raises(ConnectionFailed):
        await KubeClient(api).get(PODS, "p", "ns")
    assert len(api.requests) == 1
