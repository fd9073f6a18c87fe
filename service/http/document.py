"""`GET /openapi.json`, byte for byte the committed file, and the two plain pages that lead to it."""

import html
from functools import cache
from pathlib import Path

from litestar import MediaType, Response, get

from service.openapi import render
from service.openapi.routes import ROUTES

STYLE = "body{font:16px/1.5 system-ui;max-width:46rem;margin:3rem auto;padding:0 1rem}code{font-size:.95em}"
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@cache
def document_bytes() -> bytes:
    """The committed `openapi.json`: beside the packages in a checkout, inside `service` in a wheel."""
    package = Path(__file__).parent.parent
    for path in (package / "openapi.json", package.parent / "openapi.json"):
        if path.is_file():
            return path.read_bytes()
    return render()


@get("/openapi.json")
async def get_openapi() -> Response[bytes]:
    """The document."""
    return Response(document_bytes(), media_type=MediaType.JSON)


@get(["/", "/docs"])
async def get_docs() -> Response[str]:
    """A page without scripts and without other hosts: the routes, each with its sentence."""
    rows = "".join(
        f"<dt><code>{route.method} {html.escape(route.path)}</code></dt><dd>{html.escape(route.summary)}</dd>"
        for route in ROUTES
    )
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Cenote</title><style>{STYLE}</style><h1>Cenote</h1>"
        f"<p>Text and pictures to vectors. Every field, bound and error is in <a href='/openapi.json'>openapi.json</a>."
        f"</p><dl>{rows}</dl></html>"
    )
    return Response(page, media_type=MediaType.HTML, headers={"content-security-policy": POLICY})
