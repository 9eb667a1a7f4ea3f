"""Which running pods a pool can adopt, and why not the others. The pool's `max` holds for adopted workers too."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mooring.model import names
from mooring.model.pool import Pool
from mooring.planning.services.fixes import patch_object

LONGEST_NAME = 63  # of a label's value


class PodAction(StrEnum):
    """What is done with a pod that matches."""

    ADOPT = "adopt"
    PROVE_IDLE = "prove-idle"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class FoundPod:
    """A pod that matches the selector, as listed."""

    name: str
    uid: str
    phase: str
    terminating: bool = False
    manager: str = ""  # what manages it: a controller, or the kubelet
    pool_uid: str = ""  # of the pool whose worker it is already
    unproven: bool = False  # whether its sessions from before its adoption are unknown


@dataclass(frozen=True, slots=True)
class AdoptionStep:
    """The decision for one pod."""

    pod: FoundPod
    action: PodAction
    why: str
    fix: str = ""  # what makes a skipped pod one that can be adopted


def plan_adoption(
    pool: Pool, pods: Sequence[FoundPod], workers: Collection[str], *, idle: bool
) -> tuple[AdoptionStep, ...]:
    """Decide for each pod, by name. `workers` are the uids of the pool's workers; `idle` is the operator's word."""
    steps = [_judge(pool, pod, idle=idle) for pod in sorted(pods, key=lambda pod: pod.name)]
    wanted = [step for step in steps if step.action is PodAction.ADOPT]
    beyond = {step.pod.uid for step in wanted[max(0, pool.spec.max - len(workers)) :]}
    why = f"the pool has all workers that spec.max allows ({pool.spec.max})"
    own = max(0, pool.floor + pool.status.queued - pool.status.idle)  # the pool would take this room first
    enough = len(workers) + len(wanted) + own
    fix = patch_object(pool.namespace, "workerpool", pool.name, {"spec": {"max": enough}})
    return tuple(AdoptionStep(step.pod, PodAction.SKIP, why, fix) if step.pod.uid in beyond else step for step in steps)


def _judge(pool: Pool, pod: FoundPod, *, idle: bool) -> AdoptionStep:
    if pod.pool_uid == pool.uid:
        if pod.unproven and idle and not pod.terminating:
            return AdoptionStep(pod, PodAction.PROVE_IDLE, "the operator says that it is idle")
        again = f"mooring adopt --pool {pool.key} --selector {names.WORKER}={pod.name} --idle --reason WHY"
        fix = again if pod.unproven else f"mooring workers --pool {pool.key}"
        return AdoptionStep(pod, PodAction.SKIP, "it is a worker of this pool already", fix)
    if pod.terminating:
        why = "it is being deleted"
    elif pod.manager:
        why = f"{pod.manager} manages it"
    elif pod.phase != "Running":
        why = f"its phase is {pod.phase or 'unknown'}, not Running"
    elif len(pod.name) > LONGEST_NAME:
        why = f"its name is longer than {LONGEST_NAME} characters"
    else:
        known = "idle, as the operator says" if idle else "busy until it is proven to be idle"
        return AdoptionStep(pod, PodAction.ADOPT, f"it counts as {known}")
    return AdoptionStep(pod, PodAction.SKIP, why, f"mooring explain pod/{pool.namespace}/{pod.name}")
