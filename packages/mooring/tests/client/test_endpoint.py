"""Where the address of Mooring comes from, and which source wins."""

import stat
from pathlib import Path
from typing import Any

import pytest

from mooring.client import connection
from mooring.client.connection import Endpoint, find_endpoint
from mooring.client.kubectl import ClusterOptions, find_kubeconfig
from mooring.client.login_file import Login, forget_login, write_login
from mooring.kinds.manifests import manifests
from mooring.kinds.release import Release
from mooring.model.errors import InvalidInput, Misconfigured


@pytest.fixture(autouse=True)
def nothing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MOORING_URL", "MOORING_TOKEN", "MOORING_TOKEN_FILE", "MOORING_DISPATCH_TOKEN_FILE", "MOORING_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(connection, "ACCOUNT_TOKEN", tmp_path / "account")
    monkeypatch.setattr(connection, "PROJECTED_TOKEN", tmp_path / "projected")


def test_outside_of_a_cluster_the_address_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="cannot find a Mooring server"):
        find_endpoint()


def test_in_a_pod_the_default_is_the_service_that_install_creates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "account").write_text("a service account's token")
    monkeypatch.setenv("MOORING_TOKEN", "secret")
    assert find_endpoint() == Endpoint("https://mooring.mooring.svc", "secret")
    [service] = [body for body in manifests(Release("mooring"), "image") if body["kind"] == "Service"]
    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == ("mooring", "mooring")
    assert service["spec"]["ports"][0]["port"] == 443


def test_a_state_folder_and_an_explicit_address_win_over_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "account").write_text("a service account's token")
    (tmp_path / ".state").mkdir()
    (tmp_path / ".state" / "url").write_text("http://127.0.0.1:8080\n")
    assert find_endpoint().url == "http://127.0.0.1:8080"
    monkeypatch.setenv("MOORING_URL", "http://from-the-environment")
    assert find_endpoint().url == "http://from-the-environment"
    assert find_endpoint("http://given").url == "http://given"


@pytest.mark.parametrize("url", ["https://evil.example", "http://127.0.0.1:8080@evil.example", "http://[", "evil"])
def test_a_state_folder_in_the_current_directory_sends_no_token_to_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """The current directory may be a repository that somebody else wrote."""
    (tmp_path / ".state").mkdir()
    (tmp_path / ".state" / "url").write_text(f"{url}\n")
    monkeypatch.setenv("MOORING_TOKEN", "secret")
    with pytest.raises(Misconfigured, match="does not name this machine"):
        find_endpoint()
    assert find_endpoint("http://given").url == "http://given"
    monkeypatch.setenv("MOORING_STATE", str(tmp_path / ".state"))
    (tmp_path / ".state" / "url").write_text("https://trusted.example\n")
    assert find_endpoint().url == "https://trusted.example"


def test_a_kubeconfig_in_the_current_directory_is_used_with_the_token_beside_it_alone(tmp_path: Path) -> None:
    """A kubeconfig can start programs, and the current directory may be a repository that somebody else wrote."""
    folder = tmp_path / ".state"
    folder.mkdir()
    for name, text in (("url", "http://127.0.0.1:8080"), ("token", "of-the-state"), ("kubeconfig", "")):
        (folder / name).write_text(text)
    ours, theirs = (Endpoint("http://127.0.0.1:8080", token) for token in ("of-the-state", "another"))
    assert find_kubeconfig(ours, ClusterOptions(), None) == str(Path(".state") / "kubeconfig")
    assert find_kubeconfig(theirs, ClusterOptions(), None) == ""
    assert find_kubeconfig(theirs, ClusterOptions(), folder) == str(folder / "kubeconfig")
    (folder / "token").unlink()
    assert find_kubeconfig(Endpoint("http://127.0.0.1:8080", ""), ClusterOptions(), None) == ""


def test_a_state_folder_may_be_given_as_text(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("http://127.0.0.1:8080\n")
    assert find_endpoint(state=str(tmp_path)).url == "http://127.0.0.1:8080"
    with pytest.raises(Misconfigured, match="cannot find a Mooring server"):
        find_endpoint(state="/x")


@pytest.mark.parametrize("given", [{"url": 5}, {"token": None}, {"state": 5}])
def test_an_argument_of_another_type_is_refused_with_its_name(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(given))):
        find_endpoint(**given)


def bearer(endpoint: Endpoint) -> str:
    return endpoint.headers["Authorization"].removeprefix("Bearer ")


def test_a_login_is_used_after_the_state_folder_and_its_token_for_its_address_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_login(Login("http://stored", "stored-token"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (find_endpoint().url, bearer(find_endpoint())) == ("http://stored", "stored-token")
    assert bearer(find_endpoint("http://stored/")) == "stored-token"
    assert bearer(find_endpoint("http://elsewhere")) == ""
    monkeypatch.setenv("MOORING_URL", "http://from-the-environment")
    assert (find_endpoint().url, bearer(find_endpoint())) == ("http://from-the-environment", "")
    monkeypatch.delenv("MOORING_URL")
    (tmp_path / ".state").mkdir()
    (tmp_path / ".state" / "url").write_text("http://127.0.0.1:8080\n")
    (tmp_path / ".state" / "token").write_text("of-the-state\n")
    assert (find_endpoint().url, bearer(find_endpoint())) == ("http://127.0.0.1:8080", "of-the-state")


def test_a_login_that_cannot_be_read_is_an_error_and_a_forgotten_one_is_gone(tmp_path: Path) -> None:
    path = write_login(Login("http://stored", "stored-token"))
    path.write_text("{")
    with pytest.raises(Misconfigured, match=r"login\.json"):
        find_endpoint("http://given")
    assert forget_login() and not forget_login()
    assert find_endpoint("http://given").url == "http://given"


def test_a_projected_token_is_read_for_every_request(tmp_path: Path) -> None:
    (tmp_path / "account").write_text("a service account's token")
    (tmp_path / "projected").write_text("first\n")
    endpoint = find_endpoint()
    assert (endpoint.url, bearer(endpoint)) == ("https://mooring.mooring.svc", "first")
    (tmp_path / "projected").write_text("second\n")
    assert bearer(endpoint) == "second"


def test_a_token_file_wins_over_the_state_folder_and_must_have_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "named").write_text("named\n")
    monkeypatch.setenv("MOORING_TOKEN_FILE", str(tmp_path / "named"))
    assert bearer(find_endpoint("http://given")) == "named"
    assert bearer(find_endpoint("http://given", "argument")) == "argument"
    monkeypatch.setenv("MOORING_TOKEN_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(Misconfigured, match="MOORING_TOKEN_FILE"):
        find_endpoint("http://given")


def test_the_token_that_a_worker_polls_with_is_not_that_of_its_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOORING_DISPATCH_TOKEN_FILE", "MOORING_TOKEN_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "dispatch"))
    assert bearer(find_endpoint("http://given")) == ""
    (tmp_path / "projected").write_text("own\n")
    assert bearer(find_endpoint("http://given")) == "own"
