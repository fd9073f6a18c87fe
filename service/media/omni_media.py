"""The processor of Qwen2.5-Omni, read from its files: images, videos, audio. Both processes read it; no torch.

Source: transformers 5.24 `Qwen2_5OmniProcessor`, `Qwen2VLImageProcessor`, `WhisperFeatureExtractor`; qwen-omni-utils
0.0.9 `fetch_video`.
"""

from collections.abc import Mapping
from typing import Any

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.media.gemma_media import read_part
from service.media.item import MERGE_SIZE, AudioFrames, AudioRule, Patches
from service.media.resize.antialias import BICUBIC
from service.media.resize.image_rule import PixelRule
from service.media.video.video_rule import VideoRule

RATE_HZ, PATCH, FRAMES = 16_000, 14, 2
FACTOR = PATCH * MERGE_SIZE
VISUAL: Mapping[str, object] = {
    **dict.fromkeys(("do_resize", "do_rescale", "do_normalize", "do_convert_rgb"), True),
    "rescale_factor": 1 / 255,
    "resample": BICUBIC,
    "patch_size": PATCH,
    "merge_size": MERGE_SIZE,
    "temporal_patch_size": FRAMES,
}
"""Values of images and videos that are supported; mean and deviation are obeyed, and an image's limits."""
NUMBERS: Mapping[str, Any] = {"feature_size": 80, "hop_length": 160, "chunk_length": 30, "n_fft": 400}
HEARD: Mapping[str, object] = {"sampling_rate": RATE_HZ, "dither": 0.0, "padding_side": "right", "padding_value": 0.0}
"""Numbers of audio, and values of it that are supported."""
FRAMES_OF_TOKEN = 4
"""A convolution and a mean halve the number of frames."""
FPS = 2.0
"""Frames a second, by which positions in time are counted whatever rate a request asks for."""
AREA = 115_200 * FACTOR**2
VIDEO = VideoRule(
    max_frames=768,
    fps=FPS,
    patches=Patches(PATCH, MERGE_SIZE),
    total_pixels=AREA,
    total_file_pixels=AREA,
    min_frame_pixels=128 * FACTOR**2,
    max_frame_pixels=768 * FACTOR**2,
    # the script passes a factor where a patch size is expected
    first=PixelRule(factor=2 * FACTOR, min_pixels=16 * FACTOR**2, max_pixels=65_536 * FACTOR**2),
)
"""Of the script beside the models; what the processor does after it changes no size."""


def check_visual(files: CheckpointFiles) -> None:
    """Refuse what the files of images and videos ask for and is not done, and limits that change `VIDEO`'s sizes."""
    images = read_part(files, "image_processor", {}, VISUAL, "Qwen2VLImageProcessor")
    alike: dict[str, Any] = {key: images[key] for key in ("image_mean", "image_std") if key in images}
    videos = read_part(files, "video_processor", alike, {**VISUAL, **alike}, "Qwen2VLVideoProcessor")
    size = videos.get("size") or {}
    least = videos.get("min_pixels", size.get("shortest_edge"))
    most = videos.get("max_pixels", size.get("longest_edge"))
    if (least or 0) > VIDEO.min_frame_pixels or (most or AREA) < VIDEO.max_frame_pixels:
        raise CheckpointError(
            f"video_processor has limits {least} and {most}; supported: up to {VIDEO.min_frame_pixels}, and from "
            f"{VIDEO.max_frame_pixels} on"
        )


def audio_numbers(files: CheckpointFiles) -> Mapping[str, Any]:
    """Arguments of `WhisperFeatureExtractor`."""
    values = read_part(files, "feature_extractor", NUMBERS, HEARD, "WhisperFeatureExtractor")
    found = {key: values[key] for key in NUMBERS}
    if not all(type(value) is int and value > 0 for value in found.values()):
        raise CheckpointError(f"feature_extractor has {found}; integers above 0 are needed")
    if RATE_HZ * found["chunk_length"] % found["hop_length"]:
        raise CheckpointError(f"feature_extractor has {found}; a whole number of hops in chunk_length is needed")
    return found


def audio_rule(files: CheckpointFiles) -> AudioRule:
    """The rule for the length of audio: ``floor(ceil(frames / 2) / 2)`` tokens, of a frame for each hop begun."""
    numbers = audio_numbers(files)
    hop, most = numbers["hop_length"], RATE_HZ * numbers["chunk_length"]
    frames = AudioFrames(reach=2 * hop, hop=hop, of_token=FRAMES_OF_TOKEN)
    return AudioRule(rate_hz=RATE_HZ, crop_samples=most, keeps_start=True, frames=frames)
