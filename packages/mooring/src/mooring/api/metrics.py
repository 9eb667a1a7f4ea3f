"""Metrics of the HTTP server."""

from prometheus_client import Counter, Gauge

CERTIFICATE_EXPIRY = Gauge(
    "mooring_certificate_expiry_seconds", "When the certificate of HTTPS expires, in seconds since 1970; 0 without TLS."
)
REQUESTS_REFUSED = Counter("mooring_requests_refused_total", "Requests that a limit refused, by limit.", ["limit"])
CONNECTIONS = Gauge("mooring_connections", "Open connections of clients.")
