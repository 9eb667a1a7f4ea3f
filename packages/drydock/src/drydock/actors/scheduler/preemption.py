"""Making room for a pod of higher priority: which pods on which node would have to go.

A simple form of kube-scheduler's: budgets of the victims are not weighed, and what other pods mean for the pod is
not counted again without them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hawser.fitting.capacity import NodeState
from hawser.fitting.judge import Verdict
from hawser.fitting.needs import PodNeeds

_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


@dataclass(frozen=True, slots=True)
class Preemption:
    """Victims on a node, or the sentence that says why there are none."""

    node: str = ""
    victims: tuple[PodNeeds, ...] = ()
    message: str = ""


def plan_preemption(
    pod: PodNeeds, nodes: Sequence[NodeState], verdicts: Mapping[str, Verdict], judge: Callable[[NodeState], Verdict]
) -> Preemption:
    """`verdicts` are those of the nodes that were looked at; nodes left out are beyond help."""
    if pod.never_preempts:
        return Preemption(message="not eligible due to preemptionPolicy=Never.")
    candidates: list[tuple[NodeState, list[PodNeeds]]] = []
    reasons: dict[str, int] = {}
    for node in nodes:
        verdict = verdicts.get(node.name)
        if verdict is None or not verdict.preemptible:
            told: Sequence[str] = (_NOT_HELPFUL,)
        else:
            victims, told = _victims_on(pod, node, judge)
            if victims:
                candidates.append((node, victims))
                continue
        for reason in told:
            reasons[reason] = reasons.get(reason, 0) + 1
    if candidates:
        node, victims = min(candidates, key=_damage)
        return Preemption(node.name, tuple(victims))
    return Preemption(message=no_node_message(len(nodes), reasons))


def no_node_message(total: int, reasons: Mapping[str, int]) -> str:
    """kube-scheduler's sentence: each reason with the number of nodes, sorted as text."""
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{total} nodes are available: {told}." if told else f"0/{total} nodes are available:"


def _victims_on(
    pod: PodNeeds, node: NodeState, judge: Callable[[NodeState], Verdict]
) -> tuple[list[PodNeeds], tuple[str, ...]]:
    """Take all lesser pods away, then put back each that need not go, the most important first."""
    lesser = [other for other in node.pods.values() if other.priority < pod.priority]
    if not lesser:
        return [], (_NO_VICTIMS,)
    scratch = node.copy()
    for other in lesser:
        scratch.remove(other.uid)
    verdict = judge(scratch)
    if not verdict.fits:
        return [], verdict.reasons
    victims: list[PodNeeds] = []
    for other in sorted(lesser, key=lambda one: -one.priority):
        scratch.add(other)
        if not judge(scratch).fits:
            scratch.remove(other.uid)
            victims.append(other)
    return victims, ()


def _damage(candidate: tuple[NodeState, list[PodNeeds]]) -> tuple[int, int, int]:
    priorities = [victim.priority for victim in candidate[1]]
    return max(priorities), sum(priorities), len(priorities)
