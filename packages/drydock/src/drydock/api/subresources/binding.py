"""binding: a pod is given its node, once."""

from drydock.api.answers.status import Refusal, json_response, success
from drydock.api.cluster import Call, Cluster, conflict, timestamp
from drydock.api.kinds.kind import Object
from drydock.api.objects.conditions import set_condition
from drydock.api.requests.bodies import decode_part
from drydock.api.requests.options import write_options
from drydock.api.storage.store import Stored
from hawser.transport import Response


def bind(cluster: Cluster, call: Call) -> Response:
    """Assign the pod to the node that the Binding names."""
    body = decode_part(call.request, cluster.builtin("", "bindings"))
    node, metadata = _target(body), body["metadata"]
    name = call.name or metadata.get("name", "")
    pods = cluster.builtin("", "pods")
    pod = cluster.require(pods, call.namespace, name)
    _check(pod, metadata, name)
    new = pod.copy()
    new["spec"]["nodeName"] = node
    for field in ("annotations", "labels"):
        if given := metadata.get(field):
            new["metadata"][field] = {**(new["metadata"].get(field) or {}), **given}
    status = new.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    set_condition(status, condition, timestamp(cluster.clock.now()))
    if not write_options(call.query, call.user_agent, "CreateOptions").dry_run:
        cluster.store.put(cluster.table(pods), pod.key, new)
    return json_response(201, success(code=201))


def _target(body: Object) -> str:
    target = body.get("target") or {}
    if not target.get("name"):
        raise Refusal(500, "", "target.name: Required value")
    if target.get("kind", "Node") not in ("", "Node"):
        raise Refusal(500, "", 'target.kind: Unsupported value: supported values: "Node", "<empty>"')
    return str(target["name"])


def _check(pod: Stored, wanted: Object, name: str) -> None:
    metadata = pod.object["metadata"]
    for field, told in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if wanted.get(field) and wanted[field] != metadata[field]:
            why = (
                f"StorageError: invalid object, Code: 4, Key: /registry/pods/{pod.key}, ResourceVersion: 0,"
                f" AdditionalErrorMsg: Precondition failed: {told} in precondition: {wanted[field]},"
                f" {told} in object meta: {metadata[field]}"
            )
            raise conflict("", "pods", name, why)
    spec = pod.object["spec"]
    if "deletionTimestamp" in metadata:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    else:
        return
    raise conflict("", "pods/binding", name, why)
