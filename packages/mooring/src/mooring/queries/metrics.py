"""The invariants at `/metrics`: each scrape exports what `GET /v1/invariants` would answer at that moment."""

import math
from collections.abc import Callable, Sequence

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mooring.queries.invariants import InvariantReading

_LABELS = ("invariant",)


class InvariantFigures(Collector):
    """Four metrics per invariant. One that was not checked yet is NaN: zero would mean that it holds."""

    def __init__(self) -> None:
        self._read: Callable[[], Sequence[InvariantReading]] = tuple

    def read_from(self, read: Callable[[], Sequence[InvariantReading]]) -> None:
        """Set the source of the figures; the last control plane of a process is the one that is scraped."""
        self._read = read

    def describe(self) -> list[Metric]:
        """The metrics without samples."""
        return _families(())

    def collect(self) -> list[Metric]:
        """The metrics with their values now."""
        return _families(self._read())


def _families(invariants: Sequence[InvariantReading]) -> list[Metric]:
    broken = GaugeMetricFamily(
        "mooring_invariant_broken", "Objects that violate an invariant now; NaN while unknown.", labels=_LABELS
    )
    paused = GaugeMetricFamily("mooring_invariant_paused", "1 while an invariant is paused.", labels=_LABELS)
    found = CounterMetricFamily("mooring_invariant_found", "Violations that were found.", labels=_LABELS)
    healed = CounterMetricFamily("mooring_invariant_healed", "Violations that were healed.", labels=_LABELS)
    for invariant in invariants:
        broken.add_metric([invariant.id], invariant.broken if invariant.known else math.nan)
        paused.add_metric([invariant.id], invariant.paused)
        found.add_metric([invariant.id], invariant.found)
        healed.add_metric([invariant.id], invariant.healed)
    return [broken, paused, found, healed]


INVARIANT_FIGURES = InvariantFigures()
REGISTRY.register(INVARIANT_FIGURES)
