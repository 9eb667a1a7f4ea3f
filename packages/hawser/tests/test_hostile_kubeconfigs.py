"""Whatever a kubeconfig, a token file or a credential plugin holds, it is one clear error, never an unforeseen one."""

from pathlib import Path
from typing import Any

import pytest

from hawser.credentials import TokenFile
from hawser.errors import CredentialsFailed, Misconfigured
from hawser.exec_plugin import ExecPlugin
from packages.hawser.tests.test_exec_plugin import V1, credential, printing, script
from packages.hawser.tests.test_kubeconfig import PAIR, config, target

_CUT_SHORT = f'{{"apiVersion": "{V1}", "kind": "ExecCredential", "x": '


@pytest.mark.parametrize(
    "server",
    [
        *("https://[", "https://[::1", "https://\u2100.com", "https://h:99999999", "https://h:abc"),
        *("https://user:word@h", "https://h?q", "https://h#f", "https://h\u200b"),
    ],
)
def test_a_server_that_is_no_address_is_one_clear_error(tmp_path: Path, server: str) -> None:
    with pytest.raises(Misconfigured, match="no address") as caught:
        target(tmp_path, config(cluster={"server": server}))
    assert caught.value.detail["field"] == "clusters[c].cluster.server"


@pytest.mark.parametrize("server", ["https://[::1]:6443", "http://127.0.0.1", "https://h:6443/k8s/clusters/c-1"])
def test_a_server_may_have_a_port_and_a_path(tmp_path: Path, server: str) -> None:
    assert target(tmp_path, config(cluster={"server": server})).server == server


@pytest.mark.parametrize("path", ["a\0b", "~no-such-user/file", "a" * 70_000])
@pytest.mark.parametrize("field", ["certificate-authority", "tokenFile", "client-certificate"])
def test_a_path_that_no_file_can_have_is_one_clear_error(tmp_path: Path, field: str, path: str) -> None:
    entry = {field: path}
    content = config(cluster=entry) if field == "certificate-authority" else config(entry)
    with pytest.raises(Misconfigured) as caught:
        target(tmp_path, content)
    assert caught.value.detail["field"].endswith(field)


@pytest.mark.parametrize("field", ["client-certificate-data", "client-key-data"])
def test_data_that_is_not_ascii_is_one_clear_error(tmp_path: Path, field: str) -> None:
    with pytest.raises(Misconfigured, match="is not base64"):
        target(tmp_path, config({**PAIR, field: "€"}))


@pytest.mark.parametrize("token", ["a\r\nX-Remote-User: admin", "a\0b", "€"])
async def test_a_token_that_no_header_can_have_is_one_clear_error(tmp_path: Path, token: str) -> None:
    with pytest.raises(Misconfigured, match="the token has a line break") as caught:
        target(tmp_path, config({"token": token}))
    assert caught.value.detail["field"] == "users[u].user.token"
    (tmp_path / "token").write_text(token, newline="")
    with pytest.raises(CredentialsFailed):
        await TokenFile(tmp_path / "token").load()


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (credential(token="a\nb"), "the token has a line break"),
        (credential(clientCertificateData="x", clientKeyData="y"), "certificate and its key cannot be used"),
    ],
)
async def test_a_plugin_whose_credentials_cannot_be_used_is_an_error(
    tmp_path: Path, answer: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(CredentialsFailed, match=complaint):
        await ExecPlugin(printing(tmp_path, answer), V1).load()


@pytest.mark.realtime
@pytest.mark.parametrize("output", [b'{"apiVersion": "\xff"}', _CUT_SHORT.encode() + b"[" * 100_000])
async def test_a_plugin_that_prints_no_json_is_an_error(tmp_path: Path, output: bytes) -> None:
    (tmp_path / "output").write_bytes(output)
    command = script(
        tmp_path,
        f"import pathlib, sys\nsys.stdout.buffer.write(pathlib.Path({str(tmp_path / 'output')!r}).read_bytes())",
    )
    with pytest.raises(CredentialsFailed, match="not an ExecCredential"):
        await ExecPlugin(command, V1).load()


@pytest.mark.realtime
@pytest.mark.parametrize("fields", [{"args": ("\0",)}, {"env": {"A": "\0"}}, {"env": {"A=B": "x"}}])
async def test_a_plugin_that_no_system_can_start_is_an_error(tmp_path: Path, fields: dict[str, Any]) -> None:
    with pytest.raises(CredentialsFailed, match="cannot be started"):
        await ExecPlugin("true", V1, **fields).load()
