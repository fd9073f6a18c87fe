"""What a checkpoint's image processor does to a picture: sizes for the front, scale and shift for the engine.

In: preprocessor_config.json, or processor_config.json as transformers 5 writes it. Out: a rule and a `Scaling`. What
the file leaves out is what transformers' class of the model has.

Source: transformers 5.23 `ImageProcessingMixin.get_image_processor_dict`, `BaseImageProcessor._set_attributes` and the
classes of CLIP, SigLIP, SigLIP 2 and Chinese-CLIP.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.media.naflex_rule import NaflexRule
from service.media.square_rule import SquareRule
from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.profile import UnsupportedModelError

_FILTERS = range(6)
"""Pillow's numbers: nearest, Lanczos, bilinear, bicubic, box, Hamming."""
_ALWAYS = {"do_resize": True, "do_rescale": True, "do_normalize": True, "rescale_factor": 1 / 255}
_CLIP = _ALWAYS | {
    "size": {"shortest_edge": 224},
    "do_center_crop": True,
    "crop_size": {"height": 224, "width": 224},
    "resample": 3,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
}
_HALVES = _ALWAYS | {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "clip": _CLIP,
    "metaclip_2": _CLIP,
    "chinese_clip": _CLIP,
    "siglip": _HALVES | {"size": {"height": 224, "width": 224}, "resample": 3},
    "siglip2": _HALVES | {"patch_size": 16, "max_num_patches": 256, "resample": 2},
}
"""By model_type."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """``(x · factor - mean) / std`` for each channel.

    Attributes:
        factor: in float64.
        mean: of red, green and blue.
        std: likewise.
    """

    factor: float
    mean: tuple[float, ...]
    std: tuple[float, ...]


def read_preprocessor(files: CheckpointFiles) -> Mapping[str, Any]:
    """The image processor's values, defaults filled in; null means absent.

    Raises:
        UnsupportedModelError: there is no such file, it is damaged, or the model has no picture half that is known.
    """
    defaults = DEFAULTS.get(str(files.model_type))
    if defaults is None:
        raise UnsupportedModelError(f"config.json has model_type {files.model_type!r}, of no known image processor")
    whole = files.read_object("processor_config.json") if (files.folder / "processor_config.json").exists() else {}
    own = whole.get("image_processor")
    found = own if isinstance(own, dict) else files.read_object("preprocessor_config.json")
    values = {**defaults, **{name: value for name, value in found.items() if value is not None}}
    if not (values["do_resize"] and values["do_rescale"] and values["do_normalize"]):
        raise UnsupportedModelError(
            "preprocessor_config.json switches off do_resize, do_rescale or do_normalize; supported: all three on"
        )
    if values["resample"] not in _FILTERS:
        raise UnsupportedModelError(f"preprocessor_config.json has resample {values['resample']!r}; supported: 0 to 5")
    return values


def read_scaling(files: CheckpointFiles) -> Scaling:
    """How pixels become numbers.

    Raises:
        UnsupportedModelError: as `read_preprocessor`; or they are no numbers for three channels.
    """
    values = read_preprocessor(files)
    factor = values["rescale_factor"]
    if not isinstance(factor, int | float) or not factor > 0:
        raise UnsupportedModelError(f"preprocessor_config.json has rescale_factor {factor!r}; a number is needed")
    return Scaling(factor, _channels(values, "image_mean"), _channels(values, "image_std"))


def square_rule(files: CheckpointFiles, image_size: int) -> SquareRule:
    """How pictures become the square that the model sees.

    Args:
        files: the checkpoint's.
        image_size: side of the square by config.json.

    Raises:
        UnsupportedModelError: as `read_preprocessor`; or the file makes other sizes.
    """
    values = read_preprocessor(files)
    edge, is_squashed = _resize(values["size"])
    crops = bool(values.get("do_center_crop"))
    crop = values.get("crop_size")
    side = _square(crop, "crop_size") if crops else edge
    if side != image_size or not (crops or is_squashed):
        raise UnsupportedModelError(
            f"preprocessor_config.json has size {values['size']!r}"
            + (f" and crop_size {crop!r}" if crops else " and no crop")
            + f"; the model sees squares of {image_size} pixels"
        )
    return SquareRule(side=side, edge=edge, is_squashed=is_squashed, resample=values["resample"])


def naflex_rule(files: CheckpointFiles, patch_size: int) -> NaflexRule:
    """How many patches pictures become.

    Args:
        files: the checkpoint's.
        patch_size: by config.json.

    Raises:
        UnsupportedModelError: as `read_preprocessor`; or the patches are of another size.
    """
    values = read_preprocessor(files)
    if values["patch_size"] != patch_size:
        raise UnsupportedModelError(
            f"preprocessor_config.json has patch_size {values['patch_size']!r}, and config.json {patch_size}"
        )
    most = positive(values, "max_num_patches")
    return NaflexRule(patch_size=patch_size, max_num_patches=most, resample=values["resample"])


def _resize(size: object) -> tuple[int, bool]:
    """The length asked for, and whether of both sides. A number alone is of the shorter side."""
    if isinstance(size, int):
        return size, False
    if isinstance(size, dict) and set(size) == {"shortest_edge"}:
        return positive(size, "shortest_edge"), False
    return _square(size, "size"), True


def _square(size: object, name: str) -> int:
    if type(size) is int and size > 0:
        return size
    if isinstance(size, dict) and set(size) == {"height", "width"} and size["height"] == size["width"]:
        return positive(size, "height")
    raise UnsupportedModelError(
        f"preprocessor_config.json has {name} {size!r}; supported: shortest_edge, or equal height and width"
    )


def _channels(values: Mapping[str, Any], name: str) -> tuple[float, ...]:
    numbers = values[name]
    is_right = isinstance(numbers, Sequence) and len(numbers) == 3
    if not is_right or not all(isinstance(number, int | float) for number in numbers):
        raise UnsupportedModelError(f"preprocessor_config.json has {name} {numbers!r}; three numbers are needed")
    return tuple(numbers)
