"""Credential plugins are real programs; these are small scripts."""

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hawser.errors import CredentialsFailed
from hawser.exec_plugin import VERSIONS, ExecPlugin
from packages.hawser.tests.certificates import Authority

pytestmark = pytest.mark.realtime

V1, V1BETA1 = VERSIONS


def script(folder: Path, text: str) -> str:
    path = folder / "plugin"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return str(path)


def printing(folder: Path, answer: Any) -> str:
    return script(folder, f"print({json.dumps(answer)!r})")


def telling(folder: Path, expression: str) -> str:
    """A plugin whose token is what it sees."""
    return script(
        folder,
        "import json, os, sys\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        f"status = {{'token': json.dumps({expression})}}\n"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': status}))",
    )


async def told(plugin: ExecPlugin) -> Any:
    return json.loads((await plugin.load()).authorization.removeprefix("Bearer "))


def credential(version: str = V1, **status: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "ExecCredential", "status": status}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_token_with_its_end_is_read(tmp_path: Path, version: str) -> None:
    answer = credential(version, token="t", expirationTimestamp="2026-03-01T12:00:00Z")
    found = await ExecPlugin(printing(tmp_path, answer), version).load()
    assert found.authorization == "Bearer t"
    assert found.expires_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_a_certificate_is_read(tmp_path: Path) -> None:
    alice = Authority.make().issue("alice")
    answer = credential(clientCertificateData=alice.chain.decode(), clientKeyData=alice.key.decode())
    found = await ExecPlugin(printing(tmp_path, answer), V1).load()
    assert found.certificate == alice
    assert found.authorization == ""


async def test_the_plugin_gets_its_arguments_environment_and_cluster(tmp_path: Path) -> None:
    command = telling(tmp_path, "[sys.argv[1:], os.environ['OWN'], bool(os.environ['PATH']), sys.stdin.read(), info]")
    plugin = ExecPlugin(command, V1, ("a", "b c"), {"OWN": "value"}, cluster={"server": "https://s"})
    arguments, own, has_path, stdin, info = await told(plugin)
    assert arguments == ["a", "b c"]
    assert (own, has_path, stdin) == ("value", True, "")
    assert info == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://s"}},
    }


async def test_a_plugin_that_does_not_ask_is_not_told_of_the_cluster(tmp_path: Path) -> None:
    assert await told(ExecPlugin(telling(tmp_path, "info['spec']"), V1)) == {"interactive": False}


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("nonsense", "not an ExecCredential"),
        (credential(V1BETA1, token="t"), "v1beta1"),
        ({"apiVersion": V1, "kind": "Pod"}, "Pod"),
        (credential(), "neither a token nor"),
        ({"apiVersion": V1, "kind": "ExecCredential"}, "neither a token nor"),
        (credential(clientCertificateData="x"), "only one of"),
        (credential(token="t", expirationTimestamp="soon"), "not an ExecCredential"),
    ],
)
async def test_a_plugin_that_prints_something_else_is_an_error(tmp_path: Path, answer: Any, complaint: str) -> None:
    with pytest.raises(CredentialsFailed, match=complaint):
        await ExecPlugin(printing(tmp_path, answer), V1).load()


async def test_a_plugin_that_fails_is_quoted(tmp_path: Path) -> None:
    plugin = ExecPlugin(script(tmp_path, "import sys; sys.exit('session over: log in again')"), V1, ("login",))
    with pytest.raises(CredentialsFailed, match="code 1: session over: log in again") as caught:
        await plugin.load()
    assert "plugin login" in caught.value.fix


async def test_a_plugin_that_vanished_says_how_to_get_it(tmp_path: Path) -> None:
    plugin = ExecPlugin(str(tmp_path / "gone"), V1, install_hint="brew install gone")
    with pytest.raises(CredentialsFailed, match="cannot be started") as caught:
        await plugin.load()
    assert caught.value.fix == "brew install gone"


async def test_a_plugin_that_is_no_longer_waited_for_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    text = f"import os, pathlib, time\npathlib.Path({str(mark)!r}).write_text(str(os.getpid()))\ntime.sleep(60)"

    loading = asyncio.create_task(ExecPlugin(script(tmp_path, text), V1).load())
    while not mark.exists() or not mark.read_text():
        await asyncio.sleep(0.01)
    loading.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError):
            await loading
    assert not Path(f"/proc/{mark.read_text()}").exists()
