"""Random nodes and pods that touch every rule of the scheduler: from a seed, so that a disagreement comes again."""

from collections.abc import Sequence
from typing import Any, TypeVar

from hawser.clock import Entropy
from hawser.fitting.needs import pod_requests

T = TypeVar("T")
Body = dict[str, Any]

NAMESPACES = {"fit-a": {"team": "red"}, "fit-b": {"team": "blue"}}
CLAIMS = {"in-a": "a", "in-b": "b"}  # claim -> zone of its volume, in namespace fit-a
UNBOUND = "unbound"  # a claim of no class that no volume answers, in namespace fit-a
MISSING = "missing"  # no claim at all
HEAVY: Body = {
    "metadata": {"name": "heavy"},
    "handler": "heavy",
    "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
}
_APPS = ("web", "db", "job")
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_TAINTS = (("workload", "blast"), ("gpu", ""), ("CriticalAddonsOnly", "true"))


class Dice:
    """Chances, in words."""

    def __init__(self, seed: int) -> None:
        self._entropy = Entropy(seed)

    def chance(self, share: float) -> bool:
        return self._entropy.fraction() < share

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[self._entropy.below(len(choices))]

    def some_of(self, choices: Sequence[T], share: float) -> list[T]:
        return [choice for choice in choices if self.chance(share)]

    def number(self, low: int, high: int) -> int:
        return low + self._entropy.below(high - low + 1)


def random_node(dice: Dice, name: str) -> tuple[Body, Body]:
    """A Node to create, and the status to give it."""
    labels = {"kubernetes.io/hostname": name}
    if dice.chance(0.85):
        labels["topology.kubernetes.io/zone"] = dice.one_of("abc")
    if dice.chance(0.7):
        labels["disk"] = dice.one_of(("ssd", "hdd"))
    if dice.chance(0.5):
        labels["size"] = str(dice.number(1, 9))
    taints = [
        {"key": key, "value": value, "effect": dice.one_of(_EFFECTS)} for key, value in dice.some_of(_TAINTS, 0.2)
    ]
    body: Body = {"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}
    if dice.chance(0.1):
        body["spec"]["unschedulable"] = True
    room = {
        "cpu": f"{dice.number(500, 8000)}m",
        "memory": f"{dice.number(1, 16)}Gi",
        "ephemeral-storage": f"{dice.number(1, 20)}Gi",
        "pods": str(dice.number(2, 20)),
    }
    if dice.chance(0.3):
        room["example.com/gpu"] = str(dice.number(1, 4))
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    return body, {"capacity": room, "allocatable": room, "conditions": [ready]}


def random_pod(dice: Dice, name: str, nodes: Sequence[str]) -> tuple[str, Body]:
    """A namespace and a pod for it: most of the time with one or two demands, sometimes with many."""
    namespace = dice.one_of(list(NAMESPACES))
    spec: Body = {"containers": [_container(dice, "main")], "terminationGracePeriodSeconds": 30}
    eager = dice.one_of((0.08, 0.15, 0.4))
    if dice.chance(eager):
        spec["nodeSelector"] = {"disk": dice.one_of(("ssd", "hdd", "tape"))}
    if dice.chance(0.7):
        spec["tolerations"] = [_toleration(dice) for _ in range(dice.number(1, 3))]
    affinity = _affinity(dice, eager, nodes)
    if affinity:
        spec["affinity"] = affinity
    if dice.chance(eager):
        spec["initContainers"] = [_container(dice, f"init-{n}", init=True) for n in range(dice.number(1, 3))]
    if dice.chance(eager):
        spec["topologySpreadConstraints"] = [_spread(dice)]
    if namespace == "fit-a" and dice.chance(eager / 2):
        claims = dice.some_of((*CLAIMS, UNBOUND, MISSING), 0.2) or [dice.one_of(list(CLAIMS))]
        spec["volumes"] = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    if dice.chance(eager / 2):
        spec["runtimeClassName"] = HEAVY["metadata"]["name"]
    if dice.chance(eager / 2):
        spec["resources"] = {"requests": _pod_level(dice, spec)}
    labels = {"app": dice.one_of(_APPS), "rev": dice.one_of(("1", "2"))}
    return namespace, {"metadata": {"name": name, "labels": labels}, "spec": spec}


def _pod_level(dice: Dice, spec: Body) -> Body:
    """Requests of the pod as a whole: never less than those of its containers together."""
    needed = pod_requests(spec)
    wanted = {"cpu": f"{needed.get('cpu', 0) + dice.one_of((0, 50, 700))}m"}
    if "memory" in needed or dice.chance(0.5):
        wanted["memory"] = str(needed.get("memory", 0) + dice.one_of((0, 64, 900)) * 1024**2)
    return wanted


def _container(dice: Dice, name: str, init: bool = False) -> Body:
    requests = {"cpu": f"{dice.one_of((0, 10, 100, 300, 900, 3000))}m"}
    if dice.chance(0.4):
        requests["memory"] = f"{dice.one_of((16, 200, 900, 5000))}Mi"
    if dice.chance(0.1):
        requests["ephemeral-storage"] = f"{dice.number(1, 12)}Gi"
    body: Body = {"name": name, "image": "none", "resources": {"requests": requests}}
    if dice.chance(0.06):
        count = str(dice.number(1, 3))
        body["resources"] = {"requests": {**requests, "example.com/gpu": count}, "limits": {"example.com/gpu": count}}
    if not init and dice.chance(0.08):
        port: Body = {"containerPort": 80, "hostPort": dice.number(8000, 8002), "protocol": dice.one_of(("TCP", "UDP"))}
        if dice.chance(0.4):
            port["hostIP"] = dice.one_of(("127.0.0.1", "127.0.0.2"))
        body["ports"] = [port]
    if init and dice.chance(0.4):
        body["restartPolicy"] = "Always"
    return body


def _toleration(dice: Dice) -> Body:
    if dice.chance(0.05):
        return {"operator": "Exists"}
    key, value = dice.one_of(_TAINTS)
    toleration: Body = {"key": key, "operator": dice.one_of(("Equal", "Exists"))}
    if toleration["operator"] == "Equal":
        toleration["value"] = value if dice.chance(0.85) else "other"
    if dice.chance(0.7):
        toleration["effect"] = dice.one_of(("NoSchedule", "NoExecute"))
    return toleration


def _affinity(dice: Dice, eager: float, nodes: Sequence[str]) -> Body:
    affinity: Body = {}
    if dice.chance(eager):
        terms = [_node_term(dice, nodes) for _ in range(dice.number(1, 2))]
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    for kind in ("podAffinity", "podAntiAffinity"):
        if dice.chance(eager / 2):
            affinity[kind] = {"requiredDuringSchedulingIgnoredDuringExecution": [_neighbour(dice)]}
    return affinity


def _node_term(dice: Dice, nodes: Sequence[str]) -> Body:
    term: Body = {}
    if dice.chance(0.2):
        operator = dice.one_of(("In", "NotIn"))
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [dice.one_of(nodes)]}]
    if not term or dice.chance(0.5):
        term["matchExpressions"] = [_expression(dice) for _ in range(dice.number(1, 2))]
    return term


def _expression(dice: Dice) -> Body:
    operator = dice.one_of(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": "size", "operator": operator, "values": [str(dice.number(1, 9))]}
    key, values = dice.one_of((("disk", ["ssd"]), ("topology.kubernetes.io/zone", ["a", "b"]), ("size", ["3", "5"])))
    return {"key": key, "operator": operator, **({"values": values} if operator in ("In", "NotIn") else {})}


def _neighbour(dice: Dice) -> Body:
    term: Body = {
        "topologyKey": dice.one_of(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
        "labelSelector": {"matchLabels": {"app": dice.one_of(_APPS)}},
    }
    if dice.chance(0.3):
        term["namespaceSelector"] = dice.one_of(({}, {"matchLabels": {"team": "red"}}))
    elif dice.chance(0.2):
        term["namespaces"] = ["fit-b"]
    if dice.chance(0.2):
        term[dice.one_of(("matchLabelKeys", "mismatchLabelKeys"))] = ["rev"]
    return term


def _spread(dice: Dice) -> Body:
    constraint: Body = {
        "maxSkew": dice.number(1, 2),
        "topologyKey": dice.one_of(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
        "whenUnsatisfiable": "DoNotSchedule" if dice.chance(0.8) else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": dice.one_of(_APPS)}} if dice.chance(0.85) else {},
    }
    if dice.chance(0.2):
        constraint["matchLabelKeys"] = ["rev"]
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and dice.chance(0.3):
        constraint["minDomains"] = dice.number(2, 4)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if dice.chance(0.4):
            constraint[policy] = dice.one_of(("Honor", "Ignore"))
    return constraint
