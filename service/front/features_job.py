"""What `/v1/image_embeds` wants of the engine: each picture's features, by prompts that are nothing but their picture.

They go the way of all prompts: one queue, one decode, one run of the tower for equal pictures. Knows no file format.
"""

from collections.abc import Sequence

from schemas.content import ImageUrlPart
from service.errors import MediaError, ServiceError
from service.fairness.threads import Steps
from service.front.inputs import InputReader
from service.front.job import Job
from service.front.modality import refuse_modality
from service.front.pictures import PictureReader
from service.front.place import Place
from service.front.sources import num_chars
from service.front.tenant import Tenant
from service.ipc.messages import FeaturesSpec
from service.media.picture import Picture
from service.media.tensor_dtype import ITEM_BYTES
from service.prompt.prompt import Placeholder, Prompt


def features_job(
    reader: InputReader,
    images: Sequence[ImageUrlPart],
    spec: FeaturesSpec,
    *,
    tenant: Tenant,
    max_bytes: int,
    per_item: bool,
    background: str | None = None,
) -> Job:
    """A job that is answered with features, one entry for each picture.

    Args:
        reader: of the model.
        images: the request's pictures.
        spec: in which number format.
        tenant: who asks.
        max_bytes: most bytes of all features together, checked before anything is decoded.
        per_item: a picture that fails leaves the others alone.
        background: the request's color under transparent pixels, as `#rrggbb`.

    Returns:
        The job. Its `prepare` raises MediaError when the answer would be too large, and otherwise as `per_item` says.

    Raises:
        InputError: the model takes no pictures.
    """
    rule = reader.model.profile.pictures
    if rule is None:
        refuse_modality("pictures", reader.model.profile.modalities, "images")
    token_bytes, pad_id = rule.feature_width * ITEM_BYTES[spec.dtype], rule.image_pad
    places = [Place(f"images[{index}]", index, part) for index, part in enumerate(images)]
    read = _read_each if per_item else _read_all
    pictures = reader.pictures(tenant, background)

    def prepare() -> Steps[list[Prompt | ServiceError]]:
        found = yield from read(pictures, places)
        _check_size([one for one in found if not isinstance(one, ServiceError)], token_bytes, max_bytes)
        return [one if isinstance(one, ServiceError) else _prompt(one, pad_id) for one in found]

    return Job(
        prepare=prepare,
        output=spec,
        num_inputs=len(images),
        answer_token_bytes=token_bytes,
        fetch=reader.fetch_step(pictures, places, per_item=per_item),
        has_media=True,
        num_chars=num_chars(images),
        per_item=per_item,
        param_of=lambda index: places[index].param,
    )


def _read_all(pictures: PictureReader, places: Sequence[Place]) -> Steps[list[Picture | ServiceError]]:
    pictures.check_known(places)
    found: list[Picture | ServiceError] = []
    for place in places:
        found += pictures.read(place)
        yield
    return found


def _read_each(pictures: PictureReader, places: Sequence[Place]) -> Steps[list[Picture | ServiceError]]:
    found: list[Picture | ServiceError] = []
    for place in places:
        try:
            pictures.check_known([place])
            found += pictures.read(place)
        except ServiceError as error:
            found.append(error)
        yield
    return found


def _check_size(pictures: Sequence[Picture], token_bytes: int, max_bytes: int) -> None:
    num_tokens = sum(picture.num_tokens for picture in pictures)
    if num_tokens * token_bytes > max_bytes:
        raise MediaError(
            "media_too_large",
            f"`images`: their features, {num_tokens} visual tokens of {token_bytes} bytes, take "
            f"{num_tokens * token_bytes} bytes; one answer may hold {max_bytes}. Send fewer pictures at once",
            param="images",
        )


def _prompt(picture: Picture, pad_id: int) -> Prompt:
    place = Placeholder(0, picture.num_tokens, picture.grid_thw, picture)
    return Prompt([pad_id] * picture.num_tokens, (place,), num_text_tokens=0, truncated=False)
