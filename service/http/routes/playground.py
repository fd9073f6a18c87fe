"""`GET /` and the files that the page loads, each under the policy that lets it reach nothing but this server.

They are the same for everybody and say nothing of this server, so they are open where there are keys (see `guard`):
a browser has none to send with a page. What the page shows, it asks for with the key that is typed into it.
"""

from litestar import Response

from service.http.request import AnyRequest
from service.http.route import page, read
from service.playground.files import FILES, PAGE, POLICY, PREFIX, PageFile

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""`no-cache`: kept, but asked about each time, so that page and server are always of one release."""


@read("/", exclude_from_auth=True)
async def get_playground(request: AnyRequest) -> Response[bytes]:
    """The page."""
    return _answer(request, PAGE)


@read(list(FILES), exclude_from_auth=True, label=f"{PREFIX}{{file}}")
async def get_playground_file(request: AnyRequest) -> Response[bytes]:
    """A module, the style sheet or an image of the page."""
    return _answer(request, FILES[request.scope["path"]])


def _answer(request: AnyRequest, file: PageFile) -> Response[bytes]:
    headers = HEADERS | {"etag": file.etag}
    if _has(request.headers.getall("if-none-match", []), file.etag):
        return Response(b"", status_code=304, headers=headers)
    return Response(file.content, headers=headers | {"content-type": file.media_type})


def _has(conditions: list[str], etag: str) -> bool:
    """True if the client says that it has this version.

    Source: RFC 9110 section 13.1.2; the comparison is the weak one.
    """
    named = {one.strip().removeprefix("W/") for condition in conditions for one in condition.split(",")}
    return bool(named & {etag, "*"})


ROUTE = page(
    get_playground,
    "getPlayground",
    "The playground, as a page",
    "Images and texts under several instructions: their similarities, a map, what each size and "
    "number format costs, cache hits and times, and the request to copy. Needs no other host. The page and its "
    "files, below `/playground/`, are the same for everyone and need no key; the requests that they send do.",
    "text/html",
)
