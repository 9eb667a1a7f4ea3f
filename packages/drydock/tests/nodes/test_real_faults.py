"""Faults on real nodes, three at a time, each on a node of its own; the nodes recover from each."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from drydock.kubernetes_fixture import RealKubernetes, share
from drydock.nodes.images import busybox_image, write_archive
from drydock.nodes.machine import find_program
from drydock.nodes.oom import memory_group
from packages.drydock.tests.nodes.pods import Hands, condition, pod

pytestmark = [pytest.mark.nodes, pytest.mark.slow, pytest.mark.realtime]

STEADY = "echo up; exec sleep 1000"
LOADED = "example.test/kept:1"


class Trial(Hands):
    """A pod that runs on one node, and what is done to that node."""

    def __init__(self, cluster: RealKubernetes, node: str) -> None:
        super().__init__(cluster)
        self.name = node
        self.create(pod("p", STEADY, node=node))
        self.before = self.until_ready("p")

    def inject(self, fault: str) -> None:
        self.cluster.inject(fault, self.name)

    def until_state(self, kind: str, status: str) -> None:
        self.until_node(self.name, kind, status)

    def interrupt(self, fault: str, ready: str, undo: str) -> None:
        """The fault shows in the condition Ready. Once it is undone, the node is Ready and the container went on."""
        self.inject(fault)
        self.until_state("Ready", ready)
        self.inject(undo)
        self.until_state("Ready", "True")
        self.assert_the_container_went_on()

    def cgroup_of_the_container(self) -> Path:
        container = self.before["status"]["containerStatuses"][0]["containerID"].partition("://")[2]
        return memory_group(self.cluster.host.value.nodes[self.name].cgroup, container)

    def assert_the_container_went_on(self) -> None:
        after = self.until_ready("p")
        assert (started(after), restarts(after)) == (started(self.before), 0)


def restarts(found: dict[str, Any]) -> int:
    return sum(one["restartCount"] for one in found["status"].get("containerStatuses") or ())


def started(found: dict[str, Any]) -> str:
    return str(found["status"]["containerStatuses"][0]["state"]["running"]["startedAt"])


def is_unreachable(node: dict[str, Any]) -> bool:
    taints = {(taint["key"], taint["effect"]) for taint in node["spec"].get("taints") or ()}
    return ("node.kubernetes.io/unreachable", "NoExecute") in taints


def a_pulled_cable_makes_a_node_unreachable_and_the_pod_goes_on(at: Trial) -> None:
    at.inject("pull-cable")
    try:
        at.until_state("Ready", "Unknown")
        at.until(lambda: at.node(at.name), is_unreachable, "tainted")
    finally:
        at.inject("plug-cable")
    at.until_state("Ready", "True")
    at.assert_the_container_went_on()


def a_stopped_kubelet_leaves_containers_alone(at: Trial) -> None:
    at.interrupt("stop-kubelet", "Unknown", "start-kubelet")


def a_killed_containerd_finds_its_containers_again(at: Trial) -> None:
    at.interrupt("kill-containerd", "False", "start-containerd")


def a_full_disk_evicts_and_taints(at: Trial) -> None:
    at.inject("fill-disk")
    try:
        at.until_state("DiskPressure", "True")
        over = at.until_over("p")
        assert (over["status"]["phase"], over["status"]["reason"]) == ("Failed", "Evicted")
        assert condition(over, "DisruptionTarget") == "True"
    finally:
        at.inject("free-disk")
    at.until_state("DiskPressure", "False")


def a_rebooted_node_has_a_new_boot_id_and_restarts_its_pods(at: Trial) -> None:
    old = at.node(at.name)
    group = at.cgroup_of_the_container()
    at.inject("reboot")
    assert not group.exists(), "no cgroup outlives a power cut"

    def rebooted(node: dict[str, Any]) -> bool:
        changed: bool = node["status"]["nodeInfo"]["bootID"] != old["status"]["nodeInfo"]["bootID"]
        return changed and condition(node, "Ready") == "True"

    new = at.until(lambda: at.node(at.name), rebooted, "rebooted")
    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    assert new["status"]["nodeInfo"]["machineID"] == old["status"]["nodeInfo"]["machineID"]
    again = at.until(
        lambda: at.pod("p"), lambda one: restarts(one) == 1 and condition(one, "Ready") == "True", "restarted"
    )
    assert again["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 255


def a_replaced_node_has_another_uid_and_machine_id_and_the_images_that_were_loaded(at: Trial) -> None:
    old = at.node(at.name)
    at.inject("replace")

    def replaced(node: dict[str, Any]) -> bool:
        other = bool(node) and node["metadata"]["uid"] != old["metadata"]["uid"]
        return other and condition(node, "Ready") == "True"

    new = at.until(lambda: at.node(at.name), replaced, "replaced")
    assert new["status"]["nodeInfo"]["machineID"] != old["status"]["nodeInfo"]["machineID"]
    loaded = {"image": LOADED, "imagePullPolicy": "Never"}
    at.create(pod("again", "echo ran", node=at.name, restartPolicy="Never", container=loaded))
    assert at.until_over("again")["status"]["phase"] == "Succeeded"


Fault = Callable[[Trial], None]
ROUNDS: tuple[tuple[Fault, ...], ...] = (
    (
        a_full_disk_evicts_and_taints,  # beside faults that write to no disk: nodes share that of this machine
        a_pulled_cable_makes_a_node_unreachable_and_the_pod_goes_on,
        a_killed_containerd_finds_its_containers_again,
    ),
    (
        a_stopped_kubelet_leaves_containers_alone,
        a_rebooted_node_has_a_new_boot_id_and_restarts_its_pods,
        a_replaced_node_has_another_uid_and_machine_id_and_the_images_that_were_loaded,
    ),
)


@pytest.fixture(scope="module")
def outcomes(
    cluster_of_nodes: RealKubernetes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[None]]]:
    """How each fault went, by its name."""
    busybox = find_program("busybox")
    assert busybox is not None
    archive = tmp_path_factory.mktemp("images") / "kept.tar"
    write_archive(archive, [busybox_image(Path(busybox), (LOADED,))])
    cluster_of_nodes.load_images(archive)
    archive.unlink()
    ended: dict[str, Future[None]] = {}
    with ExitStack() as stack, ThreadPoolExecutor(max_workers=3) as threads:
        for together in ROUNDS:
            for fault, node in zip(together, cluster_of_nodes.nodes, strict=True):
                folder = tmp_path_factory.mktemp("kubernetes")
                own = stack.enter_context(share(cluster_of_nodes, folder, f"fault-{len(ended)}"))
                ended[fault.__name__] = threads.submit(lambda fault=fault, own=own, node=node: fault(Trial(own, node)))  # type: ignore[misc]
            for future in ended.values():
                future.exception()
            cluster_of_nodes.host.run(cluster_of_nodes.host.value.until_ready(), 150)
        yield ended


@pytest.mark.parametrize("fault", [fault.__name__ for together in ROUNDS for fault in together])
def test_fault(fault: str, outcomes: dict[str, Future[None]]) -> None:
    outcomes[fault].result()


def test_a_container_is_killed_by_oom_and_restarted(nodes: RealKubernetes) -> None:
    hands = Hands(nodes)
    hands.create(pod("p", STEADY))
    hands.until_ready("p")
    nodes.inject("oom", f"{hands.namespace}/p")
    again = hands.until(lambda: hands.pod("p"), restarts, "restarted")
    ended = again["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
