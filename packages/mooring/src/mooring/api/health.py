"""`/healthz`, `/readyz` and `/metrics`: without authentication, and cheap."""

from typing import Any

from litestar import MediaType, Response, get
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from mooring.api.access.acts import HEALTH
from mooring.api.dependencies import GivenReadiness
from mooring.model.errors import Unavailable


@get("/healthz", access=HEALTH, tags=["health"], summary="Liveness", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """200 while the process runs."""
    return {"status": "ok"}


@get("/readyz", access=HEALTH, tags=["health"], summary="Readiness", sync_to_thread=False)
def readyz(readiness: GivenReadiness) -> Response[dict[str, Any]]:
    """200 if every cache follows its watch and the ledger answers, otherwise 503 with what does not."""
    described = readiness.describe()
    if not (obstacles := readiness.obstacles):
        return Response({"status": "ok", **described})
    raise Unavailable(f"not ready: {'; '.join(obstacles)}", detail=described)


@get(
    "/metrics",
    access=HEALTH,
    tags=["health"],
    summary="Prometheus metrics",
    media_type=MediaType.TEXT,
    sync_to_thread=False,
)
def metrics() -> Response[bytes]:
    """Metrics in the text format of Prometheus."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
