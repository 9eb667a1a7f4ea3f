"""Kubeconfigs are merged as kubectl does it; every broken one is told with file, field and fix."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from hawser.connection import Target
from hawser.credentials import Credential, FixedCredential, TokenFile
from hawser.errors import Misconfigured
from hawser.exec_plugin import ExecPlugin
from hawser.kubeconfig import load_kubeconfig
from hawser.tls import ClientCertificate
from packages.hawser.tests.certificates import Authority, encrypted

AUTHORITY = Authority.make()
CLIENT = AUTHORITY.issue("alice")


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def config(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        **more,
    }


def write(folder: Path, content: Any, name: str = "config") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def target(folder: Path, content: Any, context: str = "") -> Target:
    return load_kubeconfig(write(folder, content)).target(context)


def fixed(found: Target) -> Credential:
    assert isinstance(found.source, FixedCredential)
    return found.source.credential


def test_the_current_context_leads_to_its_cluster_user_and_namespace(tmp_path: Path) -> None:
    found = target(tmp_path, config({"token": "t"}))
    assert (found.server, found.namespace, found.context) == ("https://api:6443", "team", "dev")
    assert fixed(found).authorization == "Bearer t"
    assert found.trust.verify


def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    content = config()
    content["contexts"].append({"name": "prod", "context": {"cluster": "c", "user": "u"}})
    found = target(tmp_path, content, "prod")
    assert (found.context, found.namespace) == ("prod", "default")


def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    content = config(contexts=[{"name": "dev", "context": {"cluster": "c"}}])
    assert fixed(target(tmp_path, content)) == Credential()


def test_basic_authentication_is_read(tmp_path: Path) -> None:
    assert fixed(target(tmp_path, config({"username": "a", "password": "b"}))).authorization == "Basic YTpi"


def test_certificates_may_be_inline(tmp_path: Path) -> None:
    user = {"client-certificate-data": b64(CLIENT.chain), "client-key-data": b64(CLIENT.key)}
    found = target(tmp_path, config(user, {"certificate-authority-data": b64(AUTHORITY.pem)}))
    assert fixed(found).certificate == CLIENT
    assert found.trust.authority == AUTHORITY.pem


def test_relative_paths_start_at_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pki").mkdir()
    for name, content in {"ca.crt": AUTHORITY.pem, "a.crt": CLIENT.chain, "a.key": CLIENT.key, "token": b"t"}.items():
        (tmp_path / "pki" / name).write_bytes(content)
    user = {"client-certificate": "pki/a.crt", "client-key": "pki/a.key", "tokenFile": "pki/token"}
    write(tmp_path, config(user, {"certificate-authority": "pki/ca.crt"}))
    monkeypatch.chdir(tmp_path.parent)
    found = load_kubeconfig(Path(tmp_path.name) / "config").target()
    assert found.trust.authority == AUTHORITY.pem
    assert found.source == TokenFile(tmp_path / "pki" / "token", CLIENT)


def test_inline_data_wins_over_a_file(tmp_path: Path) -> None:
    cluster = {"certificate-authority": "nowhere", "certificate-authority-data": b64(AUTHORITY.pem)}
    assert target(tmp_path, config(cluster=cluster)).trust.authority == AUTHORITY.pem


def test_a_token_file_wins_over_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("fresh")
    assert isinstance(target(tmp_path, config({"token": "stale", "tokenFile": "token"})).source, TokenFile)


def test_trust_can_be_waived_and_redirected(tmp_path: Path) -> None:
    trust = target(tmp_path, config(cluster={"insecure-skip-tls-verify": True, "tls-server-name": "other"})).trust
    assert not trust.verify
    assert trust.server_name == "other"


def test_a_kubeconfig_may_be_json(tmp_path: Path) -> None:
    content = '{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"http://h:1"}}]}'
    assert target(tmp_path, content).server == "http://h:1"


def test_of_several_files_the_first_to_name_a_thing_wins(tmp_path: Path) -> None:
    first = write(
        tmp_path, {"contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}], "users": None}, "1"
    )
    second = write(tmp_path, config({"token": "two"}, {"server": "https://two"}), "2")
    third = write(tmp_path, config({"token": "three"}, {"server": "https://three"}, **{"current-context": "zzz"}), "3")
    names = os.pathsep.join([str(first), "", str(tmp_path / "not there"), str(second), str(third)])
    merged = load_kubeconfig(environment={"KUBECONFIG": names})
    found = merged.target()
    assert merged.current_context == "dev"
    assert found.namespace == "default"
    assert found.server == "https://two"
    assert fixed(found).authorization == "Bearer two"


def test_each_file_of_several_keeps_its_own_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(name)
    context = {"current-context": "dev", "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}]}
    first = write(tmp_path / "a", {**context, "clusters": [{"name": "c", "cluster": {"server": "http://h"}}]})
    second = write(tmp_path / "b", {"users": [{"name": "u", "user": {"tokenFile": "token"}}]})
    found = load_kubeconfig(environment={"KUBECONFIG": f"{first}{os.pathsep}{second}"}).target()
    assert found.source == TokenFile(tmp_path / "b" / "token")


def test_without_any_hint_the_home_folder_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(Misconfigured, match=str(tmp_path / ".kube" / "config")):
        load_kubeconfig(environment={})
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube", config())
    assert load_kubeconfig(environment={}).target().context == "dev"


def plugin(folder: Path, name: str = "login") -> str:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return name


def exec_user(**more: Any) -> dict[str, Any]:
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login", **more}}


def test_a_plugin_is_read_with_everything_it_needs(tmp_path: Path) -> None:
    plugin(tmp_path)
    user = exec_user(
        args=["get-token"],
        env=[{"name": "PROFILE", "value": "dev"}],
        provideClusterInfo=True,
        interactiveMode="IfAvailable",
        installHint="  get it\n",
    )
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    cluster = {"certificate-authority-data": b64(AUTHORITY.pem), "extensions": [extension], "tls-server-name": "n"}
    assert target(tmp_path, config(user, cluster)).source == ExecPlugin(
        command=str(tmp_path / "login"),
        api_version="client.authentication.k8s.io/v1",
        args=("get-token",),
        env={"PROFILE": "dev"},
        install_hint="get it",
        cluster={
            "server": "https://api:6443",
            "tls-server-name": "n",
            "certificate-authority-data": b64(AUTHORITY.pem),
            "config": {"audience": "x"},
        },
    )


def test_a_plugin_without_a_path_is_looked_for_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(tmp_path, "cloud-login")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = target(tmp_path, config(exec_user(command="cloud-login"))).source
    assert isinstance(found, ExecPlugin)
    assert found.command == str(tmp_path / "cloud-login")
    assert found.cluster is None


PAIR = {"client-certificate-data": b64(CLIENT.chain), "client-key-data": b64(CLIENT.key)}
STRANGER = AUTHORITY.issue("bob")


@pytest.mark.parametrize(
    ("content", "field", "fix"),
    [
        (config(**{"current-context": ""}), "current-context", "one of: dev"),
        (config(**{"current-context": "prod"}), "current-context", "one of: dev"),
        (config(**{"current-context": 5}), "current-context", "text"),
        (config(contexts=[]), "current-context", "none at all"),
        (config(contexts={}), "current-context", "none at all"),
        (config(contexts={"dev": {}}), "contexts", "list"),
        (config(contexts=["dev"]), "contexts", "list"),
        (config(contexts=[{"context": {}}]), "contexts[0].name", "name"),
        (config(contexts=[{"name": "dev", "context": "c"}]), "contexts[0].context", "pairs"),
        (config(contexts=[{"name": "dev", "context": {"user": "u"}}]), "contexts[dev].context.cluster", "one of: c"),
        (config(clusters=[]), "contexts[dev].context.cluster", "none at all"),
        (config(users=[]), "contexts[dev].context.user", "none at all"),
        (config(users=[{"name": "x"}]), "contexts[dev].context.user", "one of: x"),
        (config(users=[{"name": "u"}, {"name": "u"}]), "users", "rename"),
        (config(cluster={"server": ""}), "clusters[c].cluster.server", "https://"),
        (config(cluster={"server": "api:6443"}), "clusters[c].cluster.server", "https://"),
        (config(cluster={"proxy-url": "http://p"}), "clusters[c].cluster.proxy-url", "no proxy"),
        (
            config(cluster={"insecure-skip-tls-verify": "yes"}),
            "clusters[c].cluster.insecure-skip-tls-verify",
            "true or",
        ),
        (config(cluster={"certificate-authority": "no.crt"}), "clusters[c].cluster.certificate-authority", "path"),
        (
            config(cluster={"certificate-authority-data": "%%%"}),
            "clusters[c].cluster.certificate-authority-data",
            "base64",
        ),
        (
            config(cluster={"certificate-authority-data": b64(b"x")}),
            "clusters[c].cluster.certificate-authority-data",
            "PEM",
        ),
        (
            config(cluster={"certificate-authority-data": b64(AUTHORITY.pem), "insecure-skip-tls-verify": True}),
            "clusters[c].cluster.insecure-skip-tls-verify",
            "one of the two",
        ),
        (config({"token": 123}), "users[u].user.token", "quotes"),
        (config({"tokenFile": "gone"}), "users[u].user.tokenFile", "path"),
        (config({"client-certificate": "gone.crt"}), "users[u].user.client-certificate", "path"),
        (config({"client-certificate-data": b64(CLIENT.chain)}), "users[u].user.client-key", "client-key-data"),
        (config({"client-key-data": b64(CLIENT.key)}), "users[u].user.client-certificate", "client-certificate-data"),
        (
            config({**PAIR, "client-key-data": b64(STRANGER.key)}),
            "users[u].user.client-certificate-data",
            "belongs to it",
        ),
        (
            config({**PAIR, "client-key-data": b64(encrypted(CLIENT.key))}),
            "users[u].user.client-certificate-data",
            "unencrypted",
        ),
        (config({**PAIR, "client-certificate-data": "A"}), "users[u].user.client-certificate-data", "base64"),
        (config({"auth-provider": {"name": "gcp"}}), "users[u].user.auth-provider", "exec"),
        (config({"as": "root"}), "users[u].user.as", "user"),
        (config({"exec": "login"}), "users[u].user.exec", "pairs"),
        (
            config(exec_user(apiVersion="client.authentication.k8s.io/v1alpha1")),
            "users[u].user.exec.apiVersion",
            "v1beta1",
        ),
        (config(exec_user(command="")), "users[u].user.exec.command", "program"),
        (config(exec_user(command="no-such-login")), "users[u].user.exec.command", "install no-such-login"),
        (config(exec_user(installHint="brew install it")), "users[u].user.exec.command", "brew install it"),
        (config(exec_user(interactiveMode="Always")), "users[u].user.exec.interactiveMode", "needs none"),
        (config(exec_user(command="sh", args="x")), "users[u].user.exec.args", "list"),
        (config(exec_user(command="sh", env=["X=1"])), "users[u].user.exec.env", "list"),
    ],
)
def test_a_broken_kubeconfig_is_one_clear_error(tmp_path: Path, content: Any, field: str, fix: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        target(tmp_path, content)
    error = caught.value
    assert error.detail["file"] == str(tmp_path / "config")
    assert error.detail["field"] == field
    assert str(tmp_path / "config") in error.message
    assert field in error.message
    assert fix in error.fix


@pytest.mark.parametrize("content", ["a: [b", "\tx: y", "- list", "just words", "a: b: c", "\x00"])
def test_what_is_no_kubeconfig_at_all_is_one_clear_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(Misconfigured, match=str(tmp_path / "config")) as caught:
        target(tmp_path, content)
    assert caught.value.fix


@pytest.mark.parametrize(
    "content",
    [
        "current-context: 2024-13-45\n",
        "[" * 20_000,
        "[" * 200_000,
        "{a: " * 200_000,
        "a: " * 5_000,
        "? " * 20_000,
        "x: \ud800".encode("utf-8", "surrogatepass"),
    ],
    ids=["no date", "deep", "deeper than the stack", "deep maps", "nested", "keys", "surrogate"],
)
def test_what_yaml_itself_trips_over_is_one_clear_error(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(Misconfigured, match=r"is not YAML|not a map"):
        load_kubeconfig(path)


def test_endless_files_are_not_read_to_their_end(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="cannot be read: it has more than"):
        load_kubeconfig("/dev/zero")
    with pytest.raises(Misconfigured, match=r"certificate-authority.*cannot be read: it has more than"):
        target(tmp_path, config(cluster={"certificate-authority": "/dev/zero"}))


def test_an_error_does_not_unfold_aliases(tmp_path: Path) -> None:
    """Nine levels of nine: written out they would not fit into the memory."""
    levels = "\n".join(f"l{at}: &l{at} [{', '.join([f'*l{at - 1}'] * 9)}]" for at in range(1, 10))
    cluster = "{name: c, cluster: {server: 'https://api', insecure-skip-tls-verify: *l9}}"
    context = "{name: dev, context: {cluster: c}}"
    text = f"l0: &l0 x\n{levels}\ncurrent-context: dev\ncontexts: [{context}]\nclusters: [{cluster}]\n"
    with pytest.raises(Misconfigured, match="insecure-skip-tls-verify") as raised:
        target(tmp_path, text)
    assert len(str(raised.value)) < 500


def test_an_empty_kubeconfig_has_no_context(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="current-context"):
        target(tmp_path, "")


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=f"{tmp_path / 'gone'} cannot be read") as caught:
        load_kubeconfig(tmp_path / "gone")
    assert "path" in caught.value.fix


def test_a_secret_in_a_kubeconfig_is_not_shown_in_errors(tmp_path: Path) -> None:
    user = {**PAIR, "token": "very-secret", "as": "root"}
    with pytest.raises(Misconfigured) as caught:
        target(tmp_path, config(user))
    assert "very-secret" not in f"{caught.value!r} {caught.value}"
    assert repr(ClientCertificate(b"c", b"very-secret")).count("very-secret") == 0
