"""Volume claims without a volume: the scheduler binds no pod to a node before its volume claims are bound."""

import json
import shlex
from collections.abc import Iterable

from hawser.fitting.needs import PodNeeds
from hawser.fitting.volumes import Unbound
from mooring.model.preflight import HeldClaim
from mooring.planning.fit.usage import Usage
from mooring.planning.services.fixes import kubectl

_REASONS = {  # as kube-scheduler words them
    Unbound.MISSING: 'persistentvolumeclaim "{name}" not found',
    Unbound.LEAVING: 'persistentvolumeclaim "{name}" is being deleted',
    Unbound.LOST: 'persistentvolumeclaim "{name}" bound to non-existent persistentvolume',
    Unbound.IMMEDIATE: "pod has unbound immediate PersistentVolumeClaims",
}
_MESSAGES = {
    Unbound.MISSING: "claim {name} does not exist",
    Unbound.LEAVING: "claim {name} is being deleted",
    Unbound.LOST: "claim {name} has lost its volume",
    Unbound.IMMEDIATE: "claim {name} is not bound",
}


def find_held_claims(needs: PodNeeds, usage: Usage) -> Iterable[HeldClaim]:
    """The volume claims that keep the pod off every node."""
    for name in needs.claims:
        state = usage.volumes.get(name)
        if isinstance(state, Unbound) and state in _REASONS:
            reason, message = _REASONS[state].format(name=name), _MESSAGES[state].format(name=name)
            yield HeldClaim(name, f"claim_{state}", reason, message, _fix(needs.namespace, name, state))


def tell_unjudged_claims(needs: PodNeeds, usage: Usage) -> Iterable[str]:
    """A note about volume claims for which it is unknown on which nodes their volumes can be."""
    for name in needs.claims:
        match usage.volumes.get(name):
            case None:
                yield f"the volume of claim {name}: it was not read"
            case Unbound.LATER:
                yield f"where the volume of claim {name} can be made: it is bound with its first pod"
            case Unbound.UNCLEAR:
                yield f"the volume of claim {name}: it is not bound, and its storage class was not read"


def _fix(namespace: str, name: str, state: Unbound) -> str:
    if state is not Unbound.MISSING:
        return kubectl(namespace, "describe", "pvc", name)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "<SIZE>"}}}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
    return f"echo {shlex.quote(json.dumps(body))} | {kubectl(namespace, 'create', '-f', '-')}"
