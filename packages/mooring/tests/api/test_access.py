"""Who may ask what: the bearer token, the login cookie, and pages that are open on this machine only."""

import http.client
import stat

import httpx
import pytest

from packages.mooring.tests.acceptance.world import Up

READS = ["/v1/pools", "/v1/workers", "/v1/nodes", "/v1/invariants", "/v1/audit", "/v1/claims", "/v1/events"]
LISTS = ["/workers.json", "/workers.csv", "/audit.csv", "/invariants.csv", "/pools.csv", "/nodes.json"]
PAGES = ["/", "/audit", "/claims", "/invariants", *LISTS, "/cells.json?node=x"]
WRITE = "/v1/invariants/adopted/resume"


def test_the_token_is_readable_by_its_owner_only(up: Up):
    assert stat.S_IMODE((up.state / "token").stat().st_mode) == 0o600
    assert len(up.token) >= 32


@pytest.mark.parametrize("path", READS)
def test_nothing_is_read_without_the_token(stranger: httpx.Client, path: str):
    answer = stranger.get(path)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header", ["Bearer wrong", "Bearer", "Basic {token}", "{token}", "Bearer {token}x", "Bearer é"]
)
def test_what_is_not_the_token_is_refused(stranger: httpx.Client, up: Up, header: str):
    given = header.format(token=up.token).encode()
    assert stranger.get("/v1/pools", headers={"Authorization": given}).status_code == 401


def test_the_scheme_may_be_written_in_any_case(stranger: httpx.Client, up: Up):
    assert stranger.get("/v1/pools", headers={"Authorization": f"bearer {up.token}"}).status_code == 200


def test_the_token_is_not_taken_from_a_query(stranger: httpx.Client, up: Up):
    assert stranger.get(f"/v1/pools?token={up.token}").status_code == 401


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_open_on_this_machine(stranger: httpx.Client, path: str):
    assert stranger.get(path).status_code == 200


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example"]
)
def test_pages_are_closed_to_names_that_somebody_else_controls(stranger: httpx.Client, path: str, host: str):
    answer = stranger.get(path, headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_pages_are_closed_to_a_request_with_two_names(up: Up):
    asked = http.client.HTTPConnection(up.url.removeprefix("http://"))
    asked.putrequest("GET", "/", skip_host=True)
    asked.putheader("Host", "localhost")
    asked.putheader("Host", "evil.example")
    asked.endheaders()
    assert asked.getresponse().status == 400
    asked.close()


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:80", "[::1]"])
def test_this_machine_has_several_names(stranger: httpx.Client, host: str):
    assert stranger.get("/", headers={"Host": host}).status_code == 200


def test_open_pages_offer_no_logout_to_who_never_logged_in(stranger: httpx.Client):
    assert "Log out" not in stranger.get("/").raise_for_status().text
    assert "Log out" not in stranger.get("/", headers={"Cookie": "mooring_session=" + "0" * 64}).raise_for_status().text


def test_open_pages_are_for_reading_only(stranger: httpx.Client):
    answer = stranger.post("/actions/invariants/adopted/resume", data={})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


def test_a_login_sets_a_cookie_that_scripts_and_other_sites_do_not_get(stranger: httpx.Client, up: Up):
    answer = stranger.post("/login", data={"token": up.token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= attributes


def test_a_wrong_token_does_not_log_in(stranger: httpx.Client):
    answer = stranger.post("/login", data={"token": "wrong"})
    assert answer.status_code == 401
    assert "That is not a valid token" in answer.text
    assert "set-cookie" not in answer.headers


def test_the_cookie_reads_and_writes(browser_session: httpx.Client):
    assert browser_session.get("/v1/pools").status_code == 200
    assert browser_session.post(WRITE).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=str,
)
def test_a_write_with_the_cookie_must_come_from_our_own_pages(browser_session: httpx.Client, headers: dict[str, str]):
    answer = browser_session.post(WRITE, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_our_own_pages_may_write(browser_session: httpx.Client, up: Up):
    for told in ({"Origin": up.url}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        assert browser_session.post(WRITE, headers=told).status_code == 200


def test_programs_with_the_bearer_may_come_from_anywhere(api: httpx.Client):
    assert api.post(WRITE, headers={"Origin": "https://ci.example"}).status_code == 200


def test_a_browser_without_login_is_led_to_it_when_it_tries_to_act(stranger: httpx.Client):
    answer = stranger.post("/actions/invariants/adopted/resume", data={}, headers={"Accept": "text/html"})
    back = "/login?next=%2Factions%2Finvariants%2Fadopted%2Fresume"
    assert (answer.status_code, answer.headers["location"]) == (303, back)


def test_the_roles_that_a_refusal_names_exist(up: Up):
    names = {role["metadata"]["name"] for role in up.objects("clusterroles")}
    assert {"mooring-view", "mooring-edit", "mooring-claimer", "mooring-operator"} <= names


def test_marks_are_written_by_mooring_alone(up: Up):
    """Also on the cluster of `mooring up`, whose administrator everybody with its kubeconfig is."""
    pod = next(pod for pod in up.objects("pods", "-A") if "mooring.dev/worker" in pod["metadata"]["labels"])
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    for words in (
        ("label", "mooring.dev/owner=me"),
        ("annotate", "mooring.dev/epoch=1"),
        ("label", "mooring.dev/pool-"),
    ):
        done = up.kubectl("-n", namespace, words[0], "pod", name, words[1], "--overwrite", check=False)
        assert done.code != 0 and "reserved to Mooring" in done.err
    up.kubectl("-n", namespace, "label", "pod", name, "team=mine")
