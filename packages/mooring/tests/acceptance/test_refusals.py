"""What cannot work is said in one clear line before anything is left running; never in a traceback."""

import re
import socket
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import Up, processes_of, run_command, shared_up

pytestmark = pytest.mark.realtime


@dataclass(frozen=True, slots=True)
class Refusal:
    """Arguments that must be refused, and what the line has to name."""

    arguments: tuple[str, ...]
    names: str
    code: int = 1
    environment: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def check(refusal: Refusal, state: Path) -> list[str]:
    """Run it; one line says what is wrong, at most one more what to do. Answers the lines."""
    state_given = () if "--state" in refusal.arguments else ("--state", str(state))
    port_given = () if "--port" in refusal.arguments else ("--port", "0")
    ended = run_command("up", *state_given, *port_given, *refusal.arguments, **refusal.environment)
    assert ended.code == refusal.code, ended.err
    assert ended.out == ""
    lines = ended.complaint
    assert 1 <= len(lines) <= 2, ended.err
    assert re.match(r"mooring: [a-z_]+: \S", lines[0])
    assert lines[1:] == [] or lines[1].startswith("  fix: ")
    assert refusal.names in lines[0]
    assert not processes_of(state)
    return lines


def test_a_taken_port(taken_port: int, tmp_path: Path):
    lines = check(Refusal(("--port", str(taken_port)), str(taken_port)), tmp_path / "state")
    assert "--port" in lines[1]


def test_a_taken_port_of_the_cluster(taken_port: int, tmp_path: Path):
    check(Refusal(("--kube-port", str(taken_port), "--no-demo"), str(taken_port)), tmp_path / "state")


def test_a_state_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").touch()
    state = tmp_path / "file" / "state"
    check(Refusal(("--state", str(state)), str(state)), state)


def test_a_state_folder_that_is_a_file(tmp_path: Path):
    (tmp_path / "file").touch()
    check(Refusal(("--state", str(tmp_path / "file")), str(tmp_path / "file")), tmp_path / "file")


def test_a_second_up_on_the_same_state_leaves_the_first_alone(request: pytest.FixtureRequest):
    up: Up = shared_up(request.config, "sandbox")
    before = up.processes()
    ended = run_command("up", "--state", str(up.state), "--port", "0")
    assert (ended.code, ended.out) == (1, "")
    assert f"in use by process {up.pid}" in ended.complaint[0]
    assert up.answers()
    lasting = {pid for pid, command in before.items() if "postgres" in command or " up " in command}
    assert lasting and lasting <= up.processes().keys()


def test_an_unknown_cluster(tmp_path: Path):
    lines = check(Refusal(("--cluster", "minikube"), "minikube", code=2), tmp_path / "state")
    assert "one of sandbox, kubernetes, nodes" in lines[1]


def test_a_database_that_does_not_answer(tmp_path: Path):
    check(Refusal(("--database", "postgresql://127.0.0.1:1/x"), "127.0.0.1:1"), tmp_path / "state")


@pytest.mark.parametrize("url", ["mysql://127.0.0.1/x", "nonsense", "postgresql://127.0.0.1:notaport/x"])
def test_a_database_that_is_none(url: str, tmp_path: Path):
    check(Refusal(("--database", url), "database"), tmp_path / "state")


def test_a_password_in_a_refused_database_url_is_not_printed(tmp_path: Path):
    lines = check(Refusal(("--database", "postgresql://me:hunter2@127.0.0.1:1/x"), "127.0.0.1:1"), tmp_path / "state")
    assert "hunter2" not in " ".join(lines)


BROKEN_KUBECONFIGS = {
    "no YAML": "{{{",
    "not a mapping": "- 1\n- 2\n",
    "empty": "",
    "context without cluster": """
        apiVersion: v1
        kind: Config
        contexts: [{name: mine, context: {cluster: gone, user: gone}}]
        """,
    "a server that is no address": """
        apiVersion: v1
        kind: Config
        contexts: [{name: mine, context: {cluster: c, user: u}}]
        clusters: [{name: c, cluster: {server: "not an address"}}]
        users: [{name: u, user: {token: x}}]
        """,
    "a certificate that is none": """
        apiVersion: v1
        kind: Config
        contexts: [{name: mine, context: {cluster: c, user: u}}]
        clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", certificate-authority-data: bm9uZQ==}}]
        users: [{name: u, user: {token: x}}]
        """,
    "an API that does not answer": """
        apiVersion: v1
        kind: Config
        contexts: [{name: mine, context: {cluster: c, user: u}}]
        clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
        users: [{name: u, user: {token: x}}]
        """,
}


@pytest.mark.parametrize("broken", BROKEN_KUBECONFIGS.values(), ids=BROKEN_KUBECONFIGS.keys())
def test_a_broken_kubeconfig(broken: str, tmp_path: Path):
    path = tmp_path / "kubeconfig"
    path.write_text(textwrap.dedent(broken))
    check(Refusal(("--context", "mine"), "", environment={"KUBECONFIG": str(path)}), tmp_path / "state")


def test_a_kubeconfig_that_is_not_there(tmp_path: Path):
    missing = str(tmp_path / "nowhere")
    check(Refusal(("--context", "mine"), missing, environment={"KUBECONFIG": missing}), tmp_path / "state")


def test_a_context_that_does_not_exist_is_answered_with_those_that_do(request: pytest.FixtureRequest, tmp_path: Path):
    kubeconfig = str(shared_up(request.config, "sandbox").kubeconfig)
    lines = check(Refusal(("--context", "nope"), "'nope'", environment={"KUBECONFIG": kubeconfig}), tmp_path / "state")
    assert "mooring" in lines[1]


def test_a_machine_without_the_real_control_plane_is_told_how_to_get_it(tmp_path: Path):
    nowhere = {"KUBEBUILDER_ASSETS": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment = {**nowhere, "PATH": str(Path(sys.executable).parent)}
    refusal = Refusal(("--cluster", "kubernetes"), "kube-apiserver", environment=environment)
    lines = check(refusal, tmp_path / "state")
    assert "make kubernetes" in " ".join(lines)


@pytest.mark.parametrize("arguments", [("--port", "99999"), ("--bogus",), ("extra",)])
def test_arguments_that_are_none_are_a_usage_error(arguments: tuple[str, ...], tmp_path: Path):
    ended = run_command("up", "--state", str(tmp_path / "state"), *arguments)
    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert not (tmp_path / "state").exists()
