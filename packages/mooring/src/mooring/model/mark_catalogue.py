"""Every mark that Mooring writes: where it is, and what it means. docs/reference/marks.md is written from it."""

import msgspec

from mooring.model import names


class Mark(msgspec.Struct, frozen=True):
    """A label, annotation or finalizer, and the objects that carry it."""

    name: str
    form: str
    objects: str
    meaning: str


_LABEL, _ANNOTATION = "label", "annotation"
_WORKER, _WARM, _STEP = "workers", "warm Jobs", "Jobs and pods of submissions"

MARKS: tuple[Mark, ...] = (
    Mark(names.POOL, _LABEL, "workers, their ServiceAccounts, budgets", "Name of the pool."),
    Mark(names.WORKER, _LABEL, "workers, their ServiceAccounts", "Name of the worker."),
    Mark(names.OWNER, _LABEL, _WORKER, "Owner of the claim; absent on an idle worker. Part of the stamp."),
    Mark(names.BUSY, _LABEL, _WORKER, "`true` while the worker is protected; the pool's budget selects it."),
    Mark(names.CLAIM, _ANNOTATION, _WORKER, "Id of the claim. Part of the stamp."),
    Mark(names.EPOCH, _ANNOTATION, _WORKER, "Epoch of the claim. Part of the stamp."),
    Mark(names.STAMPED_AT, _ANNOTATION, _WORKER, "When the stamp was written. Part of the stamp."),
    Mark(names.SEAL, _ANNOTATION, _WORKER, "HMAC that shows that Mooring wrote the stamp. Part of the stamp."),
    Mark(names.TENANT, _ANNOTATION, _WORKER, "Owner of the last session, with `reuse: SameOwner`."),
    Mark(names.TENANT_SINCE, _ANNOTATION, _WORKER, "When that session ended."),
    Mark(names.LEDGER, "annotation, label", "workers; budgets", "Incarnation of the ledger that made the object."),
    Mark(names.ADOPTED, _ANNOTATION, _WORKER, "When a running pod became a worker."),
    Mark(names.UNPROVEN, _ANNOTATION, _WORKER, "Time since which the sessions of an adopted worker are unknown."),
    Mark(names.AVOIDS, _ANNOTATION, _WORKER, "Quarantined nodes that the worker avoids."),
    Mark(names.PLACEMENT, _ANNOTATION, "workers, Deployments of services", "Fingerprint of the resolved placement."),
    Mark(names.DATASET, _LABEL, _WARM, "Dataset that the Job fetches."),
    Mark(names.SHARD, _LABEL, _WARM, "Shard that the Job fetches."),
    Mark(names.NODE_UID, _ANNOTATION, "warm Jobs, Jobs of submissions", "UIDs of the nodes that the Job is pinned to."),
    Mark(names.GENERATION, _ANNOTATION, _WARM, "Generation of the dataset."),
    Mark(names.POD_TEMPLATE, _ANNOTATION, _WARM, "Hash of the `podTemplate` that the Job was made from."),
    Mark(names.REWARM, _ANNOTATION, "Warmups, warm Jobs", "Request to fetch the dataset again, and the Jobs of it."),
    Mark(names.CLOSE_CIRCUIT, _ANNOTATION, "Warmups", "Request to try again after too many failures."),
    Mark(names.SCRIPTS, _LABEL, "ConfigMaps", "Scripts of warm Jobs."),
    Mark(names.RECLAIM, _LABEL, "cleanup Jobs", "UID of the Warmup whose data the Job removes."),
    Mark(names.HEADROOM, "label", "placeholders", "Name of the pool whose room the placeholder keeps."),
    Mark(names.WARM_DATA_FINALIZER, "finalizer", "Warmups", "Keeps the Warmup until its data is removed."),
    Mark(names.SUBMISSION, _LABEL, _STEP, "Name of the submission."),
    Mark(names.STEP, _LABEL, _STEP, "Name of the step."),
    Mark(names.CANCEL, _ANNOTATION, "Submissions", "Request to cancel, with the caller and the reason."),
    Mark(names.REASON, _ANNOTATION, "Submissions", "Reason that the caller gave."),
    Mark(names.SERVICE, _LABEL, "Deployments, Services, budgets and pods of services", "Name of the ManagedService."),
    Mark(
        names.SPEC_HASH,
        _ANNOTATION,
        "objects of services, Jobs of submissions",
        "Hash of the spec that the object was made from.",
    ),
    Mark(names.DO_NOT_DISRUPT, _ANNOTATION, _WORKER, "`true` while the worker is protected: Karpenter waits."),
    Mark(names.SAFE_TO_EVICT, _ANNOTATION, _WORKER, "`false` while the worker is protected: the autoscaler waits."),
)
