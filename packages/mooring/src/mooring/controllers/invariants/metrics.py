"""Metrics of the invariants between claims and workers."""

from prometheus_client import Counter

from mooring.planning.invariants.stamp_checks import Refusal

MARKS_REFUSED = Counter(
    "mooring_marks_refused_total",
    "Labels and annotations of Mooring on pods that Mooring did not set, and does not believe.",
    ["reason"],
)
for _reason in Refusal:
    MARKS_REFUSED.labels(_reason.value)  # zero until the first one, which an alert has to see
