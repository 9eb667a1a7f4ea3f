"""Pods that fit nowhere, and what kube-scheduler 1.36 says of them. The same table is held against the real one."""

from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """Nodes, pods that are there already (bound), the pod in question, and the sentence about it."""

    name: str
    nodes: list[Object]
    pod: Object
    message: str
    bound: list[Object] = field(default_factory=list)


def node(name: str, *, cpu: str = "4", labels: Object | None = None, **spec: Any) -> Object:
    allocatable = {"cpu": cpu, "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "3"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": allocatable, "capacity": allocatable, "conditions": [ready]},
    }


def pod(name: str, *, requests: Object | None = None, labels: Object | None = None, **spec: Any) -> Object:
    container: Object = {"name": "main", "image": "busybox"}
    if requests:
        limits = {name: amount for name, amount in requests.items() if "/" in name}  # they cannot be overcommitted
        container["resources"] = {"requests": requests, "limits": limits}
    if "ports" in spec:
        container["ports"] = spec.pop("ports")
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"containers": [container], **spec}}


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> Object:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def affinity(*expressions: Object, fields: list[Object] | None = None) -> Object:
    term: Object = {"matchExpressions": list(expressions)} if expressions else {}
    if fields:
        term["matchFields"] = fields
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def near(kind: str, topology: str, **labels: str) -> Object:
    term = {"topologyKey": topology, "labelSelector": {"matchLabels": labels}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"


def _told(total: int, reasons: str, preemption: str) -> str:
    available = f"0/{total} nodes are available: "
    return f"{available}{reasons}. no new claims to deallocate, preemption: {available}{preemption}."


CASES = [
    Case(
        "nothing-offers-that-much",
        [node("a"), node("b"), node("c"), node("d", taints=[taint("team", value="x")])],
        pod("p", requests={"cpu": "64"}),
        _told(4, "1 node(s) had untolerated taint(s), 3 Insufficient cpu", f"4 {_NOT_HELPFUL}"),
    ),
    Case(
        "nothing-has-that-much-left",
        [node("a"), node("b", taints=[taint("team")])],
        pod("p", requests={"cpu": "3", "memory": "6Gi"}),
        _told(
            2,
            "1 Insufficient cpu, 1 Insufficient memory, 1 node(s) had untolerated taint(s)",
            f"1 {_NO_VICTIMS}, 1 {_NOT_HELPFUL}",
        ),
        bound=[pod("q", requests={"cpu": "2", "memory": "4Gi"}, nodeName="a")],
    ),
    Case(
        "cordoned-and-selected-away",
        [node("a", unschedulable=True), node("b")],
        pod("p", nodeSelector={"disk": "ssd"}),
        _told(
            2,
            "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) were unschedulable",
            f"2 {_NOT_HELPFUL}",
        ),
    ),
    Case(
        "pinned-to-a-node-that-is-gone",
        [node("a"), node("b")],
        pod("p", affinity=affinity(fields=[{"key": "metadata.name", "operator": "In", "values": ["gone"]}])),
        _told(2, "2 node(s) didn't satisfy plugin(s) [NodeAffinity]", f"2 {_NOT_HELPFUL}"),
    ),
    Case(
        "pinned-to-a-tainted-node",
        [node("a", taints=[taint("x", "NoExecute")]), node("b"), node("c")],
        pod("p", affinity=affinity(fields=[{"key": "metadata.name", "operator": "In", "values": ["a"]}])),
        _told(
            3,
            "1 node(s) had untolerated taint(s), 2 node(s) didn't satisfy plugin(s) [NodeAffinity]",
            f"3 {_NOT_HELPFUL}",
        ),
    ),
    Case(
        "contradictory-affinity",
        [node("a", labels={"zone": "1"})],
        pod("p", affinity=affinity({"key": "zone", "operator": "Gt", "values": ["1"]})),
        _told(1, "1 node(s) didn't match Pod's node affinity/selector", f"1 {_NOT_HELPFUL}"),
    ),
    Case(
        "too-many-pods",
        [node("a")],
        pod("p"),
        _told(1, "1 Too many pods", f"1 {_NO_VICTIMS}"),
        bound=[pod(name, nodeName="a") for name in ("q", "r", "s")],
    ),
    Case(
        "host-port-taken",
        [node("a")],
        pod("p", ports=[{"containerPort": 80, "hostPort": 8080}]),
        _told(1, "1 node(s) didn't have free ports for the requested pod ports", f"1 {_NO_VICTIMS}"),
        bound=[pod("q", ports=[{"containerPort": 80, "hostPort": 8080}], nodeName="a")],
    ),
    Case(
        "extended-resource-nobody-has",
        [node("a")],
        pod("p", requests={"example.com/gpu": "1"}),
        _told(1, "1 Insufficient example.com/gpu", f"1 {_NOT_HELPFUL}"),
    ),
    Case(
        "keeps-away-from-its-own-kind",
        [node("a"), node("b", unschedulable=True)],
        pod("p", labels={"app": "x"}, affinity=near("podAntiAffinity", "kubernetes.io/hostname", app="x")),
        _told(
            2,
            "1 node(s) didn't match pod anti-affinity rules, 1 node(s) were unschedulable",
            f"1 {_NO_VICTIMS}, 1 {_NOT_HELPFUL}",
        ),
        bound=[pod("q", labels={"app": "x"}, nodeName="a")],
    ),
    Case(
        "refused-by-those-who-are-there",
        [node("a")],
        pod("p", labels={"app": "x"}),
        _told(1, "1 node(s) didn't satisfy existing pods anti-affinity rules", f"1 {_NO_VICTIMS}"),
        bound=[pod("q", nodeName="a", affinity=near("podAntiAffinity", "kubernetes.io/hostname", app="x"))],
    ),
    Case(
        "wants-company-that-is-not-there",
        [node("a")],
        pod("p", affinity=near("podAffinity", "kubernetes.io/hostname", app="x")),
        _told(1, "1 node(s) didn't match pod affinity rules", f"1 {_NOT_HELPFUL}"),
    ),
    Case(
        "would-be-uneven",
        [node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"}, unschedulable=True), node("c")],
        pod(
            "p",
            labels={"app": "x"},
            topologySpreadConstraints=[
                {
                    "topologyKey": "zone",
                    "maxSkew": 1,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "x"}},
                }
            ],
        ),
        _told(
            3,
            "1 node(s) didn't match pod topology spread constraints, "
            "1 node(s) didn't match pod topology spread constraints (missing required label), "
            "1 node(s) were unschedulable",
            f"1 {_NO_VICTIMS}, 2 {_NOT_HELPFUL}",
        ),
        bound=[pod("q", labels={"app": "x"}, nodeName="a")],
    ),
    Case(
        "waits-for-a-claim",
        [node("a"), node("b")],
        pod("p", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]),
        '0/2 nodes are available: persistentvolumeclaim "data" not found. not found',
    ),
    Case(
        "names-that-contradict",
        [node("a"), node("b")],
        pod(
            "p",
            affinity=affinity(
                fields=[{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
            ),
        ),
        "0/2 nodes are available: pod affinity terms conflict. not found",
    ),
    Case("no-nodes-at-all", [], pod("p"), "no nodes available to schedule pods"),
]
