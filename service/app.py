"""Wiring only: routes, errors, and the task that keeps the model served."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from litestar import Litestar
from litestar.datastructures import State
from litestar.types import ASGIApp

from service.front.serving import Serving
from service.http.access import AccessLog
from service.http.document import get_docs, get_front_page, get_openapi, get_openapi_sdk
from service.http.drain import CloseWhileDraining
from service.http.embed import embed
from service.http.embed_v1 import embed_v1
from service.http.embeddings import create_embedding
from service.http.errors import HANDLERS
from service.http.head import HeadAsGet
from service.http.health import get_metrics, livez, readyz
from service.http.image_embeds import create_image_embeds
from service.http.models import get_model, list_models
from service.http.tokenize import detokenize, tokenize
from service.settings import Settings

ROUTE_HANDLERS = [
    create_embedding,
    embed,
    create_image_embeds,
    embed_v1,
    tokenize,
    detokenize,
    list_models,
    get_model,
    livez,
    readyz,
    get_metrics,
    get_openapi,
    get_openapi_sdk,
    get_docs,
    get_front_page,
]


def create_app(settings: Settings) -> tuple[ASGIApp, Serving]:
    """The ASGI app, and the service whose state its routes answer from.

    Litestar's own OpenAPI is off: ours is built from the schemas (see DECISIONS.md).
    """
    serving = Serving(settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        running = asyncio.create_task(serving.run())
        try:
            yield
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    app = Litestar(
        route_handlers=ROUTE_HANDLERS,
        state=State({"serving": serving}),
        lifespan=[lifespan],
        exception_handlers=HANDLERS,
        request_max_body_size=settings.max_body_bytes,
        openapi_config=None,
        logging_config=None,
    )
    return AccessLog(CloseWhileDraining(HeadAsGet(app), lambda: serving.is_draining)), serving
