"""Images, audio and videos that tests draw, as the service opens them and as the reference is given them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import structs
from PIL import Image

from service.media.audio.audio_file import OpenAudio
from service.media.audio.samples import Audio
from service.media.error_location import NO_LOCATION
from service.media.image.header import DecodeLimits
from service.media.item import ImageReadOptions
from service.media.key import file_digest
from service.media.media_item import MediaItem, Video
from service.media.video.frame_list import open_frames
from service.media.video.video_file import OpenVideo, VideoFile, video_frame_pairs
from service.media.video.video_rule import item_times
from service.prompt.profile.profile import Profile
from service.workers import audio_reader, video_reader
from tests.builders import image_bytes, image_file, noise
from tests.models.audio.audios import decoded, encode, tone
from tests.models.omni.reference import Frames, Part
from tests.video_file import decoded as frames_of
from tests.video_file import video

RATE_HZ = 16_000
FPS = 5


def drawn(width: int, height: int, turn: int = 0) -> Image.Image:
    """An image of ramps."""
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([2 * x + 40 * turn, 3 * y, x + y], axis=-1).astype(np.uint8)
    return Image.fromarray(pixels)


def sound(seconds: float, hertz: float = 330.0, **options: Any) -> bytes:
    """A file of a tone that rises."""
    return encode(tone(seconds, hertz, rate_hz=options.get("rate_hz", RATE_HZ)), **options)


@dataclass(frozen=True)
class Film:
    """A video, as a list of frames or as a file.

    Attributes:
        frames: all of them.
        encoded: the file; empty for a list.
    """

    frames: tuple[Image.Image, ...] = ()
    encoded: bytes = b""

    @classmethod
    def of_file(cls, num_frames: int, size: tuple[int, int] = (96, 128)) -> "Film":
        """An H.264 file at `FPS`, whose frames are those that its decoder gives."""
        encoded = video(num_frames, fps=FPS, size=size)
        return cls(tuple(map(Image.fromarray, frames_of(encoded))), encoded)


def for_service(part: Any, profile: Profile) -> Any:
    """A part as a request brings it."""
    if isinstance(part, Image.Image):
        assert profile.images is not None
        options = ImageReadOptions(profile.images.background)
        return image_file(part, profile.images.pixel_rule, options=options)
    if isinstance(part, bytes):
        return _audio(part, profile)
    return _video(part, profile) if isinstance(part, Film) else part


def for_reference(part: Any, profile: Profile) -> Part:
    """The same, decoded; of a video the frames that are taken, by arithmetic of the reference's processor."""
    if isinstance(part, bytes):
        return decoded(part, RATE_HZ)
    if not isinstance(part, Film):
        found: Part = part
        return found
    assert profile.images is not None
    assert profile.images.video_rule is not None
    numbers = np.arange(len(part.frames))
    if part.encoded:
        duration = len(part.frames) / FPS
        numbers = np.array([min(len(numbers) - 1, int(i * FPS)) for i in range(max(1, int(duration)))])
    most = profile.images.video_rule.max_frames
    if len(numbers) > most:
        numbers = numbers[np.linspace(0, len(numbers) - 1, most, dtype=int)]
    return Frames(tuple(part.frames[i] for i in numbers))


def _audio(encoded: bytes, profile: Profile) -> Audio:
    assert profile.audios is not None
    rule, info = profile.audios.rule, audio_reader.read_info(encoded, "wav", 300.0)
    info = structs.replace(info, num_samples=audio_reader.count_samples(encoded, "wav", rule))
    return Audio.of(OpenAudio(encoded, "wav", info, file_digest(encoded)), rule)


def _video(film: Film, profile: Profile) -> Video:
    assert profile.images is not None
    rule = profile.images.video_rule
    assert rule is not None
    if not film.encoded:
        numbers = rule.sample_list(len(film.frames))
        encoded = [image_bytes(film.frames[i]) for i in numbers]
        items: tuple[MediaItem, ...] = open_frames(encoded, [NO_LOCATION] * len(encoded), DecodeLimits(), rule)
        return Video(items, item_times(numbers, 1.0, rule.frames_of_item))
    info = video_reader.read_info(film.encoded, "mp4", max_pixels=1 << 24)
    numbers = rule.sample_file(range(info.num_frames), info.fps)
    size = rule.frame_size(info.height, info.width, len(numbers), of_file=True)
    opened = OpenVideo(film.encoded, "mp4", info, file_digest(film.encoded))
    file = VideoFile(opened, size, rule.patches, is_antialiased=rule.is_antialiased)
    pairs = video_frame_pairs(file, numbers, NO_LOCATION, rule.frames_of_item)
    return Video(pairs, item_times(numbers, info.fps, rule.frames_of_item))


WIDE, TALL, SLIVER, NOISE = drawn(140, 90), drawn(60, 200, 1), drawn(900, 12, 2), noise(333, 221)
CLEAR = Image.fromarray(np.dstack([np.asarray(drawn(80, 80)), np.tile(np.arange(80, dtype=np.uint8) * 3, (80, 1))]))
