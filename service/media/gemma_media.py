"""The processor of EmbeddingGemma 2, read from its files: images, frames of videos, audio. Both processes read it.

In: processor_config.json, as transformers 5 writes it, else a file for each part. Out: rules and numbers; what a file
leaves out is what transformers' classes have. It imports no torch.

Source: transformers 5.24 `Gemma4ImageProcessor`, `EmbeddingGemma2VideoProcessor`, `Gemma4AudioFeatureExtractor`,
`EmbeddingGemma2Processor`.
"""

from collections.abc import Mapping
from typing import Any

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.media.item import AudioFrames, AudioRule
from service.media.resize.antialias import BICUBIC
from service.media.resize.budget_rule import BudgetRule
from service.media.video.frame_rule import FrameRule

WHOLE = "processor_config.json"
PARTS = {
    "image_processor": ("preprocessor_config.json", "Gemma4ImageProcessor"),
    "video_processor": ("video_preprocessor_config.json", "EmbeddingGemma2VideoProcessor"),
    "feature_extractor": ("preprocessor_config.json", "Gemma4AudioFeatureExtractor"),
}
"""Their files, which count where the processor's own has none, and their classes."""
BUDGETS = (70, 140, 280, 560, 1120)
"""Visual tokens that an image or a frame may have at most."""
ALWAYS: Mapping[str, object] = {
    "do_resize": True,
    "do_rescale": True,
    "do_convert_rgb": True,
    "rescale_factor": 1 / 255,
    "image_mean": [0.0, 0.0, 0.0],
    "image_std": [1.0, 1.0, 1.0],
}
"""Values of both visual parts that are supported; with these, `do_normalize` changes nothing."""
OF_VIDEOS: Mapping[str, object] = {
    "do_sample_frames": True,
    "add_timestamps": False,
    "load_audio_from_video": False,
    "num_frames": None,
    "resample": BICUBIC,
}
"""Likewise of videos."""
VISION = {"patch_size": 16, "pooling_kernel_size": 3}
IMAGES = {**VISION, "max_soft_tokens": 280, "resample": BICUBIC}
VIDEOS = {**VISION, "max_soft_tokens": 70, "fps": 1, "max_frames": 32, "overflow_strategy": "uniform"}
HEARD: Mapping[str, object] = {"dither": 0.0, "padding_side": "right"}
"""Values of audio that are supported; dither would give the same audio another vector each time."""
AUDIO = {"sampling_rate": 16_000, "frame_length_ms": 20.0, "hop_length_ms": 10.0, **HEARD}
MOST_SAMPLES = 480_000
"""Of an audio file, whatever the rate is: the extractor cuts the rest off."""
FRAMES_OF_TOKEN = 4
"""The tower halves the number of frames twice."""


def image_rule(files: CheckpointFiles) -> BudgetRule:
    """The rule by which images are resized."""
    values = read_part(files, "image_processor", IMAGES, ALWAYS)
    if (found := values["resample"]) not in range(6):
        raise CheckpointError(f"{_name(files, 'image_processor')} has resample {found!r}; supported: 0 to 5")
    return _budget(files, "image_processor", values, found)


def video_rule(files: CheckpointFiles) -> FrameRule:
    """The rule by which frames of a video are chosen and resized."""
    values = read_part(files, "video_processor", VIDEOS, {**ALWAYS, **OF_VIDEOS})
    fps, most, overflow = values["fps"], values["max_frames"], values["overflow_strategy"]
    is_right = type(most) is int and most > 0 and isinstance(fps, int | float) and fps > 0
    if not is_right or overflow not in ("uniform", "truncate"):
        raise CheckpointError(
            f"{_name(files, 'video_processor')} has fps {fps!r}, max_frames {most!r} and overflow_strategy "
            f"{overflow!r}; supported: two numbers above 0, and uniform or truncate"
        )
    budget, is_cut = _budget(files, "video_processor", values, BICUBIC), overflow == "truncate"
    return FrameRule(budget=budget, patches=budget.patches, max_frames=most, fps=float(fps), keeps_first=is_cut)


def audio_rule(files: CheckpointFiles) -> AudioRule:
    """The rule for the length of audio. A frame is one of the tower's where all of its samples are there."""
    values = audio_numbers(files)
    rate = values["sampling_rate"]
    frame, hop = (round(rate * values[key] / 1000.0) for key in ("frame_length_ms", "hop_length_ms"))
    frames = AudioFrames(reach=frame - frame // 2, hop=hop, of_token=FRAMES_OF_TOKEN)
    return AudioRule(rate_hz=rate, crop_samples=MOST_SAMPLES, keeps_start=True, frames=frames)


def audio_numbers(files: CheckpointFiles) -> Mapping[str, Any]:
    """Arguments of the class that makes features of audio."""
    values = read_part(files, "feature_extractor", AUDIO, HEARD)
    for key in ("sampling_rate", "frame_length_ms", "hop_length_ms"):
        value, kinds = values[key], (int, int if key == "sampling_rate" else float)
        if not isinstance(value, kinds) or isinstance(value, bool) or round(values["sampling_rate"] * value) < 1:
            name = _name(files, "feature_extractor")
            raise CheckpointError(f"{name} has {key} {value!r}; a number above 0 is needed")
    return {key: value for key, value in values.items() if not key.endswith(("_type", "_class"))}


def read_part(
    files: CheckpointFiles, part: str, defaults: Mapping[str, Any], supported: Mapping[str, Any], kind: str = ""
) -> dict[str, Any]:
    """A part's values, defaults filled in; null means absent.

    Args:
        kind: class of the part; empty: EmbeddingGemma 2's.
    """
    found = files.processor().get(part)
    content = found if isinstance(found, dict) else files.optional(PARTS[part][0])
    values = {**defaults, **{key: value for key, value in content.items() if value is not None}}
    key, name = f"{part}_type", kind or PARTS[part][1]
    if str(values.get(key, name)).removesuffix("Fast").removesuffix("Pil") != name:
        raise CheckpointError(f"{_name(files, part)} has {key} {values[key]!r}; supported: {name}")
    for key, value in supported.items():
        if values.get(key, value) != value:
            raise CheckpointError(f"{_name(files, part)} has {key} {values[key]!r}; supported: {value!r}")
    return values


def _budget(files: CheckpointFiles, part: str, values: Mapping[str, Any], resample: int) -> BudgetRule:
    tower, name = {**VISION, **files.section("vision_config")}, _name(files, part)
    for key in VISION:
        if values[key] != tower[key] or type(tower[key]) is not int or tower[key] < 1:
            raise CheckpointError(f"{name} has {key} {values[key]!r}, and config.json's vision_config {tower[key]!r}")
    if (most := values["max_soft_tokens"]) not in BUDGETS:
        raise CheckpointError(f"{name} has max_soft_tokens {most!r}; supported: {BUDGETS}")
    patch, pooling = (tower[key] for key in VISION)
    return BudgetRule(patch_size=patch, pooling=pooling, max_tokens=most, resample=resample)


def _name(files: CheckpointFiles, part: str) -> str:
    return f"{part} of {WHOLE}" if isinstance(files.processor().get(part), dict) else PARTS[part][0]
