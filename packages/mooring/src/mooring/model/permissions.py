"""The permissions that Mooring's account needs. `mooring install` prints them, `mooring doctor` checks each verb."""

from typing import Any

Body = dict[str, Any]

# Only needed for explanations and in clusters with Karpenter. Without them less is explained, and nothing breaks.
OPTIONAL = frozenset(
    {"nodepools", "nodeclaims", "namespaces", "persistentvolumes", "persistentvolumeclaims", "storageclasses"}
    | {"priorityclasses", "horizontalpodautoscalers"}
)

# Resources without a namespace. A Mooring that works in named namespaces only has a ClusterRole with these, and Roles
# with the others.
CLUSTER_SCOPED = frozenset(
    {
        "nodes",
        "namespaces",
        "persistentvolumes",
        "storageclasses",
        "priorityclasses",
        "customresourcedefinitions",
        "nodepools",
        "nodeclaims",
        "tokenreviews",
        "subjectaccessreviews",
        "selfsubjectaccessreviews",
    }
)

# The verbs that the control plane uses, and no others.
CLUSTER_RULES: tuple[Body, ...] = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["list", "create"]},
    {"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch", "create", "patch"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    {
        "apiGroups": ["policy"],
        "resources": ["poddisruptionbudgets"],
        "verbs": ["get", "list", "watch", "create", "patch", "delete"],
    },
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["list"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "patch"]},
    {"apiGroups": ["karpenter.sh"], "resources": ["nodepools", "nodeclaims"], "verbs": ["list", "watch"]},
    {"apiGroups": ["mooring.dev"], "resources": ["workerpools"], "verbs": ["get", "list", "watch", "create", "patch"]},
    {"apiGroups": ["mooring.dev"], "resources": ["warmups"], "verbs": ["get", "list", "watch", "patch"]},
    {
        "apiGroups": ["mooring.dev"],
        "resources": ["submissions", "managedservices"],
        "verbs": ["get", "list", "watch", "create", "patch", "delete"],
    },
    {
        "apiGroups": ["mooring.dev"],
        "resources": ["workerpools/status", "warmups/status", "submissions/status", "managedservices/status"],
        "verbs": ["patch"],
    },
    # Needed to name an owner that waits for its dependents, where the API server checks it, as in OpenShift.
    {
        "apiGroups": ["mooring.dev"],
        "resources": [
            "workerpools/finalizers",
            "warmups/finalizers",
            "submissions/finalizers",
            "managedservices/finalizers",
        ],
        "verbs": ["update"],
    },
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "subjectaccessreviews"],
        "verbs": ["create"],
    },
    # For `explain` and `doctor`: read on request, never watched.
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["persistentvolumes", "persistentvolumeclaims"], "verbs": ["get"]},
    {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": ["get"]},
    # For pools with `demand`: the class of their placeholders, and autoscalers that would scale them.
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": ["get"]},
    {"apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"], "verbs": ["list"]},
    {
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
        "verbs": ["get"],
    },
)


def split_rules() -> dict[str, list[Body]]:
    """All rules: those for resources without a namespace under `cluster`, the others under `namespaced`."""
    split: dict[str, list[Body]] = {"cluster": [], "namespaced": []}
    for rule in CLUSTER_RULES:
        wide = [one for one in rule["resources"] if one in CLUSTER_SCOPED]
        narrow = [one for one in rule["resources"] if one not in CLUSTER_SCOPED]
        for where, resources in (("cluster", wide), ("namespaced", narrow)):
            if resources:
                split[where].append({**rule, "resources": resources})
    return split
