"""`GET /openapi.json` and its SDK profile, byte for byte the committed files; `/docs` and `/llms.txt`."""

from litestar import MediaType, Response

from service.errors import UnavailableError
from service.front.serving.serving import serving_of
from service.http.request import AnyRequest
from service.http.route import page, read
from service.reference.document import released
from service.reference.page import base_url, own_llms_txt, own_page, policy


@read("/openapi.json")
async def get_openapi() -> Response[bytes]:
    """The document."""
    return Response(released("openapi.json"), media_type=MediaType.JSON)


@read("/openapi-sdk.json")
async def get_openapi_sdk() -> Response[bytes]:
    """The document's SDK profile."""
    return Response(released("openapi-sdk.json"), media_type=MediaType.JSON)


@read("/docs", sync_to_thread=True)  # the first one is rendered, which must not hold up requests for vectors
def get_docs(request: AnyRequest) -> Response[str]:
    """The reference, as a page whose calls go to this server and name its model."""
    try:
        model = serving_of(request.app).main().model.name
    except UnavailableError:  # it is still loading; the page is there all the same
        model = ""
    headers = {
        "content-security-policy": policy(),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",  # another model, or another name of the server, is another page
    }
    url = base_url(request.scope["scheme"], request.headers.get("host", ""))
    return Response(own_page(url, model), media_type=MediaType.HTML, headers=headers)


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
        "The reference, as a page",
        "Every operation, field, error and limit, with calls to copy. Needs no script and no other host.",
        "text/html",
    ),
)
