"""Submissions over HTTP, with real processes behind them."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packages.mooring.tests.acceptance.world import Up, until

ECHO = "import json, sys; open(sys.argv[1], 'w').write(json.dumps(sys.argv[2:]))"
NASTY = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="\"'`;&|$(){}\\ \n\r\t-=abcXYZ7é☃", max_size=20),
    st.sampled_from(
        ["$(HOME)", "$$(HOME)", "$HOME", "--outfmt", "-outfmt", "7 std staxids ssciname", "--", "", "*", "~"]
    ),
)


def order(key: str, **changes: Any) -> dict[str, Any]:
    return {
        "namespace": "default",
        "key": key,
        "program": "python3",
        "batches": [{}],
        "placement": {"nodePool": "blast"},
        **changes,
    }


def ended(api: httpx.Client, name: str, within: float = 60) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = api.get(f"/v1/submissions/default/{name}").json()
        return found if found["status"]["phase"] in ("Succeeded", "Failed", "Refused") else None

    return until(look, within, f"{name} ends")


def test_a_submission_is_accepted_runs_and_is_the_same_when_it_is_sent_again(api: httpx.Client):
    body = order("api-1", args=["-c", "print('hello')"], setup={}, finalizer={})
    first = api.post("/v1/submissions", json=body)
    assert first.status_code == 201 and first.json()["status"]["phase"] == "Pending"
    again = api.post("/v1/submissions", json=body)
    assert again.status_code == 200 and again.json()["name"] == first.json()["name"]
    other = api.post("/v1/submissions", json={**body, "program": "ls"})
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")
    done = ended(api, first.json()["name"])
    assert done["status"]["phase"] == "Succeeded" and done["status"]["jobs"]["succeeded"] == 3
    log = api.get("/v1/submissions/default/api-1/logs", params={"step": "batch-0"})
    assert log.json()["lines"] == ["hello"]
    assert [one["key"] for one in api.get("/v1/submissions").json()["items"]].count("api-1") == 1


def manifest(key: str, **changes: Any) -> dict[str, Any]:
    spec = {name: value for name, value in order(key).items() if name != "namespace"}
    metadata = {"name": "mine", "namespace": "default", "labels": {"team": "search"}}
    whole = {"apiVersion": "mooring.dev/v1alpha1", "kind": "Submission", "metadata": metadata, "spec": spec}
    return {**whole, **changes}


def test_a_whole_manifest_is_taken_and_is_the_same_submission_as_its_fields(api: httpx.Client):
    plain = order("api-m", args=["-c", "print('hello')"])
    whole = manifest("api-m", status={"phase": "Pending"})
    whole["spec"]["args"] = plain["args"]
    first = api.post("/v1/submissions", json=whole)
    assert first.status_code == 201, first.text
    assert (first.json()["namespace"], first.json()["name"], first.json()["key"]) == ("default", "mine", "api-m")
    again = api.post("/v1/submissions", json=plain)
    assert again.status_code == 200 and again.json()["name"] == first.json()["name"]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another kind": (manifest("api-w", kind="Job"), "kind"),
    "another version": (manifest("api-w", apiVersion="batch/v1"), "apiVersion"),
    "no spec": ({"kind": "Submission", "metadata": {"name": "x"}, "key": "k", "program": "p"}, "spec"),
    "a field beside the spec": (manifest("api-w", program="ls"), "program"),
    "two namespaces": (manifest("api-w", namespace="other"), "namespace"),
    "a value in the spec": (manifest("api-w", spec={**manifest("k")["spec"], "program": "a b"}), "spec.program"),
    "a value of the fields": (order("api-w", program="a b"), "spec.program"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_in_both_forms(api: httpx.Client, case: str):
    body, field = WRONG[case]
    refused = api.post("/v1/submissions", json=body)
    assert refused.status_code == 400 and refused.json()["detail"]["field"] == field, refused.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (manifest("k", spec={"batches": [{"argss": []}]}), ("spec.batches", "argss")),
        (order("k", batches=[{"argss": []}]), ("batches", "argss")),
        (manifest("k", spec={"retry": {"attempts": "many"}}), ("spec.retry.attempts", "int")),
        (order("k", retry={"attempts": "many"}), ("retry.attempts", "int")),
        (manifest("k", spec={"bogus": 1}), ("spec", "bogus")),
        (manifest("k", spec=[]), ("spec", "object")),
    ],
)
def test_a_field_of_the_wrong_type_or_name_is_named_in_both_forms(
    api: httpx.Client, body: dict[str, Any], words: tuple[str, str]
):
    refused = api.post("/v1/submissions", json=body)
    assert refused.status_code == 400
    assert all(word in refused.json()["message"] for word in words), refused.text


def test_a_quote_in_outfmt_is_a_400_that_names_field_value_and_form(api: httpx.Client):
    refused = api.post("/v1/submissions", json=order("api-2", options={"-outfmt": '"7 std staxids ssciname"'}))
    assert refused.status_code == 400
    told = refused.json()
    assert told["code"] == "invalid_input" and told["detail"]["field"] == "spec.options[-outfmt]"
    assert "staxids" in told["message"] and "free of" in told["detail"]["fix"]
    assert api.get("/v1/submissions/default/api-2").status_code == 404


def test_a_failure_carries_pod_container_exit_code_and_log_lines(api: httpx.Client):
    code = "import sys; print('no such database', file=sys.stderr); sys.exit(9)"
    made = api.post("/v1/submissions", json=order("api-3", args=["-c", code], retry={"attempts": 1})).json()
    failure = ended(api, made["name"])["status"]["failure"]
    assert failure["exitCode"] == 9 and failure["container"] == "main"
    assert failure["pod"].startswith(made["name"]) and failure["logs"] == ["no such database"]


def test_a_slow_login_is_ridden_out_without_a_shell(api: httpx.Client, tmp_path: Path):
    attempts = tmp_path / "attempts"
    tmp_path.chmod(0o777)
    slow = f"import os, sys; open({str(attempts)!r}, 'a').write('x'); sys.exit(os.path.getsize({str(attempts)!r}) < 3)"
    login = {"command": ["python3", "-c", slow], "delaySeconds": 1}
    made = api.post("/v1/submissions", json=order("api-4", args=["-c", "print('in')"], login=login)).json()
    assert ended(api, made["name"])["status"]["phase"] == "Succeeded"
    assert attempts.read_text() == "xxx"


def test_a_step_whose_every_login_fails_ends_with_exit_code_2_and_says_so(api: httpx.Client):
    login = {"command": ["python3", "-c", "import sys; sys.exit(7)"], "attempts": 2, "delaySeconds": 0}
    body = order("api-login", args=["-c", "print('in')"], login=login, retry={"attempts": 1})
    failure = ended(api, api.post("/v1/submissions", json=body).json()["name"])["status"]["failure"]
    assert failure["exitCode"] == 2
    assert failure["logs"] == [
        "login attempt 1 of 2 failed: 7",
        "login attempt 2 of 2 failed: 7",
        "no login succeeded in 2 attempts: the program was not started",
    ]


@pytest.mark.parametrize("body", [{}, {"key": "x"}, {"key": "x", "program": "p", "batches": [{"argss": []}]}])
def test_what_cannot_be_read_is_a_400(api: httpx.Client, body: dict[str, Any]):
    assert api.post("/v1/submissions", json=body).status_code == 400


def test_only_what_has_ended_can_be_removed(api: httpx.Client):
    made = api.post("/v1/submissions", json=order("api-5", args=["-c", "import time; time.sleep(60)"])).json()
    path = f"/v1/submissions/default/{made['name']}"
    assert api.delete(path).status_code == 409
    assert api.post(f"{path}/cancel", json={"reason": "enough"}).status_code == 200
    assert "cancelled by operator" in ended(api, made["name"])["status"]["message"]
    assert api.delete(path).status_code == 200
    until(lambda: api.get(path).status_code == 404, 20, "it is gone")


@given(values=st.lists(NASTY, min_size=1, max_size=25))
@settings(
    max_examples=6,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_text_reaches_a_real_process_unchanged_or_is_refused(
    api: httpx.Client, up: Up, tmp_path: Path, values: list[str]
):
    tmp_path.chmod(0o777)
    for parent in (tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o755)
    target = tmp_path / "argv"
    target.unlink(missing_ok=True)
    kept, answer = list(values), None
    for _ in range(len(values) + 1):
        key = f"argv-{hash(tuple(kept)) & 0xFFFFFFFF:x}"
        batch = {"args": ["-c", ECHO, str(target), *kept]}
        answer = api.post("/v1/submissions", json=order(key, batches=[batch], retry={"attempts": 1}))
        if answer.status_code != 400:
            break
        field = answer.json()["detail"]["field"]
        assert field.startswith("spec.batches[0].args["), answer.text
        refused = kept.pop(int(field.removesuffix("]").rpartition("[")[2]) - 3)
        assert set(refused) & set("\"'`;&|$(){}\\") or not refused.replace("\t", "").replace("\n", "").isprintable()
    assert answer is not None and answer.status_code in (200, 201), answer.text
    done = ended(api, answer.json()["name"])
    assert done["status"]["phase"] == "Succeeded", done["status"]["failure"]
    assert json.loads(target.read_text()) == kept
