"""The probes: `/livez` says that the loop turns, `/readyz` that a known-answer embedding has matched."""

import msgspec
from litestar import MediaType, Response, get

from schemas.endpoints.health import Health
from service import metrics
from service.front.serving.serving import serving_of
from service.http.request_context import AnyRequest


@get("/livez")
async def livez() -> Response[bytes]:
    """200 as long as the front answers at all."""
    return _health(Health(status="ok"), 200)


@get(["/readyz", "/health"])
async def readyz(request: AnyRequest) -> Response[bytes]:
    """200 only while the engine is up and its known-answer embedding has matched."""
    health = serving_of(request.app).health()
    return _health(health, 200 if health.status == "ok" else 503)


@get("/metrics")
async def get_metrics(request: AnyRequest) -> Response[bytes]:
    """Every series in Prometheus' text format."""
    scrape: metrics.Scrape = request.app.state.scrape
    return Response(await scrape(), headers={"content-type": metrics.CONTENT_TYPE})


def _health(health: Health, status: int) -> Response[bytes]:
    headers = {} if status == 200 else {"Retry-After": "2"}
    return Response(msgspec.json.encode(health), status_code=status, headers=headers, media_type=MediaType.JSON)
