"""The metrics of services."""

from mooring.engine.metrics import LeaderGauge

SERVICE_SERVING = LeaderGauge(
    "mooring_service_serving", "1 while a service serves, 0 in any other phase.", ("service",)
)
