"""The decoders that the settings ask for; `cores` decode at once where the settings do not say."""

from functools import cached_property

from service.decode.av_decoder import AudioDecoder, VideoDecoder
from service.decode.image_decoder import ProcessDecoder, ThreadDecoder
from service.decode.page_decoder import PageDecoder
from service.settings import Settings
from service.workers.programs import has_codecs, has_pdfium

MAX_EARLY = 4
"""Processes that start with the front; others when as many images are decoded at once. Each has 25 MB of its own."""

PAGE_FACTOR, AV_FACTOR = 2, 4
"""Time for a page of a PDF, and for a video or an audio file, in that for an image."""


def start_decoder(settings: Settings, cores: int, *, takes_images: bool = True) -> ThreadDecoder | ProcessDecoder:
    """Start processes that can be killed, or threads; no process starts at once for a model without images."""
    num_workers = settings.decode_workers or cores
    max_bytes, deadline_s = settings.max_decode_bytes, settings.decode_timeout_s
    if settings.decode_isolation == "threads":
        return ThreadDecoder(num_threads=num_workers, max_bytes=max_bytes, deadline_s=deadline_s)
    num_early = min(num_workers + 1, MAX_EARLY) if takes_images else 0
    return ProcessDecoder(num_workers=num_workers, max_bytes=max_bytes, deadline_s=deadline_s, num_early=num_early)


def start_video_decoder(settings: Settings, cores: int) -> VideoDecoder | None:
    """Return a decoder of video files; None without the extra `video`."""
    if not has_codecs():
        return None
    return VideoDecoder(
        num_workers=settings.decode_workers or cores,
        max_bytes=settings.max_decode_bytes,
        deadline_s=AV_FACTOR * settings.decode_timeout_s,
        max_pixels=settings.max_image_pixels,
    )


def start_audio_decoder(settings: Settings, cores: int) -> AudioDecoder | None:
    """Return a decoder of audio files; None without the extra `audio`."""
    if not has_codecs():
        return None
    return AudioDecoder(
        num_workers=settings.decode_workers or cores,
        max_bytes=settings.max_decode_bytes,
        deadline_s=AV_FACTOR * settings.decode_timeout_s,
        max_duration_s=settings.max_audio_s,
    )


def start_page_decoder(settings: Settings, cores: int) -> PageDecoder | None:
    """Return a decoder of PDFs; None without the extra `pdf`."""
    if not has_pdfium():
        return None
    return PageDecoder(
        num_workers=settings.decode_workers or cores,
        max_bytes=settings.max_decode_bytes,
        deadline_s=PAGE_FACTOR * settings.decode_timeout_s,
    )


class Decoders:
    """The decoders of a service, which all of its models share; each is started when the first of them needs it."""

    def __init__(self, settings: Settings, cores: int) -> None:
        self._settings = settings
        self._cores = cores
        self._images: ThreadDecoder | ProcessDecoder | None = None

    def images(self, *, is_needed: bool = True) -> ThreadDecoder | ProcessDecoder:
        """Of image files; no process starts at once where a model without images asks first."""
        if self._images is None:
            self._images = start_decoder(self._settings, self._cores, takes_images=is_needed)
        return self._images

    @cached_property
    def videos(self) -> VideoDecoder | None:
        """Of video files, or None."""
        return start_video_decoder(self._settings, self._cores)

    @cached_property
    def audio(self) -> AudioDecoder | None:
        """Of audio files, or None."""
        return start_audio_decoder(self._settings, self._cores)

    @cached_property
    def pages(self) -> PageDecoder | None:
        """Of PDFs, or None."""
        return start_page_decoder(self._settings, self._cores)
