"""Line 1 again, for audio files: broken ones through FFmpeg in its own process, container and samples."""

import asyncio
import random
from functools import cache
from pathlib import Path

from service.decode.av_decoder import AudioDecoder
from service.media.audio.audio_file import AudioLimits, OpenAudio, audio_format, check_audio
from service.media.audio.samples import Audio
from service.media.error_location import ErrorLocation
from service.media.item import AudioRule
from tests.models.audio.audios import encode, tone
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.broken_files import try_broken

LIMITS = AudioLimits(max_duration_s=10.0)
RULE = AudioRule(rate_hz=16_000)
DEADLINE_S = 5.0
SEED = 26
PLACE = ErrorLocation("input_audio", 0)


@cache
def seeds() -> tuple[bytes, ...]:
    """Six formats."""
    kinds = {"wav": "pcm_s16le", "flac": "flac", "mp3": "mp3", "ogg": "libopus", "mp4": "aac", "webm": "libopus"}
    return tuple(encode(tone(0.5), container, codec) for container, codec in kinds.items())


async def samples_of(decoder: AudioDecoder, encoded: bytes) -> int:
    """Bytes of the samples over what their slot takes, the way that a request goes; 0 where it is right."""
    kind = audio_format(encoded, PLACE)
    info = await decoder.info(encoded, kind, PLACE)
    check_audio(info, LIMITS, PLACE)
    audio = Audio.of(OpenAudio(encoded, kind, info, b""), RULE, PLACE)
    return len(await decoder.slot(audio)) - audio.num_slot_bytes


async def try_all(size: int) -> Result:
    """Broken files one after another, through one process for as long as it lives."""
    decoder = AudioDecoder(num_workers=1, max_bytes=128 << 20, deadline_s=DEADLINE_S, max_duration_s=10.0)

    async def attempt(encoded: bytes) -> str:
        rest = await samples_of(decoder, encoded)
        return f"{rest} bytes too many" if rest else ""

    return await try_broken(size, random.Random(SEED), seeds(), decoder, attempt, [PLACE.param])


@line(
    1,
    "broken audio files through FFmpeg (six formats)",
    "samples or 422; 0 processes lost or late",
    sizes=(3_000, 200_000),
)
def run(size: int, folder: Path) -> Result:
    """Try `size` broken files."""
    return asyncio.run(try_all(size))
