"""`GET /openapi.json` and its SDK profile, byte for byte the committed files; the pages `/docs` and `/llms.txt`."""

import asyncio

from litestar import MediaType, Response

from service.errors import UnavailableError
from service.front.serving.serving import serving_of
from service.http.request import AnyRequest
from service.http.route import page, read
from service.playground.files import POLICY
from service.reference.document import released
from service.reference.pages import HOME, NAMES, SEARCH, base_url, own_llms_txt, own_page, search_index


@read("/openapi.json")
async def get_openapi() -> Response[bytes]:
    """The document."""
    return Response(released("openapi.json"), media_type=MediaType.JSON)


@read("/openapi-sdk.json")
async def get_openapi_sdk() -> Response[bytes]:
    """The document's SDK profile."""
    return Response(released("openapi-sdk.json"), media_type=MediaType.JSON)


@read(HOME, sync_to_thread=True, exclude_from_auth=True)  # the first one is rendered, which must not hold up requests
def get_docs(request: AnyRequest) -> Response[str]:
    """The first page of the reference."""
    return _page(request, HOME)


@read([f"{HOME}/{name}" for name in NAMES], exclude_from_auth=True, label=f"{HOME}/{{page}}")
async def get_docs_page(request: AnyRequest) -> Response[str]:
    """A page of the reference below it."""
    return await asyncio.to_thread(_page, request, request.scope["path"].rstrip("/"))


@read(SEARCH, sync_to_thread=True, exclude_from_auth=True)
def get_docs_search(request: AnyRequest) -> Response[bytes]:
    """What the search of these pages looks through."""
    return Response(search_index(), media_type=MediaType.JSON, headers={"cache-control": "no-cache"})


def _page(request: AnyRequest, path: str) -> Response[str]:
    """A page whose calls go to this server and name its model.

    Where there are keys it names none: a browser has no key to send with a page, so the pages are open to everybody.
    """
    serving = serving_of(request.app)
    try:
        model = "" if serving.keyring else serving.main().model.name
    except UnavailableError:  # it is still loading; the page is there all the same
        model = ""
    headers = {
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",  # another model, or another name of the server, is another page
    }
    url = base_url(request.scope["scheme"], request.headers.get("host", ""))
    return Response(own_page(path, url, model), media_type=MediaType.HTML, headers=headers)


@read("/llms.txt", sync_to_thread=True)  # as `/docs`
def get_llms_txt(request: AnyRequest) -> Response[str]:
    """The index of the API for language models. A page like those of the playground: no operation of the document."""
    url = base_url(request.scope["scheme"], request.headers.get("host", ""))
    headers = {"x-content-type-options": "nosniff", "cache-control": "no-cache"}
    return Response(own_llms_txt(url), media_type=MediaType.TEXT, headers=headers)


ROUTES = (
    page(
        get_openapi,
        "getOpenapi",
        "This document",
        "OpenAPI 3.1.0, byte for byte the file of the release.",
        "application/json",
    ),
    page(
        get_openapi_sdk,
        "getOpenapiSdk",
        "This document for client generators",
        "Its SDK profile, in OpenAPI 3.0.3: no unions of arrays. Byte for byte the file of the release.",
        "application/json",
    ),
    page(
        get_docs,
        "getDocs",
        "The reference, as pages",
        "Every operation, field, error and limit, with calls to copy and to send; a page for each group is below it. "
        "Needs no other host, and no script to be read. The pages are the same for everyone and need no key.",
        "text/html",
    ),
)
