"""The Job that warms a shard, and the ConfigMap with its script, built as data."""

from importlib import resources
from typing import Any

from mooring.engine.ownership import owner_reference
from mooring.model import names
from mooring.model.pod_template import OWN_PATH, OWN_VOLUMES
from mooring.model.warmup import Warmup
from mooring.planning.placement import Placed
from mooring.planning.pod_template import shape_pod
from mooring.planning.warmups.jobs import FETCH, VERIFY, WARM, data_key, data_path, dataset_label
from mooring.planning.warmups.plan import CreateJob
from mooring.planning.warmups.reclaim import CreateCleanup

Body = dict[str, Any]

SCRIPTS_NAME = "mooring-warm-scripts"
SCRIPT = "warm.sh"
_CLEANUP_SCRIPT = "clean.sh"
_CLEANUP_ATTEMPTS = 3
_CLEANUP_SECONDS = 600
_CLEANUP_TTL_SECONDS = 600  # it has no owner: the owner's deletion waits for it
_SCRIPTS_PATH = OWN_PATH
_DATA, _SCRIPTS = f"{OWN_VOLUMES}data", f"{OWN_VOLUMES}scripts"
# Restarts are counted by Mooring, which keeps the evidence; a Job that gave up would take its pod's log with it.
_BACKOFF_LIMIT = 10_000
# A node without real mounts names their folder in MOORING_ROOT.
_START = 'exec /bin/sh "${MOORING_ROOT:-}/mooring/warm.sh" "$@"'


def scripts_manifest(namespace: str) -> Body:
    """What every Job of a namespace runs."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": SCRIPTS_NAME, "namespace": namespace, "labels": {names.SCRIPTS: "warm"}},
        "data": script_data(),
    }


def script_data() -> dict[str, str]:
    """The script as it has to be."""
    return {SCRIPT: resources.files(__package__).joinpath(SCRIPT).read_text()}


def job_manifest(warmup: Warmup, create: CreateJob, placed: Placed) -> Body:
    """One shard on one node. The node is named by its field, so that the scheduler still decides."""
    labels = {names.DATASET: dataset_label(warmup.spec.dataset), names.SHARD: str(create.shard)}
    annotations = {
        names.NODE_UID: create.node.uid,
        names.GENERATION: create.order.generation,
        names.SPEC_HASH: create.order.spec_hash,
    }
    if create.order.round:
        annotations[names.REWARM] = create.order.round
    if create.order.template_hash:
        annotations[names.POD_TEMPLATE] = create.order.template_hash
    pod = {
        "metadata": {"labels": labels, "annotations": {names.NODE_UID: create.node.uid}},
        "spec": _pod(warmup, create, placed),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": create.name,
            "namespace": warmup.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner_reference("Warmup", warmup.name, warmup.uid)],
        },
        "spec": {
            "backoffLimit": _BACKOFF_LIMIT,
            "activeDeadlineSeconds": warmup.spec.deadline_seconds,
            "template": shape_pod(warmup.spec.pod_template, pod),
        },
    }


def cleanup_manifest(warmup: Warmup, create: CreateCleanup) -> Body:
    """The Job that removes one folder's data from one node: bounded in time and attempts, and gone by itself.

    It runs on its node whatever taints that has: the data is there.
    """
    copy = create.copy
    labels = {names.RECLAIM: warmup.uid}
    container = {
        "name": "clean",
        "image": warmup.spec.image,
        "command": ["/bin/sh", "-c", resources.files(__package__).joinpath(_CLEANUP_SCRIPT).read_text()],
        "env": [{"name": "MOORING_LOCAL_PATH", "value": copy.path.replace("$(", "$$(")}],
        "volumeMounts": [{"name": _DATA, "mountPath": copy.path}],
    }
    pod: Body = {
        "restartPolicy": "Never",
        "affinity": {"nodeAffinity": _pin(copy.node)},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": _DATA, "hostPath": {"path": copy.path, "type": "DirectoryOrCreate"}}],
    }
    if warmup.spec.service_account:
        pod["serviceAccountName"] = warmup.spec.service_account
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": create.name,
            "namespace": warmup.namespace,
            "labels": labels,
            "annotations": {names.NODE_UID: copy.node_uid},
        },
        "spec": {
            "backoffLimit": _CLEANUP_ATTEMPTS - 1,
            "activeDeadlineSeconds": _CLEANUP_SECONDS,
            "ttlSecondsAfterFinished": _CLEANUP_TTL_SECONDS,
            "template": shape_pod(
                warmup.spec.pod_template.without_volumes(), {"metadata": {"labels": labels}, "spec": pod}
            ),
        },
    }


def _pin(node: str) -> Body:
    """By the node's field, so that the scheduler still decides."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def _pod(warmup: Warmup, create: CreateJob, placed: Placed) -> Body:
    spec = warmup.spec
    path = data_path(warmup.spec)
    fetch = [*spec.command, *spec.args] if spec.command else []
    inits = [_container(warmup, create, FETCH, _wrapped("fetch", fetch))]
    if not spec.command:  # the image's own entrypoint: it cannot be wrapped
        inits[0] = {**_container(warmup, create, FETCH, None), "args": list(spec.args)}
    if spec.verify:
        inits.append(_container(warmup, create, VERIFY, _wrapped("verify", fetch, list(spec.verify))))
    pod: Body = {
        "restartPolicy": "OnFailure",
        "affinity": {"nodeAffinity": _pin(create.node.name)},
        "initContainers": inits,
        "containers": [_container(warmup, create, WARM, _wrapped("warm"))],
        "volumes": [
            {"name": _DATA, "hostPath": {"path": path, "type": "DirectoryOrCreate"}},
            {"name": _SCRIPTS, "configMap": {"name": SCRIPTS_NAME}},
        ],
    }
    if placed.tolerations:
        pod["tolerations"] = [dict(toleration) for toleration in placed.tolerations]
    if spec.service_account:
        pod["serviceAccountName"] = spec.service_account
    return pod


def _wrapped(step: str, fetch: list[str] | None = None, verify: list[str] | None = None) -> list[str]:
    words = [] if fetch is None else [str(len(fetch)), *fetch, *(verify or [])]
    return ["/bin/sh", "-c", _START, "warm.sh", step, *words]


def _container(warmup: Warmup, create: CreateJob, name: str, command: list[str] | None) -> Body:
    container: Body = {
        "name": name,
        "image": warmup.spec.image,
        "env": _environment(warmup, create),
        "volumeMounts": [
            {"name": _DATA, "mountPath": data_path(warmup.spec)},
            {"name": _SCRIPTS, "mountPath": _SCRIPTS_PATH, "readOnly": True},
        ],
    }
    if command is not None:
        container["command"] = command
    return container


def _environment(warmup: Warmup, create: CreateJob) -> list[Body]:
    """The owner's variables, then ours, which win."""
    spec, order = warmup.spec, create.order
    key = data_key(order.generation, order.round)
    shards = " ".join(str(shard) for shard in range(spec.shards)) if spec.mode == "Broadcast" else str(create.shard)
    ours = {
        "MOORING_DATASET": spec.dataset,
        "MOORING_GENERATION": order.generation,
        "MOORING_SHARDS": str(spec.shards),
        "MOORING_SHARD_LIST": shards,
        "MOORING_LOCAL_PATH": data_path(warmup.spec),
        "MOORING_DATA_KEY": key,
        "MOORING_ORDER": f"{order.spec_hash}-{order.round}",
        "MOORING_ATTEMPTS": str(spec.attempts),
        "MOORING_ATTEMPT_DELAY_SECONDS": str(spec.attempt_delay_seconds),
    }
    if spec.mode == "Shard":
        ours["MOORING_SHARD"] = str(create.shard)
        ours["MOORING_SHARD_PATH"] = f"{data_path(warmup.spec)}/.mooring/{key}/{create.shard:02}"
    theirs = [dict(variable) for variable in spec.env if variable.get("name") not in ours]
    # The kubelet would expand a reference `$(NAME)` in a value.
    literal = [{"name": name, "value": value.replace("$(", "$$(")} for name, value in ours.items()]
    node = {"name": "MOORING_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return [*theirs, *literal, node]
