"""A cluster of real nodes: pods, their network, Services by name, and images."""

import time
from pathlib import Path

import pytest

from drydock.kubernetes_fixture import RealKubernetes
from drydock.nodes.images import busybox_image, write_archive
from drydock.nodes.machine import find_program
from hawser.resources import NODES
from packages.drydock.tests.nodes.pods import Hands, pod

pytestmark = [pytest.mark.nodes, pytest.mark.realtime]


def test_every_node_is_ready_with_its_own_name_address_and_ids(nodes: RealKubernetes) -> None:
    found = nodes.run(lambda client: client.list(NODES.raw())).items
    assert [node["metadata"]["name"] for node in found] == ["node-1", "node-2", "node-3"]
    for key in ("bootID", "machineID"):
        assert len({node["status"]["nodeInfo"][key] for node in found}) == 3
    assert len({node["status"]["addresses"][0]["address"] for node in found}) == 3
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in found} == {"v1.36.3"}


def test_a_pod_finds_a_service_by_name_and_reaches_a_pod_of_another_node(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    server = "mkdir /www; echo it works > /www/index.html; exec httpd -f -p 8080 -h /www"
    hands.create(pod("web", server, node="node-2", container={"readinessProbe": {"tcpSocket": {"port": 8080}}}))
    hands.serve("web", 8080)
    hands.until_ready("web")
    asking = "until timeout 3 wget -qO- http://web:8080; do sleep 0.3; done"
    for node in ("node-1", "node-2"):
        hands.create(pod(f"ask-{node}", asking, node=node, restartPolicy="Never"))
    for node in ("node-1", "node-2"):
        hands.until_over(f"ask-{node}")
        assert "it works" in hands.log(f"ask-{node}")


def test_a_pod_reaches_the_api_server_by_its_service(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    hands.create(pod("ask", "nc -w 5 kubernetes.default 443 < /dev/null && echo reached", restartPolicy="Never"))
    hands.until_over("ask")
    assert hands.log("ask") == "reached\n"


def test_names_outside_of_the_cluster_do_not_exist_and_no_packet_leaves(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    script = "nslookup example.com; wget -qO- http://192.0.2.1; nc -w 2 192.0.2.1 80 < /dev/null; true"
    hands.create(pod("ask", script, restartPolicy="Never"))
    hands.until_over("ask")
    log = hands.log("ask")
    assert "NXDOMAIN" in log
    assert "unreachable" in log


def test_each_node_has_a_disk_of_its_own(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    volume = {"name": "disk", "hostPath": {"path": "/data", "type": "DirectoryOrCreate"}}
    mount = {"volumeMounts": [{"name": "disk", "mountPath": "/data"}]}
    for node in ("node-1", "node-2"):
        script = f"ls /data; echo {node} > /data/{node}"
        hands.create(pod(node, script, node=node, restartPolicy="Never", volumes=[volume], container=mount))
    for node in ("node-1", "node-2"):
        hands.until_over(node)
        assert hands.log(node) == ""
        disk = nodes.host.value.nodes[node].root
        assert [path.name for path in (disk / "data").iterdir()] == [node]
    assert not Path("/data/node-1").exists()


def test_all_nodes_share_a_folder(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    volume = {"name": "shared", "hostPath": {"path": "/mnt/shared"}}
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    for node in ("node-1", "node-2"):
        script = f"cat /shared/words; echo {node} >> /shared/words"
        hands.create(pod(node, script, node=node, restartPolicy="Never", volumes=[volume], container=mount))
        hands.until_over(node)
    assert hands.log("node-2") == "node-1\n"
    words = nodes.shared / "words"
    assert words.read_text() == "node-1\nnode-2\n"
    words.unlink()


def test_an_image_is_loaded_on_every_node(nodes: RealKubernetes, tmp_path: Path) -> None:
    hands = Hands(nodes)
    busybox = find_program("busybox")
    assert busybox is not None
    write_archive(tmp_path / "own.tar", [busybox_image(Path(busybox), ("example.test/own:1",))])
    nodes.load_images(tmp_path / "own.tar")
    for node in nodes.nodes:
        body = pod(node, "echo ran", node=node, restartPolicy="Never", container={"image": "example.test/own:1"})
        hands.create(body)
    for node in nodes.nodes:
        assert hands.until_over(node)["status"]["phase"] == "Succeeded"


def test_a_memory_limit_is_enforced(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    resources = {"resources": {"limits": {"memory": "24Mi"}}}
    script = "echo begin; exec tail -c 100m /dev/zero"
    hands.create(pod("greedy", script, restartPolicy="Never", container=resources))
    over = hands.until_over("greedy")
    ended = over["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["reason"] == "OOMKilled"


def test_pods_start_within_seconds(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    began = time.monotonic()
    for number in range(6):
        hands.create(pod(f"p{number}", "exec sleep 1000"))
    for number in range(6):
        hands.until_ready(f"p{number}")
    assert time.monotonic() - began < 60
