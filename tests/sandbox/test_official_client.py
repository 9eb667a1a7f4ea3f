"""The official Python client, unchanged, against the sandbox as a user starts it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "p"}},
    "spec": {"containers": [{"name": "main", "image": "sleep", "command": ["sleep", "600"]}]},
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    state: Path = tmp_path_factory.mktemp("sandbox")
    command = [sys.executable, "-m", "mooring", "sandbox", "--runtime", "simulated", "--state", str(state)]
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
