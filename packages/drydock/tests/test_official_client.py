"""The official Python client, unchanged, against `drydock up`."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, stream, watch

pytestmark = pytest.mark.realtime

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "p"}},
    "spec": {"containers": [{"name": "main", "image": "sleep", "command": ["sleep", "600"]}]},
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with _client(tmp_path_factory.mktemp("drydock"), "simulated") as connection:
        yield connection


@pytest.fixture(scope="module")
def process_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with _client(tmp_path_factory.mktemp("processes"), "process") as connection:
        yield connection


@contextlib.contextmanager
def _client(state: Path, runtime: str) -> Iterator[Any]:
    command = [sys.executable, "-m", "drydock", "up", "--runtime", runtime, "--state", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready: ")
        with config.new_client_from_config(str(state / "kubeconfig")) as connection:
            yield connection
        process.terminate()
        assert process.wait(30) == 0


def test_it_creates_watches_patches_and_deletes_pods(api: Any) -> None:
    core = client.CoreV1Api(api)
    core.create_namespaced_pod("default", POD)
    phases = []
    for event in watch.Watch().stream(core.list_namespaced_pod, "default", label_selector="app=p", timeout_seconds=30):
        phases.append(event["object"].status.phase)
        if phases[-1] == "Running":
            break
    assert phases[-1] == "Running"
    patched = core.patch_namespaced_pod("p", "default", {"metadata": {"labels": {"tier": "front"}}})
    assert patched.metadata.labels == {"app": "p", "tier": "front"}
    core.delete_namespaced_pod("p", "default", grace_period_seconds=0)
    with pytest.raises(client.ApiException) as gone:
        core.read_namespaced_pod("p", "default")
    assert gone.value.status == 404


def test_it_runs_a_job_to_its_end(api: Any) -> None:
    batch = client.BatchV1Api(api)
    template = {"spec": {"restartPolicy": "Never", "containers": POD["spec"]["containers"]}}  # type: ignore[index]
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    batch.create_namespaced_job("default", body)
    for event in watch.Watch().stream(batch.list_namespaced_job, "default", timeout_seconds=30):
        if event["object"].status.succeeded:
            break
    else:
        pytest.fail("the job did not succeed")


def test_it_reads_versions_nodes_and_custom_kinds(api: Any) -> None:
    assert client.VersionApi(api).get_code().minor == "36"
    assert [node.metadata.name for node in client.CoreV1Api(api).list_node().items] == ["node-1"]
    definitions = client.ApiextensionsV1Api(api).list_custom_resource_definition()
    assert definitions.items == []


def _until_running(core: Any, name: str) -> None:
    for event in watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=30):
        if event["object"].metadata.name == name and event["object"].status.phase == "Running":
            return
    pytest.fail(f"{name} does not run")


def test_it_executes_commands(process_api: Any) -> None:
    core = client.CoreV1Api(process_api)
    core.create_namespaced_pod("default", POD)
    _until_running(core, "p")
    talk = stream.stream(
        core.connect_get_namespaced_pod_exec,
        "p",
        "default",
        command=["sh", "-c", "read word; echo $HOSTNAME got $word; echo oops >&2; exit 4"],
        stdin=True,
        stdout=True,
        stderr=True,
        _preload_content=False,
    )
    talk.write_stdin("it\n")
    talk.run_forever(timeout=20)
    assert (talk.read_stdout(), talk.read_stderr(), talk.returncode) == ("p got it\n", "oops\n", 4)
    talk.sock.shutdown()  # the client leaves it open when the server has closed first


def test_it_forwards_ports(process_api: Any) -> None:
    core = client.CoreV1Api(process_api)
    container = {
        "name": "main",
        "image": "python",
        "command": ["python", "-m", "http.server", "8000", "--bind", "$(POD_IP)"],
        "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
    }
    core.create_namespaced_pod("default", {"metadata": {"name": "web"}, "spec": {"containers": [container]}})
    for event in watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=30):
        conditions = event["object"].status.conditions or ()
        if event["object"].metadata.name == "web" and any(c.type == "Ready" and c.status == "True" for c in conditions):
            break
    forward = stream.portforward(core.connect_get_namespaced_pod_portforward, "web", "default", ports="8000,9")
    http = forward.socket(8000)
    http.setblocking(True)
    http.sendall(b"GET / HTTP/1.0\r\n\r\n")
    answer = b""
    while data := http.recv(1024):
        answer += data

    assert answer.startswith(b"HTTP/1.0 200 ")
    assert forward.error(8000) is None
    assert forward.error(9) == "error forwarding port 9: Connection refused"
    forward.close()
    forward.websocket.shutdown()
