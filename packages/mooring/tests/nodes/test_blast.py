"""The integration as real containers on real nodes: a store in a pod, shards on the nodes' disks, nodes replaced."""

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from integrations.blast.tests.live import PROGRAM, search_whole
from integrations.blast.tests.requirements import require_object_store
from mooring.demo.blast import Dataset, make_dataset
from mooring_blast.store.settings import ACCESS_KEY, SECRET_KEY, STORE
from packages.mooring.tests.nodes.images import EXAMPLES
from packages.mooring.tests.nodes.installation import SYSTEM_NODE, Installation, manifest

pytestmark = [pytest.mark.nodes, pytest.mark.slow, pytest.mark.realtime]

NAMESPACE, SHARDS, PORT = "blast", 3, 7070
KEYS = {ACCESS_KEY: "a-key-of-the-store", SECRET_KEY: "a-secret-of-the-store"}
SITE = (
    *("--namespace", NAMESPACE, "--image", EXAMPLES, "--run-as", "0", "--node-selector", "kubernetes.io/os=linux"),
    *("--pod-store", f"http://objects.{NAMESPACE}.svc:{PORT}/blast"),
)


def store_objects() -> list[dict[str, Any]]:
    """The S3 server as a pod with a Service, and the Secret with its keys."""
    make = "mkdir -p /data/objects/blast /data/metadata"
    serve = "exec versitygw --quiet posix --sidecar /data/metadata /data/objects"
    container = {
        "name": "store",
        "image": EXAMPLES,
        "command": ["sh", "-c", f"{make} && {serve}"],
        "env": [
            {"name": "ROOT_ACCESS_KEY", "value": KEYS[ACCESS_KEY]},
            {"name": "ROOT_SECRET_KEY", "value": KEYS[SECRET_KEY]},
        ],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    spec = {
        "nodeName": SYSTEM_NODE,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsUser": 0},
        "containers": [container],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }
    labels = {"app": "objects"}
    return [
        manifest("v1", "Secret", "blast-store", NAMESPACE, {"stringData": KEYS}),
        manifest("v1", "Pod", "objects", NAMESPACE, {"spec": spec}, labels),
        manifest("v1", "Service", "objects", NAMESPACE, {"spec": {"selector": labels, "ports": [{"port": PORT}]}}),
    ]


@contextmanager
def forwarded(mooring: Installation) -> Iterator[dict[str, str]]:
    """The store from this machine, as variables."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    forward = mooring.kubectl_process("-n", NAMESPACE, "port-forward", "service/objects", f"{port}:{PORT}")
    assert forward.stdout is not None
    try:
        assert "Forwarding from" in forward.stdout.readline()
        yield {**os.environ, **KEYS, STORE: f"http://127.0.0.1:{port}/blast"}
    finally:
        forward.terminate()
        forward.wait(10)
        forward.stdout.close()


def blast(environment: dict[str, str], *arguments: str) -> str:
    """One command of `mooring-blast`."""
    done = subprocess.run(
        [PROGRAM, *arguments], env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def found_hits(mooring: Installation, dataset: Dataset, environment: dict[str, str], folder: Path) -> str:
    """A search through the page: it runs here, with the API and the store forwarded."""
    with mooring.operator() as endpoint:
        authority = folder / "ca.pem"
        authority.write_text(endpoint.ca)
        variables = {"MOORING_URL": endpoint.url, "MOORING_TOKEN": endpoint.token, "MOORING_CA": str(authority)}
        command = [PROGRAM, "page", "--listen", "127.0.0.1:0", *SITE]
        page = subprocess.Popen(command, env={**environment, **variables}, stdout=subprocess.PIPE, text=True)
        assert page.stdout is not None
        try:
            address = re.match(r"page: (\S+)", page.stdout.readline())
            assert address is not None
            return blast(environment, "query", str(dataset.queries(0)), "--page", address[1], "--timeout", "240")
        finally:
            page.terminate()
            page.wait(10)
            page.stdout.close()


def warm(mooring: Installation) -> dict[int, tuple[str, str]]:
    """Node and uid of the node of each shard; empty unless the dataset is warm."""
    found = mooring.get("-n", NAMESPACE, "warmup", "nt").get("status", {})
    if found.get("phase") != "Ready" or found.get("nodesReady") != SHARDS:
        return {}
    return {shard["shard"]: (shard["node"], shard["nodeUID"]) for shard in found["shards"]}


def test_the_hits_are_the_same_before_and_after_nodes_were_replaced(mooring: Installation, tmp_path: Path) -> None:
    require_object_store()
    dataset = make_dataset(tmp_path / "data", SHARDS)
    expected = search_whole(dataset, dataset.queries(0).read_text(), tmp_path)
    assert len(expected.splitlines()) > 10
    generation = ("--dataset", "synthetic-nt", "--generation", "g1")
    mooring.kubectl("create", "namespace", NAMESPACE)
    try:
        mooring.apply(*store_objects())
        mooring.kubectl("-n", NAMESPACE, "wait", "--for=condition=Ready", "pod/objects", "--timeout=50s")
        with forwarded(mooring) as environment:
            blast(environment, "upload", str(dataset.source), *generation)
            mooring.kubectl("apply", "-f", "-", text=blast(environment, "manifests", *generation, *SITE))
            mooring.until(lambda: bool(warm(mooring)), "every shard is warm", 180)
            before = warm(mooring)
            assert {node for node, _ in before.values()} == set(mooring.nodes.nodes)
            assert found_hits(mooring, dataset, environment, tmp_path) == expected
            with ThreadPoolExecutor() as threads:
                others = [node for node in mooring.nodes.nodes if node != SYSTEM_NODE]
                list(threads.map(lambda node: mooring.nodes.inject("replace", node), others))
            mooring.nodes.host.run(mooring.nodes.host.value.until_ready(), 150)

            def healed() -> bool:
                after = warm(mooring)
                uids = {node["metadata"]["name"]: node["metadata"]["uid"] for node in mooring.get("nodes")}
                return bool(after) and all(uids[node] == uid for node, uid in after.values())

            mooring.until(healed, "every shard is warm on a node that exists", 240)
            kept = [shard for shard, place in warm(mooring).items() if before[shard] == place]
            assert [before[shard][0] for shard in kept] == [SYSTEM_NODE], "the shard of the node that stayed is kept"
            mooring.kubectl("-n", "mooring", "rollout", "status", "deployment/mooring", "--timeout=50s")
            assert found_hits(mooring, dataset, environment, tmp_path) == expected
    finally:
        mooring.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
