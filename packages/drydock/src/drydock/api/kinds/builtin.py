"""The built-in kinds: their names, shapes, subresources and the fields one may select by."""

from collections.abc import Callable
from typing import TypedDict, Unpack

from drydock.api.custom.definition import DefinitionStrategy
from drydock.api.kinds.kind import Kind, Object, PlainStrategy, Strategy
from drydock.api.kinds.selectable import event_field, job_field, node_field, pod_field, read_field, replicas_field
from drydock.api.printing.columns import COLUMNS
from drydock.api.strategies import STRATEGIES
from drydock.api.types import LIBRARY

_STRATEGIES: dict[tuple[str, str], Strategy] = {
    **STRATEGIES,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): DefinitionStrategy(),
}
_ALL = ("all",)
_STATUS = frozenset({"status"})
_STATUS_AND_SCALE = frozenset({"status", "scale"})
_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_NAMESPACE_VERBS = tuple(verb for verb in _ALL_VERBS if verb != "deletecollection")
_CREATE_ONLY = ("create",)
_NOT_RUN = tuple(verb for verb in _ALL_VERBS if verb != "create")  # see `Kind.use_instead`
_REPLICAS = (".spec.replicas", ".status.replicas", ".status.selector")


class _Traits(TypedDict, total=False):
    """In what a kind differs from most."""

    namespaced: bool
    categories: tuple[str, ...]
    subresources: frozenset[str]
    verbs: tuple[str, ...]
    generation: bool
    fields: str
    field_value: Callable[[Object, str], str]
    use_instead: str


def _kind(group: str, name: str, plural: str, short_names: str = "", **traits: Unpack[_Traits]) -> Kind:
    shape = f"{group.split('.')[0] or 'core'}.{name}"
    subresources = traits.get("subresources", frozenset())
    use_instead = traits.get("use_instead", "")
    return Kind(
        group=group,
        version="v1",
        kind=name,
        plural=plural,
        namespaced=traits.get("namespaced", True),
        schema=LIBRARY[shape],
        strategy=_STRATEGIES.get((group, name)) or PlainStrategy(),
        singular=name.lower(),
        short_names=tuple(short_names.split()),
        categories=traits.get("categories", ()),
        subresources=subresources,
        verbs=_NOT_RUN if use_instead else traits.get("verbs", _ALL_VERBS),
        columns=COLUMNS.get((group, name), ()),
        spec_has_generation=traits.get("generation", False),
        scale_paths=_REPLICAS if "scale" in subresources else None,
        selectable_fields=tuple(traits.get("fields", "").split()),
        field_value=traits.get("field_value", read_field),
        use_instead=use_instead,
    )


_POD_FIELDS = (
    "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork"
    " status.phase status.podIP status.podIPs status.nominatedNodeName"
)
_EVENT_FIELDS = (
    "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion"
    " involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type"
)
_POD_SUBRESOURCES = frozenset(
    {"status", "log", "eviction", "binding", "ephemeralcontainers", "resize", "exec", "portforward"}
)

_CORE = (
    _kind("", "Binding", "bindings", verbs=_CREATE_ONLY),
    _kind("", "ConfigMap", "configmaps", "cm"),
    _kind("", "Endpoints", "endpoints", "ep"),
    _kind("", "Event", "events", "ev", fields=_EVENT_FIELDS, field_value=event_field),
    _kind("", "LimitRange", "limitranges", "limits"),
    _kind(
        "",
        "Namespace",
        "namespaces",
        "ns",
        namespaced=False,
        subresources=frozenset({"status", "finalize"}),
        verbs=_NAMESPACE_VERBS,
        fields="status.phase",
    ),
    _kind(
        "",
        "Node",
        "nodes",
        "no",
        namespaced=False,
        subresources=_STATUS,
        fields="spec.unschedulable",
        field_value=node_field,
    ),
    _kind("", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", subresources=_STATUS),
    _kind("", "PersistentVolume", "persistentvolumes", "pv", namespaced=False, subresources=_STATUS),
    _kind(
        "",
        "Pod",
        "pods",
        "po",
        categories=_ALL,
        subresources=_POD_SUBRESOURCES,
        generation=True,
        fields=_POD_FIELDS,
        field_value=pod_field,
    ),
    _kind("", "PodTemplate", "podtemplates", generation=True),
    _kind(
        "",
        "ReplicationController",
        "replicationcontrollers",
        "rc",
        categories=_ALL,
        subresources=_STATUS_AND_SCALE,
        generation=True,
        fields="status.replicas",
        field_value=replicas_field,
        use_instead="a Deployment or a ReplicaSet",
    ),
    _kind("", "ResourceQuota", "resourcequotas", "quota", subresources=_STATUS),
    _kind("", "Secret", "secrets", fields="type"),
    _kind("", "ServiceAccount", "serviceaccounts", "sa", subresources=frozenset({"token"})),
    _kind("", "Service", "services", "svc", categories=_ALL, subresources=_STATUS, fields="spec.clusterIP spec.type"),
)

_WORKLOADS = (
    _kind("apps", "ControllerRevision", "controllerrevisions"),
    _kind(
        "apps",
        "DaemonSet",
        "daemonsets",
        "ds",
        categories=_ALL,
        subresources=_STATUS,
        generation=True,
        use_instead="a Pod for each node",
    ),
    _kind(
        "apps", "Deployment", "deployments", "deploy", categories=_ALL, subresources=_STATUS_AND_SCALE, generation=True
    ),
    _kind(
        "apps",
        "ReplicaSet",
        "replicasets",
        "rs",
        categories=_ALL,
        subresources=_STATUS_AND_SCALE,
        generation=True,
        fields="status.replicas",
        field_value=replicas_field,
    ),
    _kind(
        "apps",
        "StatefulSet",
        "statefulsets",
        "sts",
        categories=_ALL,
        subresources=_STATUS_AND_SCALE,
        generation=True,
        use_instead="a Deployment, or Pods named by you",
    ),
    _kind(
        "batch",
        "CronJob",
        "cronjobs",
        "cj",
        categories=_ALL,
        subresources=_STATUS,
        generation=True,
        use_instead="a Job for each run",
    ),
    _kind(
        "batch",
        "Job",
        "jobs",
        categories=_ALL,
        subresources=_STATUS,
        generation=True,
        fields="status.successful",
        field_value=job_field,
    ),
    _kind("policy", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", subresources=_STATUS, generation=True),
)

_RBAC = "rbac.authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"
_ACCESS = (
    _kind(_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _kind(_RBAC, "ClusterRole", "clusterroles", namespaced=False),
    _kind(_RBAC, "RoleBinding", "rolebindings"),
    _kind(_RBAC, "Role", "roles"),
    _kind(_AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews", namespaced=False, verbs=_CREATE_ONLY),
    _kind(_AUTHENTICATION, "TokenReview", "tokenreviews", namespaced=False, verbs=_CREATE_ONLY),
    _kind(_AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATE_ONLY),
    _kind(_AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False, verbs=_CREATE_ONLY),
    _kind(_AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", namespaced=False, verbs=_CREATE_ONLY),
    _kind(_AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews", namespaced=False, verbs=_CREATE_ONLY),
)

_CLUSTER = (
    _kind(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd crds",
        namespaced=False,
        categories=("api-extensions",),
        subresources=_STATUS,
        generation=True,
    ),
    _kind(
        "apiregistration.k8s.io",
        "APIService",
        "apiservices",
        namespaced=False,
        categories=("api-extensions",),
        subresources=_STATUS,
    ),
    _kind("coordination.k8s.io", "Lease", "leases"),
    _kind("discovery.k8s.io", "EndpointSlice", "endpointslices"),
    _kind("events.k8s.io", "Event", "events", "ev", fields="reason type"),
    _kind("node.k8s.io", "RuntimeClass", "runtimeclasses", namespaced=False),
    _kind("scheduling.k8s.io", "PriorityClass", "priorityclasses", "pc", namespaced=False),
    _kind(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        namespaced=False,
        categories=("api-extensions",),
        subresources=_STATUS,
        generation=True,
    ),
    _kind(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        namespaced=False,
        categories=("api-extensions",),
    ),
    _kind("storage.k8s.io", "CSINode", "csinodes", namespaced=False),
    _kind("storage.k8s.io", "StorageClass", "storageclasses", "sc", namespaced=False),
)

BUILTIN_KINDS: tuple[Kind, ...] = (*_CORE, *_WORKLOADS, *_ACCESS, *_CLUSTER)
