"""The metrics of the loop. Every one is documented in docs/metrics.md; a test holds them together."""

from prometheus_client import Counter, Gauge, Histogram

RECONCILE_SECONDS = Histogram("mooring_reconcile_seconds", "Duration of one reconcile pass.", ["reconciler"])
RECONCILE_ERRORS = Counter(
    "mooring_reconcile_errors_total", "Passes that failed and were retried.", ["reconciler", "kind"]
)
WORKERS_CREATED = Counter("mooring_workers_created_total", "Worker pods made.", ["pool"])
WORKERS_RETIRED = Counter("mooring_workers_retired_total", "Worker pods deleted.", ["pool", "invariant"])
CREATE_FAILURES = Counter("mooring_worker_create_failures_total", "Worker pods that could not be made.", ["pool"])
RAILS_HELD = Gauge("mooring_rails_held", "Destructive acts held back by the rails at the last pass.", ["invariant"])
POOL_WORKERS = Gauge("mooring_pool_workers", "Workers of a pool by state.", ["pool", "state"])
NODES_QUARANTINED = Gauge("mooring_nodes_quarantined", "Nodes closed for new workers, because starts failed there.")
WARM_JOBS_CREATED = Counter("mooring_warm_jobs_created_total", "Warm Jobs made.")
WARM_JOBS_RELEASED = Counter("mooring_warm_jobs_released_total", "Stale warm Jobs deleted.", ["reason"])
WARMUP_SHARDS = Gauge("mooring_warmup_shards", "Shards of a Warmup by state.", ["warmup", "state"])
SUBMISSION_JOBS_CREATED = Counter("mooring_submission_jobs_created_total", "Jobs made for submissions.", ["namespace"])
SUBMISSIONS_BY_PHASE = Gauge("mooring_submissions", "Submissions by phase.", ["phase"])
HEALTH_CHECKS = Counter("mooring_health_checks_total", "Health checks of workers.", ["outcome"])
HEALTH_LAG = Gauge("mooring_health_lag_seconds", "How late the last health check began.")
WORKERS_UNHEALTHY = Gauge("mooring_workers_unhealthy", "Workers whose health checks failed as often as counts.")
LEADING = Gauge("mooring_leading", "1 while this replica acts.")
CACHE_OBJECTS = Gauge("mooring_cache_objects", "Objects in a cache.", ["resource"])
CACHE_FRESH = Gauge("mooring_cache_fresh", "1 while a cache is synced and its watch is alive.", ["resource"])
SERVICE_SERVING = Gauge("mooring_service_serving", "1 while a service serves, 0 in any other phase.", ["service"])
