"""Memory of decoder processes is counted: files that take much memory, several at once, of each kind of decoder.

Memory is what the processes have beyond that of idle ones, read from outside. Little may be uncounted: what a process
keeps for itself, and what it takes between two looks. Once all is done it is given back.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from service.decode.av_decoder import AudioDecoder, VideoDecoder
from service.decode.image_decoder import ProcessDecoder
from service.decode.isolated import OWN_BYTES, IsolatedDecoder
from service.decode.page_decoder import PageDecoder
from service.errors import MediaError
from service.media.audio.audio_file import OpenAudio
from service.media.audio.samples import Audio
from service.media.error_location import ErrorLocation
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.item import QWEN3_VL, AudioRule
from service.media.page.page_file import PageInfo, Raster
from service.media.resize.image_rule import PixelRule
from service.media.video.video_file import OpenVideo, VideoFile
from tests.conftest import children_of
from tests.media_bombs import progressive
from tests.models.audio.audios import encode
from tests.pdf_file import boundless, winding
from tests.scoreboard.line import Result, line
from tests.video_file import video

MAX_BYTES = 256 << 20
DEADLINE_S = 6.0
NUM_WORKERS = 2
BETWEEN_LOOKS_BYTES = 128 << 20
"""Of all processes together."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
RULE = AudioRule(rate_hz=48_000)
PLACE = ErrorLocation("file", 0)
LETTER = PageInfo(num_pages=1, width_pt=612, height_pt=792)


@dataclass(frozen=True, slots=True)
class Kind:
    """A decoder and files that are dear to it.

    Attributes:
        start: a decoder within a memory budget.
        decode: a file, one of several.
    """

    name: str
    start: Callable[[], IsolatedDecoder]
    decode: Callable[[IsolatedDecoder, int], Awaitable[object]]


def _start(kind: type[IsolatedDecoder], **limits: Any) -> IsolatedDecoder:
    return kind(num_workers=NUM_WORKERS, max_bytes=MAX_BYTES, deadline_s=DEADLINE_S, **limits)


async def _page(decoder: IsolatedDecoder, number: int) -> None:
    assert isinstance(decoder, PageDecoder)
    file = winding() if number % 3 else boundless()
    await decoder.image(file, 1, Raster.of(LETTER, 1 << 20), PLACE)


async def _image(decoder: IsolatedDecoder, number: int) -> None:
    assert isinstance(decoder, ProcessDecoder)
    await decoder.pixels(open_image(progressive(3000 + number, "RGB"), DecodeLimits(), PixelRule(), PLACE))


@cache
def _long_audio() -> bytes:
    return encode(np.zeros((1, 300 * RULE.rate_hz), np.float32), "flac", "flac", rate_hz=RULE.rate_hz)


async def _audio(decoder: IsolatedDecoder, _: int) -> None:
    assert isinstance(decoder, AudioDecoder)
    info = await decoder.info(_long_audio(), "flac", PLACE)
    await decoder.slot(Audio.of(OpenAudio(_long_audio(), "flac", info, b""), RULE))


@cache
def _large_video() -> bytes:
    return video(8, size=(1088, 1920))


async def _video(decoder: IsolatedDecoder, number: int) -> None:
    assert isinstance(decoder, VideoDecoder)
    info = await decoder.info(_large_video(), "mp4", PLACE)
    clip = VideoFile(OpenVideo(_large_video(), "mp4", info, b""), (544, 960), QWEN3_VL)
    await decoder.frames(clip, [number % 8], PLACE)


KINDS = (
    Kind("pages", lambda: _start(PageDecoder), _page),
    Kind("audio", lambda: _start(AudioDecoder, max_duration_s=300.0), _audio),
    Kind("videos", lambda: _start(VideoDecoder, max_pixels=4_000_000), _video),
    Kind("images", lambda: _start(ProcessDecoder), _image),
)


async def try_all(size: int) -> Result:
    """So many files of each kind, all at once."""
    failures, figures = [], []
    for kind in KINDS:
        decoder, others = kind.start(), set(children_of(os.getpid()))
        decoding = [asyncio.create_task(_quiet(kind.decode(decoder, number))) for number in range(size)]
        own_bytes: dict[int, int] = {}
        uncounted = most = 0
        while not all(one.done() for one in decoding):
            held = await asyncio.to_thread(_held, others, own_bytes)
            counted = decoder.room.num_bytes_taken
            uncounted, most = max(uncounted, held - counted), max(most, counted)
            await asyncio.sleep(0.02)
        await asyncio.gather(*decoding)
        await asyncio.sleep(0.5)
        left = _held(others, own_bytes)
        num_processes = len(own_bytes)
        await asyncio.to_thread(decoder.close)
        mib = [value >> 20 for value in (uncounted, most, left)]
        figures.append(f"{kind.name}: {mib[0]} MiB uncounted at most, {mib[1]} counted, {mib[2]} kept while idle")
        if uncounted > NUM_WORKERS * 2 * OWN_BYTES + BETWEEN_LOOKS_BYTES:
            failures.append(f"{kind.name}: not counted")
        if left > num_processes * OWN_BYTES:
            failures.append(f"{kind.name}: not given back")
        if most < MAX_BYTES // 4:
            failures.append(f"{kind.name}: the files took no memory")
    return Result(len(KINDS) * size, len(failures), [*failures, *figures])


async def _quiet(decoding: Awaitable[object]) -> None:
    with suppress(MediaError):
        await decoding


def _held(others: set[int], own_bytes: dict[int, int]) -> int:
    """Memory of the decoder's processes beyond the least that each was seen to have once its codecs were loaded."""
    total = 0
    for pid in set(children_of(os.getpid())) - others:
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{pid}/statm").read_text().split()
            private = (int(fields[1]) - int(fields[2])) * PAGE_BYTES
            is_ready = Path(f"/proc/{pid}/fd/2").readlink().name.startswith("#")
            if is_ready:
                own_bytes[pid] = min(private, own_bytes.get(pid, private))
                total += private - own_bytes[pid]
    return total


@line(
    15,
    "memory of decoder processes while several files take all they can get: pages, images, videos, audio",
    "all but 32 MiB a process and 128 MiB between two looks is counted, and given back when idle",
    sizes=(12, 60),
)
def run(size: int, folder: Path) -> Result:
    """Try `size` files of each kind."""
    return asyncio.run(try_all(size))
