"""Metrics that hold for every kind; those of a kind are in its controller's `metrics.py`.

docs/reference/metrics.md lists all.
"""

from collections.abc import Callable, Iterable

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_POOL = "pool"


class KnownPools:
    """Which pools exist. Series of other pools are left out at every scrape, however late they were counted."""

    _exists: Callable[[str], bool] = staticmethod(lambda key: True)

    @classmethod
    def ask(cls, exists: Callable[[str], bool]) -> None:
        """Ask this replica whether a pool exists; the last control plane of a process is the one that is scraped."""
        cls._exists = staticmethod(exists)

    @classmethod
    def find_gone(cls, keys: Iterable[str]) -> set[str]:
        """The keys of pools that do not exist any more."""
        return {key for key in set(keys) if not cls._exists(key)}


class PoolCounter(Counter):
    """A counter with the label `pool`. It ends with its pool."""

    def collect(self) -> Iterable[Metric]:
        """The metric without pools that are gone."""
        return _drop_gone(self, super().collect())


class PoolHistogram(Histogram):
    """A histogram with the label `pool`. It ends with its pool."""

    def collect(self) -> Iterable[Metric]:
        """The metric without pools that are gone."""
        return _drop_gone(self, super().collect())


def _drop_gone(metric: PoolCounter | PoolHistogram, collected: Iterable[Metric]) -> list[Metric]:
    families = list(collected)
    gone = KnownPools.find_gone(sample.labels[_POOL] for family in families for sample in family.samples)
    for key in gone:
        metric.remove_by_labels({_POOL: key})
    for family in families:
        family.samples = [sample for sample in family.samples if sample.labels[_POOL] not in gone]
    return families


class LeaderGauge(Collector):
    """A gauge of what only the leader knows. A replica that does not lead exports no sample of it.

    What it knew while it led would otherwise stay at its last value, beside the values of the new leader. Values of an
    earlier term are not exported in a later one. With the label `pool`, a sample ends with its pool.
    """

    _current_term: Callable[[], int] = staticmethod(lambda: 0)

    def __init__(self, name: str, documentation: str, labels: tuple[str, ...]) -> None:
        self._name = name
        self._documentation = documentation
        self._labels = labels
        self._term = 0
        self._values: dict[tuple[str, ...], float] = {}
        REGISTRY.register(self)

    @classmethod
    def export_in(cls, term: Callable[[], int]) -> None:
        """Ask this replica for its term, 0 while it does not lead.

        The last control plane of a process is the one that is scraped.
        """
        cls._current_term = staticmethod(term)

    def set(self, value: float, *labels: str) -> None:
        """The value under these labels; without effect while this replica does not lead."""
        if self._begin():
            self._values[labels] = value

    def remove(self, *labels: str) -> None:
        """What these first labels name is gone; without labels: nothing is known any more."""
        for known in [known for known in self._values if known[: len(labels)] == labels]:
            del self._values[known]

    def describe(self) -> list[Metric]:
        """The metric without samples."""
        return [self._family()]

    def collect(self) -> list[Metric]:
        """The metric, with its samples while this replica leads."""
        self._begin()
        if _POOL in self._labels:
            place = self._labels.index(_POOL)
            gone = KnownPools.find_gone(labels[place] for labels in self._values)
            self._values = {labels: value for labels, value in self._values.items() if labels[place] not in gone}
        family = self._family()
        for labels, value in self._values.items():
            family.add_metric(labels, value)
        return [family]

    def _begin(self) -> int:
        """The current term of the leader. The values of an earlier term are dropped."""
        term = type(self)._current_term()
        if term != self._term:
            self._term = term
            self._values.clear()
        return term

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self._name, self._documentation, labels=self._labels)


RECONCILE_SECONDS = Histogram("mooring_reconcile_seconds", "Duration of one reconcile pass.", ["reconciler"])
RECONCILE_ERRORS = Counter(
    "mooring_reconcile_errors_total",
    "Passes that failed and were retried; kind bug should stay at zero.",
    ["reconciler", "kind"],
)


def begin_errors(loop: str) -> None:
    """Export a loop's errors as zero: `increase` does not see a series that begins with its first error."""
    for kind in ("expected", "bug"):
        RECONCILE_ERRORS.labels(loop, kind)


RAILS_HELD = LeaderGauge("mooring_rails_held", "Destructive acts that the rails hold back now.", ("invariant",))
HOUSEKEEPING_BACKLOG = LeaderGauge(
    "mooring_housekeeping_backlog",
    "Rows that are older than their retention and not deleted yet, at most 100000.",
    ("table",),
)
LEADING = Gauge("mooring_leading", "1 while this replica leads.")
CACHE_OBJECTS = Gauge("mooring_cache_objects", "Objects in a cache.", ["resource"])
CACHE_FRESH = Gauge("mooring_cache_fresh", "1 while a cache is synced and its watch is alive.", ["resource"])
OUTGOING_REFUSED = Counter(
    "mooring_outgoing_refused_total",
    "Outgoing calls (mints, health checks) that were refused because of their destination.",
)
EVENTS_DROPPED = Counter(
    "mooring_events_dropped_total", "Events that were not written, because their object had too many of them."
)
