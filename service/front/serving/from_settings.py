"""Settings as the rules of the parts that they concern. Decides nothing, keeps nothing."""

from dataclasses import replace

from service.front.inputs.media_reader import MediaRules
from service.front.inputs.opening import AudioOpener, FileKind, Opener, PageOpener, VideoOpener
from service.front.inputs.reader import InputReader
from service.front.inputs.uuids import Uuids
from service.front.served_model import ServedModel
from service.front.serving.resources import Resources
from service.media.audio.audio_file import AudioLimits
from service.media.features.features import FeatureRule
from service.media.image.header import DecodeLimits
from service.media.item import QWEN3_VL, ImageReadOptions, parse_color
from service.media.key import features_origin
from service.media.video.video_file import VideoLimits
from service.media.video.video_rule import REFERENCE_FILE_PIXELS, VideoRule
from service.settings.settings import Settings


def reading_rule(settings: Settings, model: ServedModel) -> ImageReadOptions:
    """Return the reading of files where a request does not say."""
    color, images = settings.image_background, model.profile.images
    upright = settings.image_orientation == "apply"
    if color is not None:
        return ImageReadOptions(parse_color(color), upright)
    return ImageReadOptions(images.background if images else "reference", upright)


def feature_rule(settings: Settings, model: ServedModel, tower: bytes) -> FeatureRule:
    """Rule for features in place of images, whose origin `tower` names."""
    origin, images = features_origin(tower), model.profile.images
    is_accepted = settings.image_embeds == "accept"
    if images is None:
        return FeatureRule(hidden=model.profile.dimensions, width=0, origin=origin, is_accepted=False)
    return FeatureRule(
        hidden=images.feature_width // images.num_levels,
        width=images.feature_width,
        origin=origin,
        is_accepted=is_accepted,
        patches=images.pixel_rule.patches,
    )


def video_rule(settings: Settings, model: ServedModel) -> VideoRule | None:
    """Rule by which frames of a video are sampled; None when the model sees none."""
    rule = model.profile.images.video_rule if model.profile.images else None
    if rule is None:
        return None
    is_given_more = settings.strict_reference and rule.patches == QWEN3_VL
    total = REFERENCE_FILE_PIXELS if is_given_more else rule.total_file_pixels
    return replace(rule, max_frames=min(rule.max_frames, settings.max_video_frames), total_file_pixels=total)


def media_rules(settings: Settings, model: ServedModel, uuids: Uuids, tower: bytes) -> MediaRules:
    """Rules of accepted media and of reading them; without `file:` URLs."""
    images = model.profile.images
    images = replace(images, video_rule=video_rule(settings, model)) if images else None
    return MediaRules(
        profile=replace(model.profile, images=images),
        features=feature_rule(settings, model, tower),
        limits=DecodeLimits(
            max_pixels=settings.max_image_pixels,
            max_encoded_bytes=settings.max_image_bytes,
            max_decode_bytes=settings.max_decode_bytes,
        ),
        uuids=uuids,
        read_options=reading_rule(settings, model),
    )


def input_reader(settings: Settings, model: ServedModel, tower: bytes, uuids: Uuids, shared: Resources) -> InputReader:
    """Return the reader of the inputs of every request for a model."""
    videos, audio, pages = shared.decoders.videos, shared.decoders.audio, shared.decoders.pages
    rules = replace(media_rules(settings, model, uuids, tower), local_files=shared.local_files)
    of_videos = VideoLimits(
        max_encoded_bytes=settings.max_media_bytes,
        max_duration_s=settings.max_video_s,
        max_pixels=settings.max_image_pixels,
    )
    of_audio = AudioLimits(max_encoded_bytes=settings.max_media_bytes, max_duration_s=settings.max_audio_s)
    images, openers = model.profile.images, dict[FileKind, Opener]()
    if videos and images and images.video_rule:
        openers["video"] = VideoOpener(videos, of_videos)
    if audio and model.profile.audios:
        openers["audio"] = AudioOpener(audio, of_audio)
    if pages and images:
        openers["page"] = PageOpener(pages, settings.max_media_bytes)
    return InputReader(
        model=model,
        rules=rules,
        fetching=shared.fetching,
        openers=openers,
        max_answer_bytes=settings.max_features_bytes,
        long_texts=settings.truncate_long_texts,
    )
