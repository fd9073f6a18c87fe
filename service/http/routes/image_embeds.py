"""`POST /v1/image_embeds`: features of images, as parts that can be posted back."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from litestar import post
from litestar.types import ASGIApp

from schemas.content.examples import EXAMPLE_UUID
from schemas.content.parts import ImageEmbeds, ImageEmbedsPart
from schemas.endpoints.image_embeds import (
    FeaturesFormat,
    ImageEmbedsData,
    ImageEmbedsRequest,
    ImageEmbedsResponse,
    ImageEmbedsUsage,
)
from schemas.parsing.rules import check_image_embeds_request
from service.errors import ServiceError
from service.front.inputs.uuids import Uuids
from service.front.job import EmbeddedInput, EmbedResult, InputResult
from service.http.answer_headers import TIMING_HEADERS
from service.http.errors import report_error
from service.http.examples import FEATURES_PART, IMAGE_PART, example, sample, to_builtin
from service.http.request import Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import Route
from service.media.features.npy_file import npy_head
from service.media.features.safetensors_file import safetensors_head
from service.media.features.tensor import Tensor, written_grids
from service.media.item import ITEM_BYTES, TensorDtype
from service.media.key import features_digest
from service.outputs.features import image_embeds_ask
from service.outputs.printing import Base64String

HEADS: Mapping[FeaturesFormat, Callable[[Tensor], bytes]] = {"safetensors": safetensors_head, "npy": npy_head}


@post("/v1/image_embeds", status_code=200)
@reads(ImageEmbedsRequest)
async def create_image_embeds(call: Call[ImageEmbedsRequest]) -> ASGIApp:
    """The features of each image."""
    serving, caller, body = call.serving, call.caller, call.body
    check_image_embeds_request(body)
    online = serving.find(body.model, "features", body=body)
    name = body.model or online.model.name
    ask = image_embeds_ask(body, online.engine.dtype, online.model.offer)
    job = online.reader.features_job(
        [image.part for image in body.images],
        (ask,),
        caller.tenant,
        per_item=body.on_error == "per_item",
        background=body.image_background or "",
    )
    result = await online.embedder.embed(job, caller)
    id_, uuids, origin = call.context.id, online.reader.rules.uuids, online.reader.rules.features.origin
    writer = EntryWriter(body, ask.dtype, id_, caller.tenant.uuid_scope, uuids, origin)
    return await answer(
        call, result, lambda: in_parts(writer.response(name, result)), online.fingerprint, in_thread=True
    )


@dataclass(frozen=True, slots=True)
class EntryWriter:
    """Makes one answer; runs in a thread, since hashes of megabytes take a while."""

    body: ImageEmbedsRequest
    dtype: TensorDtype
    id: str
    tenant: bytes
    uuids: Uuids
    origin: str

    def response(self, name: str, result: EmbedResult) -> ImageEmbedsResponse:
        """The whole answer; `name` is the model's as the request gave it."""
        return ImageEmbedsResponse(
            id=f"imgemb-{self.id}",
            created=int(time.time()),
            model=name,
            data=[self._entry(index, one) for index, one in enumerate(result.inputs)],
            usage=ImageEmbedsUsage(
                num_images=len(result.inputs),
                image_tokens=result.counts.num_visual_tokens,
                encoder_cache_hits=result.counts.num_hits,
                encoder_cache_misses=result.counts.num_misses,
            ),
        )

    def _entry(self, index: int, one: InputResult) -> ImageEmbedsData:
        """An image's part, or its error."""
        if isinstance(one, ServiceError):
            return ImageEmbedsData(index=index, error=report_error(one, self.id))
        (place,) = one.prompt.placeholders
        data = one.vector.rows[self.dtype]
        width = len(data) // (place.length * ITEM_BYTES[self.dtype])
        grids = written_grids([place.grid_thw])
        tensor = Tensor(self.dtype, (place.length, width), memoryview(data), self.origin, grids)
        file = Base64String(tensor.data, HEADS[self.body.features_format or "safetensors"](tensor))
        features = ImageEmbeds(image_embeds=cast(str, file), image_grid_thw=[*place.grid_thw])
        return ImageEmbedsData(
            index=index,
            part=ImageEmbedsPart(image_embeds=features, uuid=self._bound(index, one, tensor)),
            content_hash=one.vector.key.hex(),
            shape=list(tensor.shape),
            dtype=self.dtype,
        )

    def _bound(self, index: int, one: EmbeddedInput, tensor: Tensor) -> str:
        """The image's name, bound to the image and to the features that are answered for it."""
        (place,) = one.prompt.placeholders
        uuid = self.body.images[index].uuid or handle(one.vector.key)
        identity = features_digest(tensor.data, tensor.dtype, place.grid_thw, tensor.shape[1])
        self.uuids.bind(self.tenant, uuid, place.item, identity)
        return uuid


def handle(key: bytes) -> str:
    """The name of an image that came without one: `img-` and the first half of its content hash in hex."""
    return f"img-{key.hex()[:32]}"


_CONTENT_HASH = "9b74c9897bac770ffc029102a200c5de"
_FEATURES = sample(
    ImageEmbedsData,
    part=FEATURES_PART | {"uuid": f"img-{_CONTENT_HASH}"},
    content_hash=_CONTENT_HASH * 2,
    shape=[1, 768],
    dtype="float16",
)

ROUTE = Route(
    create_image_embeds,
    "createImageEmbeds",
    takes_timeout=True,
    summary="Vision features of images",
    description=(
        "Runs the vision tower alone. Each entry's `part` goes into `messages` or `inputs` as it stands, under any "
        "instruction and any number of times: the vectors are those of the image itself."
    ),
    request=ImageEmbedsRequest,
    response=ImageEmbedsResponse,
    headers=TIMING_HEADERS,
    request_examples={
        "image": to_builtin("One image", images=[IMAGE_PART]),
        "named": to_builtin(
            "An image with a name, as npy",
            images=[IMAGE_PART | {"uuid": EXAMPLE_UUID}],
            features_format="npy",
            embed_dtype="float16",
            on_error="per_item",
        ),
    },
    response_examples={
        "image": example(
            "Of an image of one visual token",
            sample(ImageEmbedsResponse, data=[_FEATURES], usage=sample(ImageEmbedsUsage, image_tokens=1)),
        )
    },
)
