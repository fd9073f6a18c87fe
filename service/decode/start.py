"""The decoders that the settings ask for; `cores` decode at once where the settings do not say."""

from functools import cached_property
from typing import TypedDict

from service.decode.av_decoder import AudioDecoder, VideoDecoder
from service.decode.image_decoder import ProcessDecoder, ThreadDecoder
from service.decode.page_decoder import PageDecoder
from service.settings.settings import Settings
from service.workers.programs import has_codecs, has_pdfium

MAX_EARLY = 4
"""Processes that start with the front; others when as many images are decoded at once. Each has 25 MB of its own."""

PAGE_FACTOR, AV_FACTOR = 2, 4
"""Time for a page of a PDF, and for a video or an audio file, in that for an image."""


class Decoders:
    """The decoders of a service, which all of its models share; each is started when the first of them needs it."""

    def __init__(self, settings: Settings, cores: int) -> None:
        self._settings = settings
        self._num_workers = settings.decode_workers or cores
        self._images: ThreadDecoder | ProcessDecoder | None = None

    def images(self, *, is_needed: bool = True) -> ThreadDecoder | ProcessDecoder:
        """Of image files, in processes that can be killed, or in threads.

        No process starts at once where a model without images asks first.
        """
        if self._images is None:
            num_workers, settings = self._num_workers, self._settings
            max_bytes, deadline_s = settings.max_decode_bytes, settings.decode_timeout_s
            if settings.decode_isolation == "threads":
                self._images = ThreadDecoder(num_threads=num_workers, max_bytes=max_bytes, deadline_s=deadline_s)
            else:
                num_early = min(num_workers + 1, MAX_EARLY) if is_needed else 0
                self._images = ProcessDecoder(
                    num_workers=num_workers, max_bytes=max_bytes, deadline_s=deadline_s, num_early=num_early
                )
        return self._images

    @cached_property
    def videos(self) -> VideoDecoder | None:
        """Of video files; None without the extra `video`."""
        return (
            VideoDecoder(**self._limits(AV_FACTOR), max_pixels=self._settings.max_image_pixels)
            if has_codecs()
            else None
        )

    @cached_property
    def audio(self) -> AudioDecoder | None:
        """Of audio files; None without the extra `audio`."""
        return (
            AudioDecoder(**self._limits(AV_FACTOR), max_duration_s=self._settings.max_audio_s) if has_codecs() else None
        )

    @cached_property
    def pages(self) -> PageDecoder | None:
        """Of PDFs; None without the extra `pdf`."""
        return PageDecoder(**self._limits(PAGE_FACTOR)) if has_pdfium() else None

    def _limits(self, time_factor: int) -> "_Limits":
        settings = self._settings
        return _Limits(
            num_workers=self._num_workers,
            max_bytes=settings.max_decode_bytes,
            deadline_s=time_factor * settings.decode_timeout_s,
        )


class _Limits(TypedDict):
    num_workers: int
    max_bytes: int
    deadline_s: float
