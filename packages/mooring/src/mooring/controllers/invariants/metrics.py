"""Metrics of the invariants between claims and workers."""

from prometheus_client import Counter

MARKS_REFUSED = Counter(
    "mooring_marks_refused_total",
    "Labels and annotations of Mooring on pods that Mooring did not set, and does not believe.",
    ["reason"],
)
