"""The metrics of submissions."""

from prometheus_client import Counter

from mooring.engine.metrics import LeaderGauge

SUBMISSION_JOBS_CREATED = Counter(
    "mooring_submission_jobs_created_total", "Jobs created for submissions.", ["namespace"]
)
SUBMISSIONS_BY_PHASE = LeaderGauge("mooring_submissions", "Submissions by phase.", ("phase",))
