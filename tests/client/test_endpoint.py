"""Where Mooring is: what is said wins over what lies around, and in a pod there is a last resort."""

from pathlib import Path

import pytest

from mooring.cli.manifests import manifests
from mooring.client import connection
from mooring.client.connection import Endpoint, find_endpoint
from mooring.model.errors import Misconfigured


@pytest.fixture(autouse=True)
def nothing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("MOORING_URL", "MOORING_TOKEN", "MOORING_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connection, "ACCOUNT_TOKEN", tmp_path / "account")


def test_outside_of_a_cluster_somebody_has_to_say(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="not known"):
        find_endpoint()


def test_in_a_pod_it_is_the_service_that_install_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "account").write_text("a service account's token")
    monkeypatch.setenv("MOORING_TOKEN", "secret")
    assert find_endpoint() == Endpoint("http://mooring.mooring.svc", "secret")
    [service] = [body for body in manifests("image", "mooring") if body["kind"] == "Service"]
    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == ("mooring", "mooring")
    assert service["spec"]["ports"][0]["port"] == 80


def test_a_state_folder_and_an_address_that_is_given_win_over_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "account").write_text("a service account's token")
    (tmp_path / ".state").mkdir()
    (tmp_path / ".state" / "url").write_text("http://127.0.0.1:8080\n")
    assert find_endpoint().url == "http://127.0.0.1:8080"
    monkeypatch.setenv("MOORING_URL", "http://from-the-environment")
    assert find_endpoint().url == "http://from-the-environment"
    assert find_endpoint("http://given").url == "http://given"
