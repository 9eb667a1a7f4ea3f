"""The built-in admission rules: namespaces that exist, service accounts, priorities, default tolerations."""

from drydock.api.admission.account_token import mount_account_token
from drydock.api.answers.status import Cause
from drydock.api.cluster import Cluster, denied, not_found
from drydock.api.kinds.kind import Kind, Object

SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

_IMMORTAL = ("default", "kube-system", "kube-public")
_TOLERATED_SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def check_place(cluster: Cluster, kind: Kind, namespace: str, new: Object) -> None:
    """404 or 403 when nothing can be created in the namespace."""
    if not kind.namespaced:
        return
    found = cluster.store.lookup("", "namespaces", "", namespace)
    if found is None:
        raise not_found("", "namespaces", namespace)
    if "deletionTimestamp" in found["metadata"]:
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        refusal = denied(kind, new["metadata"].get("name", ""), why)
        told = f"namespace {namespace} is being terminated"
        refusal.causes = (Cause("NamespaceTerminating", told, "metadata.namespace"),)
        raise refusal


def admit_create(cluster: Cluster, kind: Kind, new: Object) -> None:
    """Fill in what the server decides about a new object, or refuse it."""
    if _is_pod(kind):
        _set_service_account(cluster, kind, new)
        _set_priority(cluster, kind, new)
        _add_tolerations(new["spec"])
    elif kind.plural == "nodes" and not kind.group:
        _taint_until_ready(new.setdefault("spec", {}))


def admit_update(kind: Kind, new: Object, old: Object) -> None:
    """Keep what the server had decided when the client did not send it back."""
    if _is_pod(kind):
        spec, decided = new.get("spec", {}), old["spec"]
        for field in ("priority", "preemptionPolicy"):
            if field in decided:
                spec.setdefault(field, decided[field])
        _add_tolerations(spec)


def admit_delete(kind: Kind, name: str) -> None:
    """Some things may not go."""
    if kind.plural == "namespaces" and not kind.group and name in _IMMORTAL:
        raise denied(kind, name, "this namespace may not be deleted")


def _is_pod(kind: Kind) -> bool:
    return kind.plural == "pods" and not kind.group


def _set_service_account(cluster: Cluster, kind: Kind, pod: Object) -> None:
    spec, metadata = pod.setdefault("spec", {}), pod["metadata"]
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = cluster.store.lookup("", "serviceaccounts", metadata["namespace"], name)
    if account is not None and account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(entry) for entry in account["imagePullSecrets"]]
    # Every namespace gets its default account sooner or later; pods need not wait for it here.
    if name != "default" and account is None:
        place = f"{metadata['namespace']}/{name}"
        why = f'error looking up service account {place}: serviceaccount "{name}" not found'
        raise denied(kind, metadata.get("name", ""), why)
    if cluster.signer.for_pods:
        mount_account_token(pod, account)


def _set_priority(cluster: Cluster, kind: Kind, pod: Object) -> None:
    spec, name = pod["spec"], pod["metadata"].get("name", "")
    class_name = spec.get("priorityClassName", "")
    found = _priority_class(cluster, class_name)
    if class_name and found is None:
        raise denied(kind, name, f"no PriorityClass with name {class_name} was found")
    value = found["value"] if found else 0
    if spec.get("priority", value) != value:
        why = f"the integer value of priority ({spec['priority']}) must not be provided in pod spec;"
        raise denied(
            kind, name, f"{why} priority admission controller computed {value} from the given PriorityClass name"
        )
    if found is not None:
        spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = value
    spec["preemptionPolicy"] = (found or {}).get("preemptionPolicy", "PreemptLowerPriority")


def _priority_class(cluster: Cluster, name: str) -> Object | None:
    classes = cluster.table(cluster.builtin("scheduling.k8s.io", "priorityclasses")).objects
    if name:
        return classes[name].object if name in classes else None
    defaults = [stored.object for stored in classes.values() if stored.object.get("globalDefault")]
    return min(defaults, key=lambda found: int(found["value"]), default=None)


def _add_tolerations(spec: Object) -> None:
    present = spec.get("tolerations") or []
    missing = [taint for taint in _TAINTS if not any(_tolerates(toleration, taint) for toleration in present)]
    if missing:
        added = [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}
            for taint in missing
        ]
        spec["tolerations"] = [*present, *added]


def _taint_until_ready(spec: Object) -> None:
    """Nothing is scheduled on a new node before the node controller has seen that it is ready."""
    taints = spec.setdefault("taints", [])
    if not any(taint.get("key") == _TAINTS[0] and taint.get("effect") == "NoSchedule" for taint in taints):
        taints.append({"key": _TAINTS[0], "effect": "NoSchedule"})


def _tolerates(toleration: Object, taint: str) -> bool:
    return toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in ("", "NoExecute")
