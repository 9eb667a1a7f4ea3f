"""Labels, annotations and other names that Mooring writes on objects. They are part of the public contract."""

import re

GROUP = "mooring.dev"
API_VERSION = f"{GROUP}/v1alpha1"
OWN_PREFIX = f"{GROUP}/"

POOL = f"{GROUP}/pool"
WORKER = f"{GROUP}/worker"
OWNER = f"{GROUP}/owner"
BUSY = f"{GROUP}/busy"
CLAIM = f"{GROUP}/claim"
EPOCH = f"{GROUP}/epoch"
STAMPED_AT = f"{GROUP}/stamped-at"
TENANT = f"{GROUP}/tenant"  # owner of the last session of an idle worker
TENANT_SINCE = f"{GROUP}/tenant-since"  # when that session gave it back
SEAL = f"{GROUP}/seal"
DATASET = f"{GROUP}/dataset"
SHARD = f"{GROUP}/shard"
NODE_UID = f"{GROUP}/node-uid"
GENERATION = f"{GROUP}/generation"
SUBMISSION = f"{GROUP}/submission"
STEP = f"{GROUP}/step"
CANCEL = f"{GROUP}/cancel"
REASON = f"{GROUP}/reason"
LEDGER = f"{GROUP}/ledger"
ADOPTED = f"{GROUP}/adopted"  # when a running pod became a worker
UNPROVEN = f"{GROUP}/unproven"  # since when its sessions are unknown; absent once it is proven to be idle
SERVICE = f"{GROUP}/service"
HEADROOM = f"{GROUP}/headroom"  # on placeholder pods: the name of their pool
SPEC_HASH = f"{GROUP}/spec-hash"
AVOIDS = f"{GROUP}/avoids"
PLACEMENT = f"{GROUP}/placement"
POD_TEMPLATE = f"{GROUP}/pod-template"
REWARM = f"{GROUP}/rewarm"
CLOSE_CIRCUIT = f"{GROUP}/close-circuit"
SCRIPTS = f"{GROUP}/scripts"
RECLAIM = f"{GROUP}/reclaim"  # on cleanup Jobs: the uid of the Warmup whose data they remove
WARM_DATA_FINALIZER = f"{GROUP}/warm-data"

OWNER_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")  # a label value that is not empty

HOSTNAME = "kubernetes.io/hostname"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
KARPENTER_POOL = "karpenter.sh/nodepool"
# Labels that name a node pool: of Karpenter, of the clouds, and those set by hand.
NODE_POOL_LABELS = (
    KARPENTER_POOL,
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "node-pool",
    "workload",
)
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

# Taints about the health of a node, not about its purpose. They come and go; workers must not tolerate them for good.
LIFECYCLE_TAINT_PREFIXES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/")
# Taints of system nodes.
SYSTEM_TAINTS = frozenset(
    {"CriticalAddonsOnly", "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)
# Labels that Karpenter sets on nodes as pods request them, also if the NodePool does not name them.
AUTOSCALED_LABELS = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "karpenter.sh/capacity-type",
    }
)
AUTOSCALED_LABEL_PREFIXES = ("karpenter.k8s.aws/", "karpenter.azure.com/", "karpenter.k8s.gcp/")
DISRUPTION_TAINTS = frozenset(
    {
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/out-of-service",
    }
)
# `DeletionCandidate…` is a hint that may be withdrawn; the others mean that the node is being removed.
DRAINING_TAINTS = DISRUPTION_TAINTS - {"DeletionCandidateOfClusterAutoscaler"}

API_AUDIENCE = "mooring"  # of the tokens that callers of the API come with
DISPATCH_AUDIENCE = "mooring-dispatch"  # of the projected tokens that workers poll with
# Variables that name the file of a token: that of a worker that polls, and that of the SDK.
DISPATCH_TOKEN_FILE, TOKEN_FILE = "MOORING_DISPATCH_TOKEN_FILE", "MOORING_TOKEN_FILE"
