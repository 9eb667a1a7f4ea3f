"""`/healthz`, `/readyz` and `/metrics`: open, cheap, and honest about what is not known."""

from typing import Any

from litestar import MediaType, Response, get
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from mooring.api.given import GivenReadiness
from mooring.model.errors import Unavailable


@get("/healthz", tags=["health"], summary="Is the process alive?", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """Answers as long as the process does."""
    return {"status": "ok"}


@get("/readyz", tags=["health"], summary="Are the caches synced?", sync_to_thread=False)
def readyz(readiness: GivenReadiness) -> Response[dict[str, Any]]:
    """200 when every cache is synced, else 503 that names those that are not."""
    described = readiness.describe()
    if readiness.ready:
        return Response({"status": "ok", **described})
    raise Unavailable("caches are not synced yet", detail=described)


@get("/metrics", tags=["health"], summary="Prometheus metrics", media_type=MediaType.TEXT, sync_to_thread=False)
def metrics() -> Response[bytes]:
    """In Prometheus' text format."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
