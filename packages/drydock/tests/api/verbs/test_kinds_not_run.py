"""Kinds that no controller runs: they can be looked for and cleared away, and none can be made."""

import msgspec
import pytest

from drydock.api.discovery import Discovery
from drydock.api.kinds.builtin import BUILTIN_KINDS
from drydock.api.openapi.documents import OpenApi
from packages.drydock.tests.api.caller import APPLY, Caller, caller

NOT_RUN = {
    "StatefulSet": ("/apis/apps/v1", "statefulsets", "use a Deployment, or Pods named by you"),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", "use a Pod for each node"),
    "CronJob": ("/apis/batch/v1", "cronjobs", "use a Job for each run"),
    "ReplicationController": ("/api/v1", "replicationcontrollers", "use a Deployment or a ReplicaSet"),
}


def _body(kind: str) -> dict[str, object]:
    group_version = NOT_RUN[kind][0].removeprefix("/apis/").removeprefix("/api/")
    return {"apiVersion": group_version, "kind": kind, "metadata": {"name": "a"}, "spec": {}}


@pytest.mark.parametrize("kind", NOT_RUN)
async def test_a_create_is_refused_and_says_what_to_use(kind: str) -> None:
    base, plural, instead = NOT_RUN[kind]

    call = caller()
    path = f"{base}/namespaces/default/{plural}"
    created = await call.post(path, _body(kind))
    applied = await call.patch(f"{path}/a?fieldManager=me", _body(kind), type=APPLY)
    for refused in (created, applied):
        assert (refused.status, refused.body["reason"]) == (405, "MethodNotAllowed")
        assert refused.message == (
            f"{kind} is not supported: drydock has no controller that would run it; {instead}, or a real control plane"
        )
    assert (await call.get(path)).names == []
    assert (await call.get(f"{path}/a")).status == 404


@pytest.mark.parametrize("kind", NOT_RUN)
def test_discovery_and_openapi_say_the_same(kind: str) -> None:
    base, plural, _ = NOT_RUN[kind]
    discovered = Discovery(BUILTIN_KINDS).find(base, "")
    assert discovered is not None
    (resource,) = [one for one in msgspec.json.decode(discovered.body)["resources"] if one["name"] == plural]
    assert resource["kind"] == kind
    assert resource["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    described = OpenApi(BUILTIN_KINDS).find(f"/openapi/v3{base}")
    assert described is not None
    paths = msgspec.json.decode(described.body)["paths"]
    collection = f"{base}/namespaces/{{namespace}}/{plural}"
    assert "post" not in paths[collection] and "get" in paths[collection]
    # Without it kubectl validates by itself, and asks for an OpenAPI version 2 in protobuf to do so.
    named = {parameter["name"] for parameter in paths[f"{collection}/{{name}}"]["patch"]["parameters"]}
    assert "fieldValidation" in named


def _leave_behind(call: Caller, kind: str) -> None:
    """An object of an older state folder."""
    found = next(one for one in BUILTIN_KINDS if one.kind == kind)
    metadata: dict[str, object] = {
        "name": "a",
        "namespace": "default",
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    metadata |= {"finalizers": ["example.com/hold"]}
    cluster = call.api.cluster
    cluster.store.put(cluster.table(found), "default/a", {**_body(kind), "metadata": metadata})


@pytest.mark.parametrize("kind", NOT_RUN)
async def test_what_is_there_already_can_be_cleared_away(kind: str) -> None:
    base, plural, _ = NOT_RUN[kind]

    call = caller()
    path = f"{base}/namespaces/default/{plural}"
    _leave_behind(call, kind)
    assert (await call.get(path)).names == ["a"]
    assert (await call.delete(f"{path}/a")).status == 200
    assert (await call.get(f"{path}/a")).meta["deletionTimestamp"]
    assert (await call.patch(f"{path}/a", {"metadata": {"finalizers": None}})).status == 200
    assert (await call.get(f"{path}/a")).status == 404
