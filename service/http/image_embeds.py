"""`POST /v1/image_embeds`: features of pictures, as parts that can be posted back."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from litestar import post

from schemas.content import ImageEmbeds, ImageEmbedsPart
from schemas.image_embeds import (
    FeaturesFormat,
    ImageEmbedsData,
    ImageEmbedsRequest,
    ImageEmbedsResponse,
    ImageEmbedsUsage,
)
from schemas.rules import check_image_embeds_request
from service.errors import ServiceError
from service.front.admission import Place
from service.front.features_job import features_job
from service.front.job import Answered, Embedded, Outcome
from service.front.serving import Serving, serving_of
from service.front.tenant import Caller
from service.front.uuids import UuidStore
from service.http.answer import answer, observe
from service.http.body import announced_bytes, read_body
from service.http.caller import caller_of
from service.http.errors import AnyRequest, error_body
from service.http.late_file import late_file
from service.http.reply import Reply
from service.http.request_id import request_id
from service.ipc.messages import FeaturesSpec, Row
from service.media.key import features_digest
from service.media.npy_file import npy_head
from service.media.safetensors_file import safetensors_head
from service.media.tensor import Tensor
from service.media.tensor_dtype import ITEM_BYTES, TensorDtype

HEADS: Mapping[FeaturesFormat, Callable[[Tensor], bytes]] = {"safetensors": safetensors_head, "npy": npy_head}


@post("/v1/image_embeds", status_code=200)
async def create_image_embeds(request: AnyRequest) -> Reply:
    """The features of each picture."""
    serving = serving_of(request.app)
    caller = caller_of(request, serving.settings.request_timeout_s)
    with serving.admission.body(announced_bytes(request, serving.settings.max_body_bytes), caller.tenant) as room:
        return await _create(request, serving, caller, room)


async def _create(request: AnyRequest, serving: Serving, caller: Caller, room: Place) -> Reply:
    body = await read_body(request, ImageEmbedsRequest, room, ignore_unknown=serving.ignores_unknown_fields)
    check_image_embeds_request(body)
    online = serving.online()
    name = online.model.check_name(body.model)
    dtype = _dtype(body, online.engine.dtype)
    job = features_job(
        online.reader,
        [image.part for image in body.images],
        FeaturesSpec(dtype=dtype),
        tenant=caller.tenant,
        max_bytes=serving.settings.max_features_bytes,
        per_item=body.on_error == "per_item",
        background=body.image_background,
    )
    embedded = await online.embedder.embed(job, caller)
    observe(embedded, request.scope)
    reader = online.reader
    writer = EntryWriter(
        body, dtype, request_id(request.scope), caller.tenant.uuid_scope, reader.uuids, reader.features.origin
    )
    return await answer(
        serving.turns, partial(_response, writer, name, embedded), embedded, online.fingerprint, in_thread=True
    )


def _dtype(body: ImageEmbedsRequest, computed_in: TensorDtype) -> TensorDtype:
    """What was asked for; else what the model computes in, unless the file format has no such numbers."""
    if body.embed_dtype is not None:
        return body.embed_dtype
    return "float32" if body.features_format == "npy" and computed_in == "bfloat16" else computed_in


def _response(writer: "EntryWriter", name: str, embedded: Embedded) -> ImageEmbedsResponse:
    return ImageEmbedsResponse(
        id=f"imgemb-{writer.id}",
        created=int(time.time()),
        model=name,
        data=[writer.entry(index, outcome) for index, outcome in enumerate(embedded.outcomes)],
        usage=ImageEmbedsUsage(
            num_images=len(embedded.outcomes),
            image_tokens=embedded.counts.num_visual_tokens,
            encoder_cache_hits=embedded.counts.num_hits,
            encoder_cache_misses=embedded.counts.num_misses,
        ),
    )


@dataclass(frozen=True, slots=True)
class EntryWriter:
    """Writes the entries of one answer; runs in a thread, since hashes of megabytes take a while."""

    body: ImageEmbedsRequest
    dtype: TensorDtype
    id: str
    tenant: bytes
    uuids: UuidStore
    origin: str

    def entry(self, index: int, outcome: Outcome) -> ImageEmbedsData:
        """A picture's part, or why it has none."""
        if isinstance(outcome, ServiceError):
            return ImageEmbedsData(index=index, error=error_body(outcome, self.id))
        (place,) = outcome.prompt.placeholders
        data = outcome.vector.rows[self.dtype]
        tensor = self._tensor(data, place.length)
        file = late_file(HEADS[self.body.features_format or "safetensors"](tensor), tensor.data)
        features = ImageEmbeds(image_embeds=cast(str, file), image_grid_thw=[*place.grid_thw])
        return ImageEmbedsData(
            index=index,
            part=ImageEmbedsPart(image_embeds=features, uuid=self._bound(index, outcome, tensor)),
            content_hash=outcome.vector.key.hex(),
            shape=list(tensor.shape),
            dtype=self.dtype,
        )

    def _tensor(self, data: Row, num_tokens: int) -> Tensor:
        width = len(data) // (num_tokens * ITEM_BYTES[self.dtype])
        return Tensor(self.dtype, (num_tokens, width), memoryview(data), self.origin)

    def _bound(self, index: int, outcome: Answered, tensor: Tensor) -> str:
        """The picture's name, bound to the picture and to the features that are answered for it."""
        (place,) = outcome.prompt.placeholders
        uuid = self.body.images[index].uuid or handle(outcome.vector.key)
        identity = features_digest(tensor.data, tensor.dtype, place.grid_thw, tensor.shape[1])
        self.uuids.bind(self.tenant, uuid, place.item, identity)
        return uuid


def handle(key: bytes) -> str:
    """The name of a picture that came without one: `img-` and the first half of its content hash in hex."""
    return f"img-{key.hex()[:32]}"
