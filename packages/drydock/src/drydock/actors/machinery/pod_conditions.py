"""Setting one condition of a pod's status without losing what others write meanwhile."""

from drydock.actors.machinery.objects import Object, merge_condition, name_of, namespace_of, status_of, uid_of
from hawser.client import KubeClient
from hawser.clock import Clock
from hawser.errors import ObjectConflict
from hawser.resources import PODS

_ATTEMPTS = 4
_PODS = PODS.raw()


async def set_pod_condition(
    client: KubeClient, clock: Clock, pod: Object, condition: Object, also: Object | None = None
) -> Object:
    """Write the condition, and `also` other fields of the status; nothing is written when nothing changes.

    A merge patch replaces the whole list of conditions, so it is fenced by the version it was made from.
    """
    for attempt in range(_ATTEMPTS):
        status = status_of(pod)
        wanted = {**condition, "observedGeneration": pod["metadata"].get("generation", 1)}
        conditions = merge_condition(status.get("conditions"), wanted, clock.now())
        changed = {name: value for name, value in (also or {}).items() if status.get(name) != value}
        if conditions is not None:
            changed["conditions"] = conditions
        if not changed:
            return pod
        metadata = {"uid": uid_of(pod), "resourceVersion": pod["metadata"]["resourceVersion"]}
        patch = {"metadata": metadata, "status": changed}
        try:
            return await client.merge_patch(_PODS, name_of(pod), patch, namespace_of(pod), subresource="status")
        except ObjectConflict:
            fresh = await client.get(_PODS, name_of(pod), namespace_of(pod))
            if uid_of(fresh) != uid_of(pod) or attempt == _ATTEMPTS - 1:
                raise
            pod = fresh
    raise AssertionError("the last attempt returns or raises")
