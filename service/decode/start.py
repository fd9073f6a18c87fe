"""Which decoder the settings ask for."""

from service.decode.clips import ClipDecoder
from service.decode.isolated import has_codecs
from service.decode.processes import ProcessDecoder
from service.decode.sounds import SoundDecoder
from service.decode.threads import ThreadDecoder
from service.settings import Settings


def start_decoder(settings: Settings, cores: int, *, sees: bool = True) -> ThreadDecoder | ProcessDecoder:
    """Processes that can be killed, or threads for whoever trusts every image.

    Args:
        settings: `decode_isolation` and its neighbours.
        cores: how many decode side by side when the settings do not say.
        sees: whether the model takes images: no process starts else.
    """
    num_workers = settings.decode_workers or cores
    max_bytes, deadline_s = settings.max_decode_bytes, settings.decode_timeout_s
    if settings.decode_isolation == "threads":
        return ThreadDecoder(num_threads=num_workers, max_bytes=max_bytes, deadline_s=deadline_s)
    return ProcessDecoder(num_workers=num_workers, max_bytes=max_bytes, deadline_s=deadline_s, is_lazy=not sees)


def start_clip_decoder(settings: Settings, cores: int) -> ClipDecoder | None:
    """What decodes video files; None without the extra `video`. Its processes start with the first file.

    Args:
        settings: `decode_workers` and its neighbours.
        cores: how many decode side by side when the settings do not say.
    """
    if not has_codecs():
        return None
    return ClipDecoder(
        num_workers=settings.decode_workers or cores,
        max_bytes=settings.max_decode_bytes,
        deadline_s=settings.video_timeout_s,
        max_pixels=settings.max_image_pixels,
    )


def start_sound_decoder(settings: Settings, cores: int) -> SoundDecoder | None:
    """What decodes sounds; None without the extra `audio`. Its processes start with the first file.

    Args:
        settings: `decode_workers` and its neighbours.
        cores: how many decode side by side when the settings do not say.
    """
    if not has_codecs():
        return None
    return SoundDecoder(
        num_workers=settings.decode_workers or cores,
        max_bytes=settings.max_decode_bytes,
        deadline_s=settings.audio_timeout_s,
        max_duration_s=settings.max_audio_s,
    )
