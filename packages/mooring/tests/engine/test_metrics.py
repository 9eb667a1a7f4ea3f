"""Gauges of what only a leader knows."""

from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY

from mooring.engine.metrics import KnownPools, LeaderGauge, PoolCounter, PoolHistogram


@pytest.fixture
def gauge() -> Iterator[LeaderGauge]:
    made = LeaderGauge("test_pool_workers", "Workers.", ("pool", "state"))
    KnownPools.ask(lambda _: True)
    LeaderGauge.export_in(lambda: 7)
    yield made
    REGISTRY.unregister(made)
    KnownPools.ask(lambda _: True)


def samples(gauge: LeaderGauge) -> dict[tuple[str, ...], float]:
    [metric] = gauge.collect()
    return {tuple(sample.labels.values()): sample.value for sample in metric.samples}


def test_a_leader_exports_what_it_knows(gauge: LeaderGauge) -> None:
    gauge.set(3, "runners/linux", "idle")
    assert samples(gauge) == {("runners/linux", "idle"): 3}


def test_a_pool_that_is_gone_is_not_exported_in_any_state(gauge: LeaderGauge) -> None:
    for state in ("idle", "busy"):
        gauge.set(1, "runners/linux", state)
        gauge.set(1, "queries/duck", state)
    gauge.remove("runners/linux")
    assert {labels[0] for labels in samples(gauge)} == {"queries/duck"}


def test_a_replica_that_no_longer_leads_exports_nothing_and_starts_afresh(gauge: LeaderGauge) -> None:
    gauge.set(3, "runners/linux", "idle")
    LeaderGauge.export_in(lambda: 0)
    assert samples(gauge) == {}
    gauge.set(4, "runners/linux", "idle")
    assert samples(gauge) == {}, "it does not know better than the leader"
    LeaderGauge.export_in(lambda: 7)
    assert samples(gauge) == {}


def test_values_of_an_earlier_term_are_not_exported_though_nobody_scraped_in_between(gauge: LeaderGauge) -> None:
    gauge.set(3, "runners/linux", "idle")
    LeaderGauge.export_in(lambda: 9)
    assert samples(gauge) == {}


def test_series_of_a_pool_that_is_gone_are_dropped_also_if_they_are_counted_late(gauge: LeaderGauge) -> None:
    counter = PoolCounter("test_made", "Made.", ["pool", "invariant"], registry=None)
    histogram = PoolHistogram("test_wait", "Wait.", ["pool"], registry=None)
    for key in ("runners/linux", "queries/duck"):
        gauge.set(1, key, "idle")
        counter.labels(key, "warm-floor").inc()
        histogram.labels(key).observe(1)
    KnownPools.ask(lambda key: key == "queries/duck")
    counter.labels("runners/linux", "warm-floor").inc()
    for metric in (gauge, counter, histogram):
        found = [sample.labels["pool"] for family in metric.collect() for sample in family.samples]
        assert set(found) == {"queries/duck"}
    KnownPools.ask(lambda _: True)
    assert {labels[0] for labels in samples(gauge)} == {"queries/duck"}, "it was dropped, not hidden"
