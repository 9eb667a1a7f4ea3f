"""The printer columns of the built-in kinds: the same names, order and priorities that kube-apiserver prints."""

from drydock.api.kinds.kind import Column, Kind, Object
from drydock.api.printing import cells, pod_columns
from drydock.api.printing.cells import Compute


def _column(name: str, compute: Compute, description: str = "", *, type: str = "string", wide: bool = False) -> Column:
    return Column(name, type, priority=int(wide), description=description, compute=compute)


NAME = _column("Name", cells.field("metadata.name"), "the object's name")
AGE = _column("Age", cells.age_of("metadata.creationTimestamp"), "how long ago it was created")
_CREATED = _column("Created At", cells.field("metadata.creationTimestamp"), "when it was created", type="date")


def _integer(name: str, path: str, description: str = "") -> Column:
    return _column(name, cells.field(path, 0), description, type="integer")


def _workload(
    template: str = "spec.template",
    *,
    selector: bool = True,
    selector_path: str = "spec.selector",
    labels: bool = False,
) -> tuple[Column, ...]:
    shown = cells.labels(selector_path) if labels else cells.selector(selector_path)
    return (
        _column("Containers", cells.containers("name", template), "names of the containers", wide=True),
        _column("Images", cells.containers("image", template), "images of the containers", wide=True),
        *((_column("Selector", shown, "the pods it counts as its own", wide=True),) if selector else ()),
    )


_READY = _column("Ready", cells.ratio("status.readyReplicas", "spec.replicas"), "pods that are ready, of all asked for")
_EVENTS = (
    _column("Last Seen", cells.event_last, "when it was last seen"),
    _column("Type", cells.field("type"), "Normal or Warning"),
    _column("Reason", cells.field("reason"), "one word for why"),
    _column("Object", cells.event_object, "what it is about"),
    _column("Subobject", cells.event_subobject, "the part of the object", wide=True),
    _column("Source", cells.event_source, "who says so", wide=True),
    _column("Message", cells.event_message, "what happened"),
    _column("First Seen", cells.event_first, "when it was first seen", wide=True),
    _column("Count", cells.event_count, "how often", wide=True),
    _column("Name", cells.field("metadata.name"), "the event's name", wide=True),
)
_BINDINGS = (
    NAME,
    _column("Role", cells.role, "the role that is granted"),
    AGE,
    _column("Users", cells.subjects("User"), "users it is granted to", wide=True),
    _column("Groups", cells.subjects("Group"), "groups it is granted to", wide=True),
    _column("ServiceAccounts", cells.subjects("ServiceAccount"), "accounts it is granted to", wide=True),
)
_REPLICAS = (
    NAME,
    _integer("Desired", "spec.replicas", "pods asked for"),
    _integer("Current", "status.replicas", "pods there are"),
    _integer("Ready", "status.readyReplicas", "pods that are ready"),
    AGE,
)

COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "Pod"): (
        NAME,
        _column("Ready", pod_columns.pod_ready, "containers that are ready, of all"),
        _column("Status", pod_columns.pod_status, "where the pod is in its life"),
        _column("Restarts", pod_columns.pod_restarts, "how often containers were restarted, and when last"),
        AGE,
        _column("IP", pod_columns.pod_address, "the pod's address", wide=True),
        _column("Node", cells.field("spec.nodeName", cells.NONE), "the node it runs on", wide=True),
        _column(
            "Nominated Node", cells.field("status.nominatedNodeName", cells.NONE), "where room is being made", wide=True
        ),
        _column("Readiness Gates", pod_columns.pod_gates, "extra conditions that hold, of all", wide=True),
    ),
    ("", "Node"): (
        NAME,
        _column("Status", cells.node_status, "is it ready, and does it take pods"),
        _column("Roles", cells.node_roles, "what it is for"),
        AGE,
        _column("Version", cells.field("status.nodeInfo.kubeletVersion"), "version of its kubelet"),
        _column("Internal-IP", cells.node_address("InternalIP"), "address inside", wide=True),
        _column("External-IP", cells.node_address("ExternalIP"), "address outside", wide=True),
        _column("OS-Image", cells.field("status.nodeInfo.osImage", "<unknown>"), "operating system", wide=True),
        _column("Kernel-Version", cells.kernel, "kernel and architecture", wide=True),
        _column(
            "Container-Runtime",
            cells.field("status.nodeInfo.containerRuntimeVersion", "<unknown>"),
            "what runs its containers",
            wide=True,
        ),
    ),
    ("", "Namespace"): (NAME, _column("Status", cells.field("status.phase"), "Active or Terminating"), AGE),
    ("", "Service"): (
        NAME,
        _column("Type", cells.field("spec.type"), "how it is reached"),
        _column("Cluster-IP", cells.service_address, "address inside"),
        _column("External-IP", cells.service_external, "addresses outside"),
        _column("Port(s)", cells.service_ports, "ports it serves"),
        AGE,
        _column(
            "Selector",
            cells.labels("spec.selector"),
            "the pods behind it",
            wide=True,
        ),
    ),
    ("", "Endpoints"): (NAME, _column("Endpoints", cells.endpoints, "addresses behind the service"), AGE),
    ("", "ConfigMap"): (NAME, _column("Data", cells.data_count, "how many entries"), AGE),
    ("", "Secret"): (
        NAME,
        _column("Type", cells.field("type"), "what it holds"),
        _column("Data", cells.count("data"), "how many entries"),
        AGE,
    ),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "Event"): _EVENTS,
    ("events.k8s.io", "Event"): _EVENTS,
    ("", "PersistentVolume"): (
        NAME,
        _column("Capacity", cells.capacity("spec.capacity"), "how large"),
        _column("Access Modes", cells.modes("spec.accessModes"), "who may mount it, how"),
        _column("Reclaim Policy", cells.field("spec.persistentVolumeReclaimPolicy"), "what happens when released"),
        _column("Status", cells.phase, "is it bound"),
        _column("Claim", cells.claim_of, "the claim it is bound to"),
        _column("StorageClass", cells.field("spec.storageClassName"), "its class"),
        _column("VolumeAttributesClass", cells.field("spec.volumeAttributesClassName", "<unset>"), "its attributes"),
        _column("Reason", cells.field("status.reason"), "why it is in this state"),
        AGE,
        _column("VolumeMode", cells.field("spec.volumeMode", "<unset>"), "file system or block", wide=True),
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        _column("Status", cells.phase, "is it bound"),
        _column("Volume", cells.field("spec.volumeName"), "the volume it is bound to"),
        _column("Capacity", cells.bound(cells.capacity("status.capacity")), "how large"),
        _column("Access Modes", cells.bound(cells.modes("status.accessModes")), "who may mount it, how"),
        _column("StorageClass", cells.field("spec.storageClassName"), "its class"),
        _column("VolumeAttributesClass", cells.field("spec.volumeAttributesClassName", "<unset>"), "its attributes"),
        AGE,
        _column("VolumeMode", cells.field("spec.volumeMode", "<unset>"), "file system or block", wide=True),
    ),
    ("", "ResourceQuota"): (
        NAME,
        _column("Request", cells.quota(limits=False), "used and allowed requests"),
        _column("Limit", cells.quota(limits=True), "used and allowed limits"),
        AGE,
    ),
    ("", "LimitRange"): (NAME, _CREATED),
    ("", "ReplicationController"): (*_REPLICAS, *_workload(labels=True)),
    ("", "PodTemplate"): (
        NAME,
        _column("Containers", cells.containers("name", "template"), "names of the containers"),
        _column("Images", cells.containers("image", "template"), "images of the containers"),
        _column(
            "Pod Labels",
            cells.labels("template.metadata.labels"),
            "labels of the pods",
        ),
    ),
    ("apps", "Deployment"): (
        NAME,
        _column(
            "Ready", cells.ratio("status.readyReplicas", "spec.replicas"), "pods that are ready, of those asked for"
        ),
        _column("Up-to-date", cells.field("status.updatedReplicas", 0), "pods of the current template"),
        _column("Available", cells.field("status.availableReplicas", 0), "pods ready for long enough"),
        AGE,
        *_workload(),
    ),
    ("apps", "ReplicaSet"): (*_REPLICAS, *_workload()),
    ("apps", "StatefulSet"): (
        NAME,
        _column(
            "Ready", cells.ratio("status.readyReplicas", "spec.replicas"), "pods that are ready, of those asked for"
        ),
        AGE,
        *_workload(selector=False),
    ),
    ("apps", "DaemonSet"): (
        NAME,
        _integer("Desired", "status.desiredNumberScheduled", "nodes that should run it"),
        _integer("Current", "status.currentNumberScheduled", "nodes that run it"),
        _integer("Ready", "status.numberReady", "nodes where it is ready"),
        _integer("Up-to-date", "status.updatedNumberScheduled", "nodes with the current template"),
        _integer("Available", "status.numberAvailable", "nodes where it has been ready for long enough"),
        _column(
            "Node Selector",
            cells.labels("spec.template.spec.nodeSelector"),
            "the nodes it is for",
        ),
        AGE,
        *_workload(),
    ),
    ("apps", "ControllerRevision"): (
        NAME,
        _column("Controller", cells.owner, "whose revision it is"),
        _column("Revision", cells.field("revision", 0), "its number"),
        AGE,
    ),
    ("batch", "Job"): (
        NAME,
        _column("Status", cells.job_status, "where the Job is in its life"),
        _column("Completions", cells.job_completions, "pods that succeeded, of those needed"),
        _column("Duration", cells.job_duration, "how long it has run"),
        AGE,
        *_workload(),
    ),
    ("batch", "CronJob"): (
        NAME,
        _column("Schedule", cells.field("spec.schedule"), "when it runs"),
        _column("Timezone", cells.field("spec.timeZone", cells.NONE), "whose clock"),
        _column("Suspend", cells.suspended, "is it paused", type="boolean"),
        _column("Active", cells.count("status.active"), "Jobs that are running", type="integer"),
        _column("Last Schedule", cells.age_of("status.lastScheduleTime", cells.NONE), "when it last ran"),
        AGE,
        *_workload(template="spec.jobTemplate.spec.template", selector_path="spec.jobTemplate.spec.selector"),
    ),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        _column("Min Available", cells.text("spec.minAvailable", "N/A"), "pods that must stay"),
        _column("Max Unavailable", cells.text("spec.maxUnavailable", "N/A"), "pods that may be gone"),
        _integer("Allowed Disruptions", "status.disruptionsAllowed", "evictions allowed now"),
        AGE,
    ),
    ("coordination.k8s.io", "Lease"): (
        NAME,
        _column("Holder", cells.field("spec.holderIdentity"), "who holds it"),
        AGE,
    ),
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        _column("AddressType", cells.field("addressType"), "IPv4, IPv6 or FQDN"),
        _column("Ports", cells.slice_ports, "ports of the endpoints"),
        _column("Endpoints", cells.slice_endpoints, "addresses of the endpoints"),
        AGE,
    ),
    ("rbac.authorization.k8s.io", "Role"): (NAME, _CREATED),
    ("rbac.authorization.k8s.io", "ClusterRole"): (NAME, _CREATED),
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDINGS,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDINGS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (NAME, _CREATED),
    ("apiregistration.k8s.io", "APIService"): (
        NAME,
        _column("Service", cells.api_service, "who serves it"),
        _column("Available", cells.available, "does it answer"),
        AGE,
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        _integer("Value", "value", "the priority"),
        _column("Global-Default", cells.field("globalDefault", False), "for pods that name none", type="boolean"),
        AGE,
        _column("PreemptionPolicy", cells.field("preemptionPolicy"), "may it push others out"),
    ),
    ("storage.k8s.io", "StorageClass"): (
        _column("Name", cells.class_name, "the class's name"),
        _column("Provisioner", cells.field("provisioner"), "who makes its volumes"),
        _column("ReclaimPolicy", cells.field("reclaimPolicy", "Delete"), "what happens to released volumes"),
        _column("VolumeBindingMode", cells.field("volumeBindingMode", "Immediate"), "when volumes are made"),
        _column("AllowVolumeExpansion", cells.field("allowVolumeExpansion", False), "may volumes grow"),
        AGE,
    ),
    ("storage.k8s.io", "CSINode"): (
        NAME,
        _column("Drivers", cells.count("spec.drivers"), "drivers on the node", type="integer"),
        AGE,
    ),
    ("node.k8s.io", "RuntimeClass"): (NAME, _column("Handler", cells.field("handler"), "what runs its pods"), AGE),
}


def row_conditions(kind: Kind, item: Object) -> list[dict[str, str]]:
    """What a row says of its object beyond its cells."""
    return pod_columns.pod_conditions(item) if (kind.group, kind.kind) == ("", "Pod") else []
