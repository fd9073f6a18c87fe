"""The ASGI app: routes, error handlers, middleware, and the task that keeps the model served. Wiring only."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from litestar import Litestar
from litestar.datastructures import State
from litestar.types import ASGIApp

from service import metrics
from service.accounting import DEFERRED
from service.front.engine_client.engine_host import OpenHost
from service.front.engine_client.front_link import FrontLink
from service.front.engine_client.local_engine import LocalEngine
from service.front.serving.process_tuning import compute_alone, watch_loop
from service.front.serving.serving import Serving
from service.http.errors import HANDLERS
from service.http.middleware.access_log import AccessLog
from service.http.middleware.allow_lists import AllowedHosts, AllowedOrigins
from service.http.middleware.guard import Guard
from service.http.middleware.tracing import Tracing
from service.http.route_table import ROUTE_HANDLERS
from service.http.routes.health import get_metrics
from service.settings.settings import Settings


def create_app(settings: Settings, link: FrontLink, open_host: OpenHost = LocalEngine) -> tuple[ASGIApp, Serving]:
    """The ASGI app, and the service whose state its routes answer from.

    Litestar's own OpenAPI is off: ours is built from the schemas (docs/decisions/api.md).

    Args:
        link: to what the front shares with others.
        open_host: makes the host that runs prompts; by default the engine process on this machine.
    """
    compute_alone()
    serving = Serving(settings, link, open_host)
    tracing = None if settings.otlp_endpoint is None else Tracing(settings.otlp_endpoint)
    metrics.show_limits(settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        keyring = serving.keyring
        works = [serving.run(), watch_loop(), serving.answers.watch()]
        if keyring is not None:
            works.append(keyring.watch())
        running = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            DEFERRED.finish()
            if tracing is not None:
                await asyncio.to_thread(tracing.close)

    app = Litestar(
        route_handlers=[one for one in ROUTE_HANDLERS if one is not get_metrics or settings.metrics_port is None],
        state=State({"serving": serving, "scrape": link.scrape}),
        lifespan=[lifespan],
        exception_handlers=HANDLERS,
        request_max_body_size=settings.max_body_bytes,
        openapi_config=None,
        logging_config=None,
    )
    served: ASGIApp = Guard(app, serving)
    if settings.allowed_hosts is not None:
        served = AllowedHosts(served, settings.allowed_hosts)
    served = AccessLog(served, serving, tracing)
    if settings.allowed_origins is not None:
        served = AllowedOrigins(served, settings.allowed_origins)
    return served, serving
