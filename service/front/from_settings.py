"""Settings as the rules of the parts that they concern. Decides nothing, keeps nothing."""

from dataclasses import replace

from service.decode.clips import ClipDecoder
from service.decode.sounds import SoundDecoder
from service.front.clips import ClipOpener
from service.front.fetching import Fetching
from service.front.inputs import InputReader
from service.front.patience import Patience
from service.front.served_model import ServedModel
from service.front.sounds import SoundOpener
from service.front.uuids import UuidStore
from service.ipc.messages import Start
from service.media.clip import ClipLimits
from service.media.features import FeatureRule
from service.media.header import DecodeLimits
from service.media.key import features_origin
from service.media.local_file import LocalFiles
from service.media.reading import Reading, parse_color
from service.media.sound_file import SoundLimits
from service.media.video_rule import REFERENCE_FILE_PIXELS, VideoRule
from service.settings import Settings


def decode_limits(settings: Settings) -> DecodeLimits:
    """What pictures are refused."""
    return DecodeLimits(
        max_pixels=settings.max_image_pixels,
        max_encoded_bytes=settings.max_image_bytes,
        max_decode_bytes=settings.max_decode_bytes,
    )


def reading_rule(settings: Settings, model: ServedModel) -> Reading:
    """How files are read where a request does not say."""
    color, pictures = settings.image_background, model.profile.pictures
    upright = settings.image_orientation == "apply"
    if color is not None:
        return Reading(parse_color(color), upright)
    return Reading(pictures.background if pictures else None, upright)


def feature_rule(settings: Settings, model: ServedModel) -> FeatureRule:
    """What features in place of pictures must look like."""
    origin, pictures = features_origin(model.fingerprint), model.profile.pictures
    is_accepted = settings.image_embeds == "accept"
    if pictures is None:
        return FeatureRule(hidden=model.profile.dimensions, width=0, origin=origin, is_accepted=False)
    return FeatureRule(
        hidden=model.profile.dimensions,
        width=pictures.feature_width,
        origin=origin,
        is_accepted=is_accepted,
        patches=pictures.pixel_rule.patches,
    )


def video_rule(settings: Settings, model: ServedModel) -> VideoRule | None:
    """Which frames of a video the model sees; None when it sees none."""
    rule = model.profile.pictures.video_rule if model.profile.pictures else None
    if rule is None:
        return None
    total = REFERENCE_FILE_PIXELS if settings.strict_reference else rule.total_file_pixels
    return replace(rule, max_frames=min(rule.max_frames, settings.max_video_frames), total_file_pixels=total)


def clip_limits(settings: Settings) -> ClipLimits:
    """What video files are refused."""
    return ClipLimits(
        max_encoded_bytes=settings.max_video_bytes,
        max_duration_s=settings.max_video_s,
        max_pixels=settings.max_image_pixels,
    )


def sound_limits(settings: Settings) -> SoundLimits:
    """What sounds are refused."""
    return SoundLimits(max_encoded_bytes=settings.max_audio_bytes, max_duration_s=settings.max_audio_s)


def input_reader(
    settings: Settings,
    model: ServedModel,
    uuids: UuidStore,
    fetching: Fetching | None,
    local_files: LocalFiles | None,
    clips: ClipDecoder | None,
    sounds: SoundDecoder | None,
) -> InputReader:
    """What reads the inputs of every request for a model."""
    return InputReader(
        model,
        decode_limits(settings),
        uuids,
        feature_rule(settings, model),
        reading_rule(settings, model),
        fetching,
        local_files,
        video_rule=video_rule(settings, model),
        clips=None if clips is None else ClipOpener(clips, clip_limits(settings)),
        sounds=SoundOpener(sounds, sound_limits(settings)) if sounds and model.profile.sounds else None,
    )


def patience(settings: Settings) -> Patience:
    """How long the engine may be silent, and how often it may end."""
    return Patience(
        load_s=settings.engine_load_s,
        stuck_s=settings.engine_stuck_s,
        known_answer_s=settings.known_answer_s,
        breaker_deaths=settings.breaker_deaths,
        breaker_wait_s=settings.breaker_wait_s,
    )


def start_message(settings: Settings, model: ServedModel, cores: int) -> Start:
    """What every engine is told first."""
    return Start(
        folder=str(model.checkpoint.folder),
        architecture=model.profile.architecture,
        device=settings.device,
        dtype=settings.dtype,
        weights=settings.weights,
        arena_bytes=settings.pixel_arena_bytes,
        encoder_cache_bytes=settings.encoder_cache_bytes,
        host_cache_bytes=settings.host_cache_bytes,
        disk_cache=settings.disk_cache,
        disk_cache_bytes=settings.disk_cache_bytes,
        valkey_url=None if settings.valkey_keeps == "vectors" else settings.valkey_url,
        max_tenant_share=settings.max_tenant_share,
        result_cache_bytes=0 if model.is_multi_vector else settings.result_cache_bytes,  # see DECISIONS.md
        max_batch_tokens=settings.max_batch_tokens,
        max_batch_requests=settings.max_batch_requests,
        max_encoder_tokens=settings.max_encoder_tokens,
        num_threads=cores,
        pooling=model.profile.pooling,
        int8_ranges=dict(model.int8_ranges),
        log_format=settings.log_format,
        log_level=settings.log_level,
    )
