"""The circuit breaker: after repeated final failures of Jobs, no Job is created for a while."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from mooring.model.warm_job import WarmJob
from mooring.model.warmup import Circuit, TerminalFailure

MOST_FAILURES = 5
WINDOW = timedelta(hours=1)
OPEN_FOR = timedelta(minutes=30)


def compute_circuit(circuit: Circuit, jobs: Iterable[WarmJob], close_request: str, now: datetime) -> Circuit:
    """Count each failed Job once, by uid. Opens at five failures in an hour; closes by hand or after half an hour."""
    jobs = tuple(jobs)
    if not circuit.failures and not close_request and not any(job.failed for job in jobs):
        return circuit
    known = {failure.uid for failure in circuit.failures}
    fresh = [
        TerminalFailure(job.name, job.uid, now, job.failure) for job in jobs if job.failed and job.uid not in known
    ]
    present = {job.uid for job in jobs}
    kept = [f for f in circuit.failures if f.uid in present or (f.at is not None and now - f.at < WINDOW)]
    circuit = msgspec.structs.replace(circuit, failures=(*kept, *fresh))
    by_hand = bool(close_request) and close_request != circuit.closed_by
    over = circuit.open_until is not None and now >= circuit.open_until
    if by_hand:
        circuit = msgspec.structs.replace(circuit, closed_by=close_request)
    if circuit.is_open and (by_hand or over):
        return msgspec.structs.replace(circuit, state="closed", since=now, open_until=None)
    if not circuit.is_open and count_failures(circuit, now) >= MOST_FAILURES:
        return msgspec.structs.replace(circuit, state="open", open_until=now + OPEN_FOR)
    return circuit


def count_failures(circuit: Circuit, now: datetime) -> int:
    """The failures within the window."""
    begin = now - WINDOW
    if circuit.since is not None and circuit.since > begin:
        begin = circuit.since
    return sum(failure.at is not None and failure.at > begin for failure in circuit.failures)
