"""Faults on real nodes, and that the nodes recover from each."""

from pathlib import Path
from typing import Any

import pytest

from drydock.kubernetes_fixture import RealKubernetes
from drydock.nodes.images import busybox_image, write_archive
from drydock.nodes.machine import find_program
from packages.drydock.tests.nodes.pods import Hands, condition, pod

pytestmark = [pytest.mark.nodes, pytest.mark.slow, pytest.mark.realtime]

NODE = "node-3"
STEADY = "echo up; exec sleep 1000"


def restarts(found: dict[str, Any]) -> int:
    return sum(one["restartCount"] for one in found["status"].get("containerStatuses") or ())


def is_unreachable(node: dict[str, Any]) -> bool:
    taints = {(taint["key"], taint["effect"]) for taint in node["spec"].get("taints") or ()}
    return ("node.kubernetes.io/unreachable", "NoExecute") in taints


def started(found: dict[str, Any]) -> str:
    return str(found["status"]["containerStatuses"][0]["state"]["running"]["startedAt"])


def test_a_pulled_cable_makes_a_node_unreachable_and_the_pod_goes_on(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    hands.create(pod("p", STEADY, node=NODE))
    before = started(hands.until_ready("p"))
    nodes.inject("pull-cable", NODE)
    try:
        hands.until_node(NODE, "Ready", "Unknown")
        hands.until(lambda: hands.node(NODE), is_unreachable, "tainted")
    finally:
        nodes.inject("plug-cable", NODE)
    hands.until_node(NODE, "Ready", "True")
    after = hands.until_ready("p")
    assert (started(after), restarts(after)) == (before, 0)


def test_a_stopped_kubelet_leaves_containers_alone(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    hands.create(pod("p", STEADY, node=NODE))
    before = started(hands.until_ready("p"))
    nodes.inject("stop-kubelet", NODE)
    hands.until_node(NODE, "Ready", "Unknown")
    nodes.inject("start-kubelet", NODE)
    hands.until_node(NODE, "Ready", "True")
    after = hands.until_ready("p")
    assert (started(after), restarts(after)) == (before, 0)


def test_a_killed_containerd_finds_its_containers_again(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    hands.create(pod("p", STEADY, node=NODE))
    before = started(hands.until_ready("p"))
    nodes.inject("kill-containerd", NODE)
    hands.until_node(NODE, "Ready", "False")
    nodes.inject("start-containerd", NODE)
    hands.until_node(NODE, "Ready", "True")
    after = hands.until_ready("p")
    assert (started(after), restarts(after)) == (before, 0)


def test_a_container_is_killed_by_oom_and_restarted(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    hands.create(pod("p", STEADY, node=NODE))
    hands.until_ready("p")
    nodes.inject("oom", f"{hands.namespace}/p")
    again = hands.until(lambda: hands.pod("p"), restarts, "restarted")
    ended = again["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)


def test_a_full_disk_evicts_and_taints(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    hands.create(pod("p", STEADY, node=NODE))
    hands.until_ready("p")
    nodes.inject("fill-disk", NODE)
    try:
        hands.until_node(NODE, "DiskPressure", "True")
        over = hands.until_over("p")
        assert (over["status"]["phase"], over["status"]["reason"]) == ("Failed", "Evicted")
        assert condition(over, "DisruptionTarget") == "True"
    finally:
        nodes.inject("free-disk", NODE)
    hands.until_node(NODE, "DiskPressure", "False")


def test_a_rebooted_node_has_a_new_boot_id_and_restarts_its_pods(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    old = hands.node(NODE)
    hands.create(pod("p", STEADY, node=NODE))
    hands.until_ready("p")
    nodes.inject("reboot", NODE)

    def rebooted(node: dict[str, Any]) -> bool:
        changed: bool = node["status"]["nodeInfo"]["bootID"] != old["status"]["nodeInfo"]["bootID"]
        return changed and condition(node, "Ready") == "True"

    new = hands.until(lambda: hands.node(NODE), rebooted, "rebooted")
    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    assert new["status"]["nodeInfo"]["machineID"] == old["status"]["nodeInfo"]["machineID"]
    again = hands.until(
        lambda: hands.pod("p"), lambda one: restarts(one) == 1 and condition(one, "Ready") == "True", "restarted"
    )
    assert again["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 255


def test_a_replaced_node_has_another_uid_and_machine_id_and_the_images_that_were_loaded(
    nodes: RealKubernetes, tmp_path: Path
) -> None:
    hands = Hands(nodes)
    busybox = find_program("busybox")
    assert busybox is not None
    write_archive(tmp_path / "kept.tar", [busybox_image(Path(busybox), ("example.test/kept:1",))])
    nodes.load_images(tmp_path / "kept.tar")
    (tmp_path / "kept.tar").unlink()
    old = hands.node(NODE)
    hands.create(pod("p", STEADY, node=NODE))
    hands.until_ready("p")
    nodes.inject("replace", NODE)

    def replaced(node: dict[str, Any]) -> bool:
        other = bool(node) and node["metadata"]["uid"] != old["metadata"]["uid"]
        return other and condition(node, "Ready") == "True"

    new = hands.until(lambda: hands.node(NODE), replaced, "replaced")
    assert new["status"]["nodeInfo"]["machineID"] != old["status"]["nodeInfo"]["machineID"]
    loaded = {"image": "example.test/kept:1", "imagePullPolicy": "Never"}
    hands.create(pod("again", "echo ran", node=NODE, restartPolicy="Never", container=loaded))
    assert hands.until_over("again")["status"]["phase"] == "Succeeded"
