"""The metrics of pools and their workers."""

from prometheus_client import Counter, Gauge

from mooring.engine.metrics import LeaderGauge, PoolCounter
from mooring.planning.actions import WARM_FLOOR

WORKERS_CREATED = PoolCounter("mooring_workers_created_total", "Worker pods created.", ["pool"])
WORKERS_RETIRED = PoolCounter("mooring_workers_retired_total", "Worker pods deleted.", ["pool", "invariant"])
CREATE_FAILURES = PoolCounter(
    "mooring_worker_create_failures_total", "Worker pods that could not be created.", ["pool"]
)
POOL_WORKERS = LeaderGauge("mooring_pool_workers", "Workers of a pool by state.", ("pool", "state"))
WORKER_SECONDS = PoolCounter(
    "mooring_pool_worker_seconds_total", "Seconds that workers of a pool spent in a state.", ["pool", "state"]
)
NODES_QUARANTINED = Gauge("mooring_nodes_quarantined", "Nodes closed for new workers, because starts failed there.")
POOL_PLACEHOLDERS = LeaderGauge(
    "mooring_pool_placeholders", "Placeholder pods of a pool with headroom by state.", ("pool", "state")
)
HEALTH_CHECKS = Counter("mooring_health_checks_total", "Health checks of workers, by outcome.", ["outcome"])
HEALTH_LAG = Gauge(
    "mooring_health_lag_seconds",
    "How late the last health check began, in seconds; rises when too many checks wait for an answer.",
)
WORKERS_UNHEALTHY = Gauge("mooring_workers_unhealthy", "Workers that reached their health-check failure threshold.")
DEMAND_FLOOR = LeaderGauge("mooring_pool_demand_floor", "Idle workers that a pool's demand asks for.", ("pool",))
DEMAND_ARRIVALS = LeaderGauge(
    "mooring_pool_demand_arrivals_per_minute", "Claims a minute that are expected in a pool with demand.", ("pool",)
)


def begin_series(pool: str) -> None:
    """Export the counters of a pool as zero: what rises from nothing is not seen to rise."""
    for counter in (WORKERS_CREATED, CREATE_FAILURES):
        counter.labels(pool)
    WORKERS_RETIRED.labels(pool, WARM_FLOOR)
