"""One tenant floods tokenizer, images, pages, videos or audio; another one's small request waits only a moment.

Twice: two tenants with keys, where decoders are processes, and nobody with a key, where all are one tenant and what is
small passes what is large. The flood is never answered in this time: it is there, which is counted, or the line fails.
"""

import asyncio
import base64
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from service.front.admission.key_file import new_key
from tests.builders import image_bytes, write_keys
from tests.conftest import CHECKPOINT, LiveServer
from tests.models.audio.audios import encode
from tests.models.audio.checkpoints import make_checkpoint
from tests.pdf_file import endless, raw
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.amidst_flood import Waits, measure
from tests.scoreboard.lines.raw_http import request_bytes, served
from tests.video_file import video, video_part

LARGE_SIDE = 5760
"""Of an image of 33 million pixels, about as many as a server takes."""
NUM_IMAGE_BODIES = 3
NUM_TEXT_BODIES = 4
TEXT_BODY_BYTES = 24_000_000
NUM_TEXTS = 1200
NUM_PAGES = 32
SETTLE_S = 4.0
"""From the last byte of the flood to the first small request: bodies are decoded, and their work has begun."""
IMAGE_MODEL, AUDIO_MODEL = "vl", "clap"
NUM_MEDIA_BODIES = 3
NUM_VIDEOS, NUM_AUDIOS = 24, 100

numbers = count()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of work before the engine.

    Attributes:
        name: in words.
        small: a request of the victim, another one each time.
        flood: requests of the other tenant.
    """

    name: str
    small: Callable[[str], bytes]
    flood: Callable[[str], Sequence[bytes]]


@line(
    15,
    "small requests of a tenant while another floods tokenizer, images, endless pages, videos or audio",
    "longest wait <= 3x alone + 250 ms, with keys and without",
    sizes=(5, 20),
)
def run(size: int, folder: Path) -> Result:
    """Ask `size` small requests of each kind alone, and as many amidst a flood, with keys and without."""
    failures, figures = [], []
    clap = make_checkpoint("unfused", folder / "clap")
    for keys, where in (((new_key(), new_key()), "with keys"), (("", ""), "without")):
        flags = ("--model", f"{AUDIO_MODEL}={clap}", "--threads", "2", *(key_flags(keys, folder) if keys[0] else ()))
        log = folder / f"{where}.log"
        with served(log, *flags, model=f"{IMAGE_MODEL}={CHECKPOINT}", is_flooded=True) as server:
            found = asyncio.run(_measure_all(server, keys, size))
        figures += [f"{name} {where}: {waits}" for name, waits in found.items()]
        failures += [f"too long: {name} {where}" for name, waits in found.items() if waits.is_too_long]
    return Result(2 * len(KINDS) * size, len(failures), [*failures, *figures])


def key_flags(keys: tuple[str, str], folder: Path) -> tuple[str, ...]:
    """Flags of a server with two tenants, `flood` and `victim`."""
    path = write_keys(folder / "keys.jsonl", dict(zip(("flood", "victim"), keys, strict=True)))
    return ("--api-keys", str(path))


async def _measure_all(server: LiveServer, keys: tuple[str, str], size: int) -> dict[str, Waits]:
    return {
        kind.name: await measure(server, partial(kind.small, keys[1]), partial(kind.flood, keys[0]), size, SETTLE_S)
        for kind in KINDS
    }


def _post(path: str, body: dict[str, Any], key: str) -> bytes:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return request_bytes(path, {"model": IMAGE_MODEL} | body, **headers)


def _encoded(side: int) -> bytes:
    return image_bytes(Image.linear_gradient("L").resize((side, side)).convert("RGB"), "JPEG", quality=60)


def _others(jpeg: bytes) -> Iterator[str]:
    """The same pixels in files that differ by a comment, as data URIs: nobody has seen them yet."""
    while True:
        comment = b"%012d" % next(numbers)
        file = jpeg[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + jpeg[2:]
        yield "data:image/jpeg;base64," + base64.b64encode(file).decode()


def _images(urls: Iterator[str], num: int, key: str) -> bytes:
    inputs = [{"content": [{"type": "image_url", "image_url": {"url": next(urls)}}]} for _ in range(num)]
    return _post("/v1/embeddings", {"inputs": inputs}, key)


def _small_image(key: str) -> bytes:
    return _images(_others(_encoded(64)), 1, key)


def _large_images(key: str) -> list[bytes]:
    urls = _others(_encoded(LARGE_SIDE))
    return [_images(urls, 20, key) for _ in range(NUM_IMAGE_BODIES)]


def _words(num_chars: int) -> str:
    """A text that nobody has sent yet."""
    number = next(numbers)
    return f"{number} {'some more words of a text ' * (num_chars // 26 + 1)}"[:num_chars]


def _small_text(key: str) -> bytes:
    return _post("/tokenize", {"input": _words(3000)}, key)


def _large_texts(key: str) -> list[bytes]:
    num_chars = TEXT_BODY_BYTES // NUM_TEXTS
    body = {"input": [_words(num_chars) for _ in range(NUM_TEXTS)]}
    return [_post("/tokenize", body, key) for _ in range(NUM_TEXT_BODIES)]


def _pages(files: Iterable[bytes], key: str) -> bytes:
    """Pages that nobody has seen yet, each an input."""
    urls = ["data:application/pdf;base64," + base64.b64encode(b"%s%% %d" % (f, next(numbers))).decode() for f in files]
    inputs = [{"content": [{"type": "file", "file": {"file_data": url}}]} for url in urls]
    return _post("/v1/embeddings", {"inputs": inputs, "on_error": "per_item"}, key)


def _small_page(key: str) -> bytes:
    return _pages([raw([b"0 0 30 30 re f"], b"0 0 60 60")], key)


def _endless_pages(key: str) -> list[bytes]:
    """Each takes its whole time, in little memory; half of them look as if they took little time."""
    return [_pages([endless(), endless(b"0 0 60 60")] * (NUM_PAGES // 2), key)]


@cache
def _video(num_frames: int, side: int) -> bytes:
    return video(num_frames, size=(side, side))


@cache
def _audio(seconds: int) -> bytes:
    """Silence, in a quarter of a second and some hundred kilobytes for five minutes."""
    return encode(np.zeros((2, seconds * 48_000), np.float32), "mp4", "aac", rate_hz=48_000)


def _unseen(mp4: bytes) -> bytes:
    """The same streams in a file that differs by a free box at its end."""
    return mp4 + struct.pack(">I4s12s", 20, b"free", b"%012d" % next(numbers))


def _clips(num: int, num_frames: int, side: int, key: str) -> bytes:
    parts = [video_part(_unseen(_video(num_frames, side))) for _ in range(num)]
    return _post("/v1/embeddings", {"inputs": [{"content": [part]} for part in parts]}, key)


def _sounds(num: int, seconds: int, key: str) -> bytes:
    files = [base64.b64encode(_unseen(_audio(seconds))).decode() for _ in range(num)]
    parts = [{"type": "audio_url", "audio_url": {"url": f"data:audio/mp4;base64,{file}"}} for file in files]
    body = {"model": AUDIO_MODEL, "inputs": [{"content": [part]} for part in parts]}
    return _post("/v1/embeddings", body, key)


KINDS = (
    Kind("tokenize", _small_text, _large_texts),
    Kind("decode", _small_image, _large_images),
    Kind("pages", _small_page, _endless_pages),
    Kind(
        "videos",
        partial(_clips, 1, 4, 64),
        lambda key: [_clips(NUM_VIDEOS, 48, 1080, key) for _ in range(NUM_MEDIA_BODIES)],
    ),
    Kind(
        "audio",
        partial(_sounds, 1, 1),
        lambda key: [_sounds(NUM_AUDIOS, 290, key) for _ in range(NUM_MEDIA_BODIES)],
    ),
)
"""Texts first: a text that has begun is the one work that outlasts its client, and no image waits for it."""
