"""Epochs on pods: which of them show that the ledger has lost commits, and which are refused.

An epoch above all that the ledger has issued is either the mark of a restored ledger, or somebody else wrote it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from mooring.model.seal import SealKey
from mooring.model.worker import Worker

MOST_LOST_EPOCHS = 1_000_000_000  # more claims were never made between a backup and its restore


class Refusal(StrEnum):
    """Why a mark on a pod is not believed; the label `reason` of the metric."""

    UNREADABLE = "unreadable-epoch"
    UNSEALED = "unsealed-epoch"
    TOO_HIGH = "implausible-epoch"
    STRANGER = "foreign-pod"


@dataclass(frozen=True, slots=True)
class RefusedMark:
    """A mark of Mooring on a pod that Mooring did not set."""

    worker: Worker
    why: Refusal
    message: str


@dataclass(frozen=True, slots=True)
class EpochVerdict:
    """What the stamps of all workers say about the ledger."""

    lost_epoch: int  # the highest epoch that the ledger issued and has lost; 0: none
    refused: tuple[RefusedMark, ...]


def find_refused_stamps(workers: Iterable[Worker]) -> tuple[RefusedMark, ...]:
    """Stamps whose epoch is not a number of 1 to 18 digits."""
    message = "its annotation mooring.dev/epoch is not an epoch"
    return tuple(
        RefusedMark(worker, Refusal.UNREADABLE, message)
        for worker in workers
        if worker.stamp is not None and worker.stamp.unreadable
    )


def find_refused_pods(strangers: Iterable[Worker], key: SealKey) -> tuple[RefusedMark, ...]:
    """Stamped pods of no live pool. A valid seal shows a worker that a former pool left behind."""
    return tuple(
        RefusedMark(worker, Refusal.STRANGER, f"no WorkerPool {worker.pool} has the uid of its controller")
        for worker in strangers
        if (stamp := worker.stamp) is not None and not key.verifies(stamp.seal, worker.uid, stamp.claim, stamp.epoch)
    )


def classify_epochs(workers: Iterable[Worker], issued: int, key: SealKey) -> EpochVerdict:
    """Believe an epoch that was not issued only under a valid seal, or on a pod that is older than the key."""
    lost, refused = 0, []
    for worker in workers:
        stamp = worker.stamp
        if stamp is None or stamp.epoch <= issued:
            continue
        if stamp.epoch > issued + MOST_LOST_EPOCHS:
            message = f"its epoch {stamp.epoch} is far above {issued}, the highest that the ledger has issued"
            refused.append(RefusedMark(worker, Refusal.TOO_HIGH, message))
        elif worker.created_at < key.since or key.verifies(stamp.seal, worker.uid, stamp.claim, stamp.epoch):
            lost = max(lost, stamp.epoch)
        else:
            message = f"its epoch {stamp.epoch} was not issued by the ledger (up to {issued}) and has no valid seal"
            refused.append(RefusedMark(worker, Refusal.UNSEALED, message))
    return EpochVerdict(lost, tuple(refused))
