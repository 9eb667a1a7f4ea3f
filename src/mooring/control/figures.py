"""The rules at `/metrics`: at every scrape, the very reading that `GET /v1/invariants` answers with."""

import math
from collections.abc import Callable, Sequence

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mooring.control.rules import InvariantReading

_LABELS = ("invariant",)


class InvariantFigures(Collector):
    """Four metrics a rule. What nobody has looked at is NaN: zero would say that it holds."""

    def __init__(self) -> None:
        self._read: Callable[[], Sequence[InvariantReading]] = tuple

    def read_from(self, read: Callable[[], Sequence[InvariantReading]]) -> None:
        """Tell where the rules are read; the last control plane of a process is the one that is scraped."""
        self._read = read

    def describe(self) -> list[Metric]:
        """The metrics without samples."""
        return _families(())

    def collect(self) -> list[Metric]:
        """The metrics with what the rules are read to be now."""
        return _families(self._read())


def _families(rules: Sequence[InvariantReading]) -> list[Metric]:
    broken = GaugeMetricFamily("mooring_invariant_broken", "Objects that break a rule; NaN: unknown.", labels=_LABELS)
    paused = GaugeMetricFamily("mooring_invariant_paused", "1 while a rule is switched off.", labels=_LABELS)
    found = CounterMetricFamily("mooring_invariant_found", "Violations that a rule has seen.", labels=_LABELS)
    healed = CounterMetricFamily("mooring_invariant_healed", "Violations that a rule has healed.", labels=_LABELS)
    for rule in rules:
        broken.add_metric([rule.id], rule.broken if rule.known else math.nan)
        paused.add_metric([rule.id], rule.paused)
        found.add_metric([rule.id], rule.found)
        healed.add_metric([rule.id], rule.healed)
    return [broken, paused, found, healed]


INVARIANT_FIGURES = InvariantFigures()
REGISTRY.register(INVARIANT_FIGURES)
