"""`POST /playground/pages`: pages of a PDF as images, for the playground alone, whose policy lets no renderer in.

Key, body, queue, deadline, limits and errors are those of a request for the pages' vectors.
"""

import asyncio
from typing import cast

from litestar import MediaType, post
from litestar.types import ASGIApp

from schemas.endpoints.playground_pages import PlaygroundPagesRequest, PlaygroundPagesResponse
from service.accounting import stage
from service.front.inputs.page_images import PageImages, page_images
from service.http.request import Call, reads
from service.http.responses.answer import BodyParts, in_parts, reply
from service.outputs.printing import Base64String
from service.playground.files import PAGES_PATH


@post(PAGES_PATH, status_code=200)
@reads(PlaygroundPagesRequest)
async def render_playground_pages(call: Call[PlaygroundPagesRequest]) -> ASGIApp:
    """The first pages as images, at most as many as go into one request for their vectors."""
    serving, tenant = call.serving, call.caller.tenant
    online = serving.find(call.body.model, "prompt")
    max_bytes = serving.settings.max_body_bytes // 2  # in base64 they are a third longer
    lease = serving.answers.take_answer(max_bytes * 4 // 3, tenant)
    with stage("media"), online.embedder.lease(1, call.caller):
        source = call.body.file.file_data
        pages = await page_images(online.reader, source, "file.file_data", max_bytes=max_bytes)
    with stage("write"):
        parts = await asyncio.to_thread(_body, pages)
    lease.keep(sum(map(len, pages.images)))
    return reply(serving.turns, parts, [], MediaType.JSON, lease)


def _body(pages: PageImages) -> BodyParts:
    images = [cast(str, Base64String(image)) for image in pages.images]
    return in_parts(PlaygroundPagesResponse(num_pages=pages.num_pages, images=images))
