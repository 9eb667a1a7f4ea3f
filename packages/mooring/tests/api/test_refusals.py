"""Whatever is wrong with a request, the answer is `{code, message, detail}` with a stable code, and never a 5xx."""

from typing import Any

import httpx
import pytest

HUGE = 10**20


def refusal(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body.keys() == {"code", "message", "detail"}
    assert body["code"] == code
    assert body["message"] and "\n" not in body["message"]
    return dict(body)


@pytest.mark.parametrize(
    "path",
    ["/v1/pools/runners/nope", "/v1/claims/nope", "/v1/nope", "/nope", "/static/nope.css", "/static/..%2fpages.py"],
)
def test_what_is_not_there_is_not_found(api: httpx.Client, path: str):
    refusal(api.get(path), 404, "not_found")


BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("GET", "/nope", 404, "not_found"),
        ("GET", "/v1/nope", 404, "not_found"),
        ("GET", "/v1/pools/runners/linus", 404, "runners/linux"),
        ("GET", "/claims?before=0", 400, "invalid_input"),
        ("GET", "/actions/claims/x/release", 404, "not_found"),
        ("GET", "/actions/pools/apply", 405, "method_not_allowed"),
        ("POST", "/actions/claims/nope/release", 404, "not_found"),
    ],
)
def test_a_browser_gets_a_page_with_the_reason_and_the_fix(
    api: httpx.Client, method: str, path: str, status: int, says: str
):
    content = {"Content-Type": "application/x-www-form-urlencoded"} if method == "POST" else {}
    answer = api.request(method, path, headers={**BROWSER, **content})
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (status, "text/html")
    assert says in answer.text and "<nav" in answer.text and answer.headers["content-security-policy"]


def test_what_a_browser_asked_for_is_escaped_in_the_page(api: httpx.Client):
    answer = api.get("/v1/pools/runners/%3Cscript%3E", headers=BROWSER)
    assert answer.status_code == 404 and "<script>" not in answer.text and "&lt;script&gt;" in answer.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/html", "text/plain", ""])
def test_other_clients_get_json(api: httpx.Client, accept: str):
    refusal(api.get("/nope", headers={"Accept": accept}), 404, "not_found")


def test_an_unknown_pool_is_answered_with_those_that_exist(api: httpx.Client):
    body = refusal(api.get("/v1/pools/runners/linus"), 404, "not_found")
    assert "runners/linux" in body["detail"]["fix"]


def test_claiming_from_an_unknown_pool_is_answered_with_those_that_exist(api: httpx.Client):
    body = refusal(api.post("/v1/pools/runners/linus/claims", json={"owner": "me"}), 404, "unknown_pool")
    assert "runners/linux" in body["detail"]["fix"]


def test_an_unknown_rule_is_answered_with_those_that_exist(api: httpx.Client):
    body = refusal(api.post("/v1/invariants/warm-flor/pause"), 404, "not_found")
    assert "warm-floor" in body["detail"]["fix"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("workers?state=sleeping", "state"),
        ("claims?state=running,sleeping", "state"),
        ("claims?limit=0", "limit"),
        ("claims?limit=1001", "limit"),
        ("claims?before=0", "before"),
        (f"claims?before={HUGE}", "before"),
        ("audit?outcome=great", "outcome"),
        ("audit?limit=ten", "limit"),
        ("audit?limit=-1", "limit"),
        ("audit?before=yesterday", "before"),
        (f"audit?before={HUGE}", "before"),
    ],
)
def test_a_wrong_value_in_a_query_is_refused_and_its_name_is_told(api: httpx.Client, query: str, field: str):
    body = refusal(api.get(f"/v1/{query}"), 400, "invalid_input")
    assert field in body["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"owner": "not a label!"}, "owner"),
        ({"owner": "<script>"}, "owner"),
        ({"owner": "two\nlines"}, "owner"),
        ({"owner": "x" * 300}, "owner"),
        ({"owner": "me", "ttlSeconds": 0}, "ttlSeconds"),
        ({"owner": "me", "ttlSeconds": -5}, "ttlSeconds"),
        ({"owner": "me", "ttlSeconds": HUGE}, "ttlSeconds"),
        ({"owner": "me", "wait": -1}, "wait"),
        ({"owner": "me", "priority": HUGE}, "priority"),
        ({"owner": "me", "idempotencyKey": "with space"}, "idempotencyKey"),
        ({"owner": "me", "surprise": 1}, "surprise"),
        ({"owner": 1}, "owner"),
        ([], "object"),
    ],
    ids=str,
)
def test_a_wrong_claim_is_refused_the_field_is_told_and_no_row_is_left(api: httpx.Client, body: object, field: str):
    before = api.get("/v1/claims?limit=1").json()["total"]
    told = refusal(api.post("/v1/pools/runners/linux/claims", json=body), 400, "invalid_input")
    assert field in f"{told['message']} {told['detail']}"
    assert api.get("/v1/claims?limit=1").json()["total"] == before


def test_a_claim_that_is_nobody_s_can_neither_be_kept_alive_nor_released(api: httpx.Client):
    asked = [
        api.post("/v1/claims/somebody-else/heartbeat", json={"epoch": 1}),
        api.delete("/v1/claims/somebody-else"),
        api.delete("/v1/claims/somebody-else?epoch=1"),
    ]
    messages = {refusal(answer, 404, "not_found")["message"] for answer in asked}
    assert messages == {"there is no claim 'somebody-else'"}


def test_epochs_that_no_database_holds_are_refused(api: httpx.Client):
    refusal(api.post("/v1/claims/x/heartbeat", json={"epoch": HUGE}), 400, "invalid_input")
    refusal(api.delete(f"/v1/claims/x?epoch={HUGE}"), 400, "invalid_input")


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"reason": 1}', b"[]", b'{"reason": "\\u0000"}', b'"text"'])
def test_a_body_that_cannot_be_read_is_refused(api: httpx.Client, body: bytes):
    refusal(api.post("/v1/invariants/adopted/pause", content=body), 400, "invalid_input")


BODIES = [
    "/v1/pools/runners/linux/claims",
    "/v1/claims/x/heartbeat",
    "/v1/submissions",
    "/v1/submissions/runners/x/cancel",
    "/v1/dispatch",
    "/v1/dispatch/heartbeat",
    "/v1/dispatch/done",
    "/v1/ledger/arm",
]
FLIPS = ["/v1/invariants/adopted/pause", "/v1/invariants/adopted/resume", "/v1/warmups/search/harbour-log/rewarm"]


@pytest.mark.parametrize("path", [*BODIES, *FLIPS])
@pytest.mark.parametrize(
    "body",
    [b'{"reason": "caf\xe9"}', b"\xff\xfe{\x00", b'{"reason": "\\ud800"}', b'{"reason": ' + b"[" * 100_000],
    ids=["latin-1", "utf-16", "half a pair", "too deep"],
)
def test_a_body_that_is_no_json_in_utf_8_is_named_and_so_is_the_fix(api: httpx.Client, path: str, body: bytes):
    told = refusal(api.post(path, content=body), 400, "invalid_input")
    assert told["message"].startswith("body: ") and "is not allowed" not in told["message"]
    assert "JSON in UTF-8" in told["detail"]["fix"]


@pytest.mark.parametrize("path", BODIES)
def test_a_body_that_did_not_come_is_said_to_be_missing(api: httpx.Client, path: str):
    told = refusal(api.post(path), 400, "invalid_input")
    assert told["message"] == "the body is missing"
    assert "JSON object" in told["detail"]["fix"]


def test_a_body_that_is_no_object_is_called_the_body(api: httpx.Client):
    told = refusal(api.post("/v1/pools/runners/linux/claims", content=b"null"), 400, "invalid_input")
    assert told["message"].startswith("body: ")
    assert told["detail"]["problems"][0]["key"] == "body"


def test_a_nul_in_a_query_is_refused(api: httpx.Client):
    refusal(api.get("/v1/audit?name=%00"), 400, "invalid_input")


@pytest.mark.parametrize("path", ["/v1/invariants/adopted/pause", "/v1/pools/runners/linux/claims", "/login"])
def test_a_body_of_two_megabytes_is_too_large(api: httpx.Client, path: str):
    refusal(api.post(path, content=b" " * 2_000_000), 413, "too_large")


def test_a_wrong_method_is_told(api: httpx.Client):
    refusal(api.put("/v1/pools"), 405, "method_not_allowed")


@pytest.mark.parametrize("marker", ["²".encode("latin-1"), b"9" * 5000, b"-1", b"x", b""])
def test_a_stream_resumed_from_nonsense_starts_now(api: httpx.Client, marker: bytes):
    with api.stream("GET", "/v1/events", headers={"Last-Event-ID": marker}) as answer:
        assert answer.status_code == 200
        assert next(answer.iter_lines()).startswith("id: ")


def test_a_stream_of_an_unknown_page_is_refused(stranger: httpx.Client):
    body = refusal(stranger.get("/stream?page=nope"), 400, "invalid_input")
    assert "fleet" in body["detail"]["fix"]


def test_nobody_writes_into_the_audit_trail_under_another_name(api: httpx.Client):
    body = {"reason": "it hangs", "actor": "somebody else"}
    refusal(api.post("/v1/workers/runners/linux-0/retire", json=body), 400, "invalid_input")
