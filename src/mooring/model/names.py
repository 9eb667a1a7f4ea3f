"""Labels, annotations and other names that Mooring writes on objects: the contract with everyone else."""

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
DATASET = f"{GROUP}/dataset"
SHARD = f"{GROUP}/shard"
NODE_UID = f"{GROUP}/node-uid"
GENERATION = f"{GROUP}/generation"
SUBMISSION = f"{GROUP}/submission"
STEP = f"{GROUP}/step"
CANCEL = f"{GROUP}/cancel"
REASON = f"{GROUP}/reason"
LEDGER = f"{GROUP}/ledger"
SERVICE = f"{GROUP}/service"
SPEC_HASH = f"{GROUP}/spec-hash"
AVOIDS = f"{GROUP}/avoids"
PLACEMENT = f"{GROUP}/placement"
REWARM = f"{GROUP}/rewarm"
CLOSE_CIRCUIT = f"{GROUP}/close-circuit"
SCRIPTS = f"{GROUP}/scripts"

HOSTNAME = "kubernetes.io/hostname"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
KARPENTER_POOL = "karpenter.sh/nodepool"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

# Taints that say how a node fares, not what it is for: they come and go, and nobody should tolerate them for good.
LIFECYCLE_TAINT_PREFIXES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/")
# Nodes for the cluster's own parts.
SYSTEM_TAINTS = frozenset(
    {"CriticalAddonsOnly", "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)
# Labels that Karpenter gives a node as its pods ask for them, also when the NodePool does not name them.
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
# `DeletionCandidate…` is a hint that may be taken back; the others mean that the node is on its way out.
DRAINING_TAINTS = DISRUPTION_TAINTS - {"DeletionCandidateOfClusterAutoscaler"}
