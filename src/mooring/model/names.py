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
LEDGER = f"{GROUP}/ledger"
SPEC_HASH = f"{GROUP}/spec-hash"
AVOIDS = f"{GROUP}/avoids"

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

LIFECYCLE_TAINT_PREFIX = "node.kubernetes.io/"
SYSTEM_TAINT = "CriticalAddonsOnly"
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
