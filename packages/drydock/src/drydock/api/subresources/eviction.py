"""eviction: a deletion that asks the pod's disruption budget first."""

import msgspec

from drydock.api.answers.status import Cause, Refusal, RefusalForNow, json_response, success
from drydock.api.cluster import Call, Cluster, denied, timestamp
from drydock.api.kinds.kind import Kind, Object
from drydock.api.objects.conditions import set_condition
from drydock.api.requests.bodies import decode_part
from drydock.api.requests.options import DeleteOptions, Preconditions, WriteOptions, delete_options, write_options
from drydock.api.storage.store import Stored
from drydock.api.types import LIBRARY
from drydock.api.verbs.deleting import remove
from drydock.api.verbs.deletion import check_preconditions
from drydock.api.verbs.writing import Write, update
from hawser.fitting.selectors import compile_selector
from hawser.transport import Response

_EVICTION = Kind("policy", "v1", "Eviction", "evictions", True, LIBRARY["policy.Eviction"])
_RETRY_SECONDS = 10
_MAX_DISRUPTED = 2000
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def evict(cluster: Cluster, call: Call) -> Response:
    """Delete the pod if its budget has room; 429 when it has none."""
    body = decode_part(call.request, _EVICTION)
    if body["metadata"].get("name", call.name) != call.name:
        raise Refusal(400, "BadRequest", "name in URL does not match name in Eviction object")
    options = _delete_options(call, body)
    pod = cluster.require(call.kind, call.namespace, call.name)
    if _needs_budget(pod.object):
        options = _ask_budget(cluster, call, pod, options)
    _delete(cluster, call, pod, options)
    return json_response(201, success(code=201))


def _delete_options(call: Call, body: Object) -> DeleteOptions:
    asked = body.get("deleteOptions") or {}
    from_query = call.query.get("dryRun")
    in_body = asked.get("dryRun")
    if from_query and in_body and in_body != [from_query]:
        told = f"Non-matching dry-run options in request and content: [{from_query}] and {in_body}"
        raise Refusal(500, "", told)
    dry_run = in_body or ([from_query] if from_query else [])
    return delete_options({}, {**asked, "dryRun": dry_run})


def _needs_budget(pod: Object) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase not in ("Succeeded", "Failed", "Pending") and "deletionTimestamp" not in pod["metadata"]


def _ask_budget(cluster: Cluster, call: Call, pod: Stored, options: DeleteOptions) -> DeleteOptions:
    kind = cluster.builtin("policy", "poddisruptionbudgets")
    budgets = [found for found in cluster.table(kind).range(f"{call.namespace}/") if _covers(found.object, pod.object)]
    if not budgets:
        return options
    if len(budgets) > 1:
        raise Refusal(500, "", _SEVERAL)
    budget = budgets[0]
    if _may_go_unhealthy(budget.object, pod.object):
        return _at_this_version(pod, options, budget.object)
    _take_one(cluster, call, kind, budget, dry_run=options.is_dry_run)
    return options


def _covers(budget: Object, pod: Object) -> bool:
    return compile_selector(budget.get("spec", {}).get("selector"))(pod["metadata"].get("labels") or {})


def _may_go_unhealthy(budget: Object, pod: Object) -> bool:
    """A pod that is not ready disrupts nobody, where the budget agrees."""
    conditions = pod.get("status", {}).get("conditions") or ()
    if any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired, healthy = int(status.get("desiredHealthy", 0)), int(status.get("currentHealthy", 0))
    return healthy >= desired > 0


def _at_this_version(pod: Stored, options: DeleteOptions, budget: Object) -> DeleteOptions:
    """The pod goes only as it was judged: should it be another one, or ready by now, the client tries again."""
    wanted = options.preconditions or Preconditions()
    if wanted.resource_version is None:
        if wanted.uid not in (None, pod.object["metadata"]["uid"]):
            raise _still_processed(budget)
        wanted = Preconditions(wanted.uid, str(pod.version))
    return msgspec.structs.replace(options, preconditions=wanted)


def _take_one(cluster: Cluster, call: Call, kind: Kind, budget: Stored, *, dry_run: bool) -> None:
    """Check the budget and count the pod as disrupted."""
    new = budget.copy()
    status, metadata = new.setdefault("status", {}), new["metadata"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        raise _still_processed(new)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise denied(kind, metadata["name"], "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > _MAX_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise denied(kind, metadata["name"], why)
    if allowed == 0:
        raise _too_many(_why_none(new), retry_after_seconds=0)
    if dry_run:
        return
    now = timestamp(cluster.clock.now())
    status["disruptionsAllowed"] = allowed - 1
    status.setdefault("disruptedPods", {})[call.name] = now
    if allowed == 1:
        observed = status.get("observedGeneration", 0)
        condition = {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": ""}
        set_condition(status, {**condition, "observedGeneration": observed}, now)
    write = Write(call.user, WriteOptions(field_manager="kube-apiserver"), "status")
    update(cluster, kind, budget, new, write)


def _why_none(budget: Object) -> str:
    name, status = budget["metadata"]["name"], budget["status"]
    desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    refused = [
        condition
        for condition in status.get("conditions") or ()
        if condition["type"] == "DisruptionAllowed" and condition["status"] == "False" and condition.get("message")
    ]
    start = f"The disruption budget {name}"
    if refused and refused[0].get("reason") == "SyncFailed":
        told = "does not allow evicting pods currently because it failed sync"
        return f"{start} {told}: {refused[0]['message']}"
    if healthy <= desired:
        return f"{start} needs {desired} healthy pods and has {healthy} currently"
    if refused:
        return f"{start} does not allow evicting pods currently ({refused[0]['reason']}): {refused[0]['message']}"
    return f"{start} does not allow evicting pods currently"


def _delete(cluster: Cluster, call: Call, pod: Stored, options: DeleteOptions) -> None:
    check_preconditions(call.kind, pod.object, options)
    if not options.is_dry_run:
        new = pod.copy()
        reason = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
        condition = {"type": "DisruptionTarget", "status": "True", "lastProbeTime": None, **reason}
        set_condition(new.setdefault("status", {}), condition, timestamp(cluster.clock.now()))
        manager = write_options(call.query, call.user_agent, "CreateOptions").field_manager
        pod = update(cluster, call.kind, pod, new, Write(call.user, WriteOptions(field_manager=manager), "status"))
        if options.preconditions is not None and options.preconditions.resource_version is not None:
            kept = msgspec.structs.replace(options.preconditions, resource_version=str(pod.version))
            options = msgspec.structs.replace(options, preconditions=kept)
    remove(cluster, call.kind, pod, options)


def _still_processed(budget: Object) -> Refusal:
    told = f"The disruption budget {budget['metadata']['name']} is still being processed by the server."
    return _too_many(told, retry_after_seconds=_RETRY_SECONDS)


def _too_many(told: str, *, retry_after_seconds: int) -> Refusal:
    return RefusalForNow(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        Cause("DisruptionBudget", told, ""),
        retry_after_seconds,
    )
