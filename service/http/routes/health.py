"""The probes: `/livez` says that the loop turns, `/readyz` that a known-answer embedding has matched."""

import msgspec
from litestar import MediaType, Response
from litestar.handlers import HTTPRouteHandler

from schemas.endpoints.health import Health
from service import metrics
from service.front.serving.serving import serving_of
from service.http.examples import example, sample
from service.http.request import AnyRequest
from service.http.route import Route, page, read


@read("/livez", exclude_from_auth=True)
async def livez() -> Response[bytes]:
    """200 as long as the front answers at all."""
    return _health(Health(status="ok"), 200)


@read("/readyz", exclude_from_auth=True)
async def readyz(request: AnyRequest) -> Response[bytes]:
    """200 only while the engine is up and its known-answer embedding has matched."""
    health = serving_of(request.app).health()
    return _health(health, 200 if health.status == "ok" else 503)


get_health = read("/health", exclude_from_auth=True)(readyz.fn)


@read("/metrics", exclude_from_auth=True)
async def get_metrics(request: AnyRequest) -> Response[bytes]:
    """Every series in Prometheus' text format."""
    scrape: metrics.Scrape = request.app.state.scrape
    return Response(await scrape(), headers={"content-type": metrics.CONTENT_TYPE})


def _health(health: Health, status: int) -> Response[bytes]:
    headers = {} if status == 200 else {"Retry-After": "2"}
    return Response(msgspec.json.encode(health), status_code=status, headers=headers, media_type=MediaType.JSON)


def _probe(
    handler: HTTPRouteHandler, operation_id: str, summary: str, description: str, statuses: tuple[int, ...]
) -> Route:
    return Route(
        handler,
        operation_id,
        tag="Probes",
        summary=summary,
        description=description,
        response=Health,
        error_statuses=statuses,
        response_examples={"ok": example("Requests are answered", sample(Health))},
        error_examples={503: {"status": "loading", "detail": "The model is loading."}},
    )


ROUTES = (
    _probe(
        livez,
        "getLiveness",
        "Is the process alive?",
        "200 as long as the front process answers, whatever the state of the model.",
        (),
    ),
    _probe(
        readyz,
        "getReadiness",
        "Are requests answered correctly?",
        "200 only when the health probe's embedding has matched its known answer.",
        (503,),
    ),
    _probe(get_health, "getHealth", "The same as /readyz", "An alias of `/readyz`, for tools that look here.", (503,)),
    page(
        get_metrics,
        "getMetrics",
        "Metrics for Prometheus",
        "Counters and histograms named `cenote_*`, in Prometheus's text format.",
        "text/plain",
        "Probes",
    ),
)
