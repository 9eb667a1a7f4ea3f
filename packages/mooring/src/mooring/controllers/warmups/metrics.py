"""The metrics of Warmups."""

from prometheus_client import Counter

from mooring.engine.metrics import LeaderGauge

WARM_JOBS_CREATED = Counter("mooring_warm_jobs_created_total", "Warm Jobs created.")
WARM_JOBS_RELEASED = Counter("mooring_warm_jobs_released_total", "Stale warm Jobs deleted.", ["reason"])
WARMUP_SHARDS = LeaderGauge("mooring_warmup_shards", "Shards of a Warmup by state.", ("warmup", "state"))
