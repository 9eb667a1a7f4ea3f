"""The routes that workers poll, as any client sees them."""

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hawser.resources import PODS
from mooring.client.connection import Connection, Endpoint
from mooring.client.errors import RemoteError
from mooring.model.claim import ClaimState
from packages.mooring.tests.client.dock import NAMESPACE, TOKEN


@pytest.fixture
def ours(dock):
    return Connection(Endpoint(dock.url, TOKEN))


def worker_of(dock, **spec):
    pool = dock.pool(dispatch="Poll", **spec)
    token = dock.worker_token(dock.pods(pool)[0].metadata.name)
    return pool, token, Connection(Endpoint(dock.url, token))


def claim(ours, pool, **wish):
    return ours.request("POST", f"/v1/pools/{pool}/claims", body={"owner": "acme", **wish})


def status_of(connection, path, body):
    with pytest.raises(RemoteError) as raised:
        connection.request("POST", path, body=body)
    return raised.value.status, raised.value.remote_code


def test_a_session_its_heartbeat_its_end_and_its_result(dock, ours):
    pool, _, worker = worker_of(dock)
    assert worker.request("POST", "/v1/dispatch", body={}) is None
    made = claim(ours, pool, payload={"task": 1}, ttlSeconds=30)
    session = worker.request("POST", "/v1/dispatch", body={"wait": 5, "state": "idle"})
    expected = {"claim": made["id"], "epoch": made["epoch"], "owner": "acme"}
    until = made["protectedUntil"]
    assert until and session == {**expected, "payload": {"task": 1}, "ttlSeconds": 30, "protectedUntil": until}
    assert worker.request("POST", "/v1/dispatch", body={"state": "executing"}) is None
    own = {"claim": made["id"], "epoch": made["epoch"]}
    beaten = worker.request("POST", "/v1/dispatch/heartbeat", body=own)
    assert (beaten["claim"], beaten["protectedUntil"]) == (made["id"], until)
    assert status_of(worker, "/v1/dispatch/heartbeat", {**own, "epoch": 0}) == (409, "stale_epoch")
    with pytest.raises(RemoteError) as raised:
        ours.get(f"/v1/claims/{made['id']}/result")
    assert (raised.value.status, raised.value.remote_code) == (404, "no_result")
    done = worker.request("POST", "/v1/dispatch/done", body={**own, "exitCode": 1, "output": "bad\n"})
    assert done == {"again": True}
    result = ours.get(f"/v1/claims/{made['id']}/result")
    assert (result["exitCode"], result["output"], result["epoch"]) == (1, "bad\n", made["epoch"])
    assert result["worker"] == f"{NAMESPACE}/{made['worker']['name']}"
    rows = ours.get("/v1/audit", {"action": "finish"})["items"]
    (row,) = [row for row in rows if row["name"] == made["id"]]
    assert row["evidence"] == {"exitCode": 1, "output": "bad\n"}, "the epoch is for the holder alone"
    assert row["id"] == f"finish/{made['id']}/1", "the first worker that the claim was bound to"


def test_only_workers_of_the_pool_get_sessions(dock, ours):
    pool, _, worker = worker_of(dock)
    nobody = Connection(Endpoint(dock.url, "nonsense"))
    assert status_of(nobody, "/v1/dispatch", {}) == (401, "unauthorized")
    assert status_of(ours, "/v1/dispatch", {}) == (401, "unauthorized")  # the API's own token is no worker's
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"stranger-{pool.split('/')[1]}"}}
    spec = {"containers": [{"name": "main", "image": "worker"}]}
    dock.call(dock.client.create(PODS, {**pod, "spec": spec}, NAMESPACE))
    stranger = Connection(Endpoint(dock.url, dock.worker_token(pod["metadata"]["name"])))
    assert status_of(stranger, "/v1/dispatch", {}) == (403, "forbidden")
    made = claim(ours, pool)
    for path in ("/v1/dispatch/heartbeat", "/v1/dispatch/done"):
        body = {"claim": made["id"], "epoch": made["epoch"], **({"exitCode": 0} if "done" in path else {})}
        assert status_of(stranger, path, body) == (403, "forbidden")
    assert dock.claim(made["id"]).state is ClaimState.RUNNING
    _, _, other = worker_of(dock)
    with pytest.raises(RemoteError) as raised:
        other.request("POST", "/v1/dispatch/heartbeat", body={"claim": made["id"], "epoch": 0})
    assert (raised.value.status, raised.value.remote_code) == (409, "stale_epoch")
    assert f"epoch {made['epoch']}" not in str(raised.value), "it is not the epoch of its own session"
    with pytest.raises(RemoteError) as raised:
        worker.get("/v1/claims")  # and a worker's token opens nothing else
    assert raised.value.status == 401


@pytest.mark.parametrize(
    "body",
    [
        {"wait": -1},
        {"wait": 31},
        {"wait": "long"},
        {"state": "sleeping"},
        {"unknown": 1},
        [],
    ],
)
def test_invalid_polls_are_refused(dock, body):
    _, _, worker = worker_of(dock)
    assert status_of(worker, "/v1/dispatch", body) == (400, "invalid_input")


def test_invalid_reports_are_refused(dock):
    _, _, worker = worker_of(dock)
    good = {"claim": "c", "epoch": 1, "exitCode": 0}
    for body in ({}, {**good, "exitCode": "zero"}, {**good, "exitCode": 2**40}, {**good, "output": "x" * 70_000}):
        assert status_of(worker, "/v1/dispatch/done", body) == (400, "invalid_input")
    assert status_of(worker, "/v1/dispatch/done", good) == (404, "not_found")


def test_a_poll_that_waits_is_answered_as_soon_as_there_is_a_session(dock, ours):
    pool, _, worker = worker_of(dock)
    with ThreadPoolExecutor(1) as pool_of_threads:
        polling = pool_of_threads.submit(worker.request, "POST", "/v1/dispatch", None, {"wait": 20})
        time.sleep(0.3)
        started = time.monotonic()
        made = claim(ours, pool)
        assert polling.result(10)["claim"] == made["id"]
        assert time.monotonic() - started < 2


def test_a_worker_that_disconnected_loses_no_session(dock, ours):
    pool, token, worker = worker_of(dock)
    host, port = dock.url.removeprefix("http://").split(":")
    body = json.dumps({"wait": 20}).encode()
    head = f"POST /v1/dispatch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection((host, int(port))) as gone:
        gone.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        time.sleep(0.3)
    time.sleep(0.2)
    made = claim(ours, pool)
    time.sleep(0.2)
    assert dock.claim(made["id"]).delivered_epoch is None
    assert worker.request("POST", "/v1/dispatch", body={"wait": 5})["claim"] == made["id"]


def test_the_output_of_a_session_is_kept_without_secrets_and_control_sequences(dock, ours):
    pool, _, worker = worker_of(dock)
    made = claim(ours, pool)
    worker.request("POST", "/v1/dispatch", body={"wait": 5, "state": "idle"})
    said = "\x1b[31mlogin\x1b[0m password=hunter2-canary\x00\nAuthorization: Bearer canary-0123456789abcdef\nplain\n"
    own = {"claim": made["id"], "epoch": made["epoch"]}
    worker.request("POST", "/v1/dispatch/done", body={**own, "exitCode": 0, "output": said})
    result = ours.get(f"/v1/claims/{made['id']}/result")
    assert result["output"] == "login password=***\nAuthorization: ***\nplain\n"
    assert "canary" not in json.dumps(ours.get("/v1/audit"))
