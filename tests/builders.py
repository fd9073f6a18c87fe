"""Image files, conversations and engine requests that tests of several folders build."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from service.errors import ServiceError
from service.fairness.threads import all_at_once
from service.front.admission.budget import ANSWERS, Budget, Lease
from service.front.admission.key_file import ApiKey, hash_key
from service.front.admission.load import Load
from service.front.admission.shared_table import SharedTable
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.reader import InputReader
from service.front.inputs.uuids import Uuids, UuidStore
from service.front.job import Job
from service.front.tenant import SERVICE
from service.ipc.messages import Media, PixelSlot, Request
from service.media.image.header import DecodeLimits
from service.media.image.image_file import ImageFile, open_image
from service.media.resize.image_rule import ImageRule, PixelRule
from service.outputs.ask import OutputAsk
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.prompt.conversation import Conversation, Turn
from service.prompt.prompt import Prompt

ASK = DenseAsk(dimensions=8)


def image_bytes(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """The file of an image."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def npy_bytes(array: NDArray[Any]) -> bytes:
    """The `.npy` file of an array."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    """An RGB image of random pixels."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def image_file(encoded: bytes | Image.Image, rule: ImageRule | None = None, **options: Any) -> ImageFile:
    """An image as the front opens it, with the reference's limits; `options` are those of `open_image`."""
    file = encoded if isinstance(encoded, bytes) else image_bytes(encoded)
    return open_image(file, DecodeLimits(), rule or PixelRule(), **options)


def user(text: str, *images: ImageFile, instruction: str | None = None, **flags: Any) -> Conversation:
    """A conversation of one user turn."""
    return Conversation(instruction, (Turn("user", (*images, text)),), **flags)


def own_uuids(max_bytes: int = 1 << 20) -> Uuids:
    """Names of images of a model of the only front."""

    async def ask(tenant: bytes, uuid: str) -> bytes:
        return b""

    return Uuids(UuidStore(max_bytes), "own", ask)


def prompts_of(reader: InputReader, job: Job, part: range | None = None) -> list[Prompt | ServiceError]:
    """The prompts of a job, or of a part of its inputs."""
    media = MediaReader(reader.rules, job.tenant, job.background)
    return all_at_once(reader.prompts(job, media, part or range(len(job.inputs))))


def media(key: str | bytes, start: int | None = 0, num_tokens: int = 10, **options: Any) -> Media:
    """An image of a request; its pixels lie in the slot at `start`, or are not sent where that is None."""
    slot = None if start is None else PixelSlot(start, 1)
    name = key.encode() if isinstance(key, str) else key
    return Media(key=name, grid_thw=(1, 2, 2), offset=0, num_tokens=num_tokens, slot=slot, **options)


def engine_request(id_: int, token_ids: list[int], *images: Media, ask: OutputAsk = ASK, **options: Any) -> Request:
    """A prompt as the engine gets it, with 8 numbers asked for unless `ask` says otherwise."""
    return Request(id=id_, plan=TokenPlan(token_ids), media=images, asks=(ask,), **options)


def answer_lease() -> Lease:
    """A lease of a small answer."""
    return Budget(ANSWERS, Load(), SharedTable.of_one_front()).take_answer(0, SERVICE.tenant)


def write_keys(path: Path, keys: Mapping[str, str]) -> Path:
    """A key file, of tenants and the key of each."""
    lines = [ApiKey(tenant=tenant, sha256=hash_key(key.encode()).hex()) for tenant, key in keys.items()]
    path.write_text("".join(msgspec.json.encode(line).decode() + "\n" for line in lines))
    return path
