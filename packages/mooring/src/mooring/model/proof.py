"""What a destructive act is based on: statements, each with the source that made it.

Two statements of the same source can be wrong together: a stale cache shows a pod without a claim label and without a
process. Statements of different sources fail independently.
"""

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Who made a statement."""

    CLUSTER = "cluster"  # the Kubernetes API shows it
    LEDGER = "ledger"  # a row of the ledger, or its absence in a readable and armed ledger
    WORKER = "worker"  # the program itself: its answer, its refusal to answer, its exit code
    HOLDER = "holder"  # the one it was made for: the claim's holder, the Warmup, the Submission
    CLOCK = "clock"  # time that has passed


@dataclass(frozen=True, slots=True)
class Proof:
    """One statement. An empty one proves nothing."""

    source: Source
    statement: str

    def __bool__(self) -> bool:
        return bool(self.statement)

    def __str__(self) -> str:
        return f"{self.source.value}: {self.statement}"


Proofs = tuple[Proof, Proof]


def by_cluster(statement: str) -> Proof:
    return Proof(Source.CLUSTER, statement)


def by_ledger(statement: str) -> Proof:
    return Proof(Source.LEDGER, statement)


def by_worker(statement: str) -> Proof:
    return Proof(Source.WORKER, statement)


def by_holder(statement: str) -> Proof:
    return Proof(Source.HOLDER, statement)


def by_clock(statement: str) -> Proof:
    return Proof(Source.CLOCK, statement)


def are_independent(proofs: Proofs) -> bool:
    """Whether both say something, and their sources differ."""
    first, second = proofs
    return bool(first) and bool(second) and first.source is not second.source
