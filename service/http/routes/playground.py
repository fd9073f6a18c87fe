"""`GET /`, the files that the page loads, and `POST /playground/pages`: pages of a PDF as images.

Each file is under the policy that lets it reach nothing but this server, so the page renders no PDF itself. The files
are the same for everybody and say nothing of this server, so they are open where there are keys (see `guard`): a
browser has none to send with a page. What the page shows, it asks for with the key that is typed into it.
"""

import asyncio
from typing import cast

from litestar import MediaType, Response, post
from litestar.types import ASGIApp

from schemas.endpoints.playground_pages import PlaygroundPagesRequest, PlaygroundPagesResponse
from service.accounting import stage
from service.front.inputs.page_images import PageImages, page_images
from service.http.request import AnyRequest, Call, reads
from service.http.responses.answer import BodyParts, in_parts, reply
from service.http.route import page, read
from service.outputs.printing import Base64String
from service.playground.files import FILES, PAGE, PAGES_PATH, POLICY, PREFIX, PageFile

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


@post(PAGES_PATH, status_code=200)
@reads(PlaygroundPagesRequest)
async def render_playground_pages(call: Call[PlaygroundPagesRequest]) -> ASGIApp:
    """The first pages as images, at most as many as go into one request for their vectors.

    Key, body, queue, deadline, limits and errors are those of such a request.
    """
    serving, tenant = call.serving, call.caller.tenant
    online = serving.find(call.body.model, "prompt", body=call.body)
    max_bytes = serving.settings.max_body_bytes // 2  # in base64 they are a third longer
    lease = serving.answers.take_answer(max_bytes * 4 // 3, tenant)
    with stage("media"), online.embedder.lease(1, call.caller):
        source = call.body.file.file_data
        pages = await page_images(online.reader, source, "file.file_data", max_bytes=max_bytes)
    with stage("write"):
        parts = await asyncio.to_thread(_body_of, pages)
    lease.keep(sum(map(len, pages.images)))
    return reply(serving.turns, parts, [], MediaType.JSON, lease)


def _body_of(pages: PageImages) -> BodyParts:
    images = [cast(str, Base64String(image)) for image in pages.images]
    return in_parts(PlaygroundPagesResponse(num_pages=pages.num_pages, images=images))


ROUTE = page(
    get_playground,
    "getPlayground",
    "The playground, as a page",
    "Images and texts under several instructions: their similarities, a map, what each size and "
    "number format costs, cache hits and times, and the request to copy. Needs no other host. The page and its "
    "files, below `/playground/`, are the same for everyone and need no key; the requests that they send do.",
    "text/html",
)
