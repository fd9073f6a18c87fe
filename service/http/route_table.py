"""The route table: every operation of this release, in the reading order of the document."""

from service.http.route import OPEN
from service.http.routes import (
    azure,
    cohere_tokens,
    document,
    embed,
    embed_v1,
    embeddings,
    health,
    image_embeds,
    models,
    ollama,
    playground,
    pooling,
    ranking,
    rerank,
    score,
    tei,
    tokenize,
)
from service.http.stream import route as stream

ROUTES = (
    embeddings.ROUTE,
    stream.ROUTE,
    embed.ROUTE,
    image_embeds.ROUTE,
    embed_v1.ROUTE,
    *rerank.ROUTES,
    ranking.ROUTE,
    *score.ROUTES,
    tei.EMBED,
    tei.EMBED_SPARSE,
    pooling.ROUTE,
    azure.ROUTE,
    *ollama.ROUTES,
    *tokenize.ROUTES,
    *cohere_tokens.ROUTES,
    *models.ROUTES,
    tei.INFO,
    *health.ROUTES,
    *document.ROUTES,
    playground.ROUTE,
)
"""Every operation of the document."""

ROUTE_HANDLERS = (
    *(route.handler for route in ROUTES),
    document.get_docs_page,
    document.get_docs_search,
    document.get_llms_txt,
    playground.get_playground_file,
    playground.render_playground_pages,
)
"""All that the app answers: besides the operations what the pages load and ask, those below `/docs`, and the index for
language models. No client calls those."""

OPEN_PATHS = frozenset(path for handler in ROUTE_HANDLERS if OPEN in handler.opt for path in handler.paths)
"""Paths that need no key: the probes, `/metrics`, and the pages with their files, which are the same for everybody."""

LABELS = {
    path: handler.opt.get("label", path) for handler in ROUTE_HANDLERS for path in handler.paths if "{" not in path
}
"""Path of each handler, and what it is called in logs and metrics."""
