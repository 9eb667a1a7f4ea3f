"""Nodes with the pods on them, and the decision where one more pod goes. No API, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from drydock.actors.machinery.objects import Object, name_of
from drydock.actors.scheduler.preemption import Preemption, no_node_message, plan_preemption
from drydock.actors.scheduler.scoring import best_nodes
from hawser.clock import Entropy
from hawser.fitting.capacity import NodeState
from hawser.fitting.judge import Verdict, judge
from hawser.fitting.needs import PodNeeds, required_node_names
from hawser.fitting.obstacles import NO_NODES
from hawser.fitting.topology import UNCONSTRAINED, NamespaceLabels, TopologyConstraints, count_topology
from hawser.fitting.volumes import BoundVolume

_NO_CLAIMS = "no new claims to deallocate"
_LINGERING = "not eligible due to a terminating pod on the nominated node."


@dataclass(frozen=True, slots=True)
class Decision:
    """A node, or why there is none and who would have to go to make room."""

    node: str = ""
    message: str = ""
    preemption: Preemption | None = None


class Placement:
    """Every node and every pod that holds a place on one."""

    def __init__(self, entropy: Entropy, namespace_labels: NamespaceLabels) -> None:
        self._entropy = entropy
        self._namespace_labels = namespace_labels
        self._nodes: dict[str, NodeState] = {}
        self._places: dict[str, str] = {}  # pod uid -> node name
        self._refusing: dict[str, PodNeeds] = {}  # pods with required anti-affinity, by uid
        self._nominated: dict[str, dict[str, PodNeeds]] = {}  # node name -> pods that preempted for it, by uid

    # -- what there is

    def describe(self, node: Object) -> bool:
        """Take over a Node; returns whether anything a pod could care about changed."""
        return self._state(name_of(node)).describe(node)

    def forget_node(self, name: str) -> None:
        state = self._nodes.get(name)
        if state is not None:
            state.forget()
            self._tidy(state)

    def place(self, pod: PodNeeds, node: str) -> None:
        """The pod holds a place on the node, bound or about to be."""
        if self._places.get(pod.uid) == node and self._nodes[node].pods[pod.uid].terminating is pod.terminating:
            return
        self.displace(pod.uid)
        self._places[pod.uid] = node
        self._state(node).add(pod)
        if pod.anti_affinity:
            self._refusing[pod.uid] = pod

    def displace(self, uid: str) -> str:
        """The pod holds no place any more; returns the node it was on."""
        name = self._places.pop(uid, "")
        self._refusing.pop(uid, None)
        self.withdraw(uid)
        if name:
            state = self._nodes[name]
            state.remove(uid)
            self._tidy(state)
        return name

    def place_of(self, uid: str) -> str:
        """The node the pod holds a place on, or ""."""
        return self._places.get(uid, "")

    def nominate(self, pod: PodNeeds, node: str) -> None:
        """Room is being made for the pod there: lesser pods must not take it."""
        self.withdraw(pod.uid)
        self._nominated.setdefault(node, {})[pod.uid] = pod

    def withdraw(self, uid: str) -> None:
        for pods in self._nominated.values():
            pods.pop(uid, None)

    def nodes(self) -> list[NodeState]:
        return [node for node in self._nodes.values() if node.known]

    def node(self, name: str) -> NodeState | None:
        state = self._nodes.get(name)
        return state if state is not None and state.known else None

    # -- where to

    def might_fit(self, pod: PodNeeds, node: NodeState, volumes: Sequence[BoundVolume]) -> bool:
        """Whether it is worth looking at the pod again because of this node."""
        if pod.has_topology_constraints or self._refusing:
            return True
        return judge(pod, self._crowded(pod, node), UNCONSTRAINED, volumes).fits

    def decide(self, pod: PodNeeds, volumes: Sequence[BoundVolume] = (), victims_linger: bool = False) -> Decision:
        """The best node, at random among equals. Nobody else is preempted while earlier victims are still going."""
        nodes = self.nodes()
        if not nodes:
            return Decision(message=NO_NODES)
        names = required_node_names(pod)
        if names is not None and not names:
            return Decision(message=f"{no_node_message(len(nodes), {})} pod affinity terms conflict. not found")
        candidates = nodes if names is None else [node for node in nodes if node.name in names]
        topology = self._count_topology(pod, nodes)
        verdicts = {node.name: judge(pod, self._crowded(pod, node), topology, volumes) for node in candidates}
        feasible = [node for node in candidates if verdicts[node.name].fits]
        if not feasible:
            message = _no_fit_message(len(nodes), verdicts)
            if victims_linger:
                return Decision(message=f"{message} {_NO_CLAIMS}, preemption: {_LINGERING}")
            preemption = plan_preemption(pod, nodes, verdicts, lambda node: judge(pod, node, topology, volumes))
            if preemption.victims:
                return Decision(message=message, preemption=preemption)
            return Decision(message=f"{message} {_NO_CLAIMS}, preemption: {preemption.message}")
        if len(feasible) == 1:
            return Decision(node=feasible[0].name)
        best = best_nodes(pod, feasible, nodes, self._namespace_labels)
        return Decision(node=best[self._entropy.below(len(best))].name)

    def _count_topology(self, pod: PodNeeds, nodes: Iterable[NodeState]) -> TopologyConstraints:
        refusing = [(self._nodes[self._places[uid]], other) for uid, other in self._refusing.items()]
        if not refusing and not pod.has_topology_constraints:
            return UNCONSTRAINED
        return count_topology(pod, nodes, refusing, self._namespace_labels)

    def _crowded(self, pod: PodNeeds, node: NodeState) -> NodeState:
        """The node as this pod has to see it: with the pods room is being made for."""
        nominated = self._nominated.get(node.name, {}).values()
        others = [one for one in nominated if one.uid != pod.uid and one.priority >= pod.priority]
        if not others:
            return node
        crowded = node.copy()
        for other in others:
            crowded.add(other)
        return crowded

    def _state(self, name: str) -> NodeState:
        state = self._nodes.get(name)
        if state is None:
            state = self._nodes[name] = NodeState(name)
        return state

    def _tidy(self, state: NodeState) -> None:
        if not state.known and not state.pods:
            self._nodes.pop(state.name, None)
            self._nominated.pop(state.name, None)


def _no_fit_message(total: int, verdicts: Mapping[str, Verdict]) -> str:
    """Why none of the nodes fits; nodes without a verdict are those that the pod does not name."""
    reasons: dict[str, int] = {}
    for verdict in verdicts.values():
        for obstacle in verdict.obstacles:
            reasons[obstacle.reason] = reasons.get(obstacle.reason, 0) + 1
    if len(verdicts) < total:
        reasons["node(s) didn't satisfy plugin(s) [NodeAffinity]"] = total - len(verdicts)
    return no_node_message(total, reasons)
