"""The image processor of a checkpoint, read from its file.

In: preprocessor_config.json, or processor_config.json as transformers 5 writes it. Out: its values; what the file
leaves out is what transformers' class of the model has. Both processes read it; it imports no torch.

Source: transformers 5.23 `ImageProcessingMixin.get_image_processor_dict`, `BaseImageProcessor._set_attributes` and the
classes of CLIP, SigLIP, SigLIP 2 and Chinese-CLIP.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import CheckpointError, read_object

FILE = "preprocessor_config.json"
WHOLE = "processor_config.json"
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
_SIGLIP = _HALVES | {"size": {"height": 224, "width": 224}, "resample": 3}
_IMAGENET = _ALWAYS | {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
DINOV3 = "DINOv3ViTImageProcessor"
"""Scales pixels before it resizes them, in float32, as torch does."""
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "clip": _CLIP,
    "metaclip_2": _CLIP,
    "chinese_clip": _CLIP,
    "siglip": _SIGLIP,
    "siglip2": _HALVES | {"patch_size": 16, "max_num_patches": 256, "resample": 2},
    "BitImageProcessor": _CLIP,
    "SiglipImageProcessor": _SIGLIP,
    DINOV3: _IMAGENET | {"size": {"height": 224, "width": 224}, "resample": 2},
}
"""By model_type of two towers, and by the class of the image processor where a model is images alone."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """``(x · factor - mean) / std`` of red, green and blue, with the factor in float64."""

    factor: float
    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Square:
    """The square that an image becomes.

    Attributes:
        side: of what the model takes, pixels.
        edge: of the shorter side after the resize; of both where `is_squashed`.
        is_squashed: the resize is to a square, whatever the shape was.
        resample: Pillow's number of the filter.
    """

    side: int
    edge: int
    is_squashed: bool
    resample: int


def processor_class(folder: Path) -> str:
    """The class of a folder's image processor, of a model of images alone."""
    said = str(processor_part(folder, "image_processor").get("image_processor_type", ""))
    name = said.removesuffix("Fast").removesuffix("Pil")
    known = [one for one in DEFAULTS if one.endswith("ImageProcessor")]
    if name not in known:
        raise CheckpointError(f"{FILE} has image_processor_type {name!r}; supported: {', '.join(known)}")
    return name


def read_image_processor(folder: Path, kind: object) -> Mapping[str, Any]:
    """The image processor's values, filled in by `kind`, a key of `DEFAULTS`; null means absent."""
    given = {name: value for name, value in processor_part(folder, "image_processor").items() if value is not None}
    values = {**DEFAULTS[str(kind)], **given}
    if values.get("do_pad"):
        raise CheckpointError(f"{FILE} has do_pad true; supported: images that are resized and cropped alone")
    if not (values["do_resize"] and values["do_rescale"] and values["do_normalize"]):
        raise CheckpointError(f"{FILE} switches off do_resize, do_rescale or do_normalize; supported: all three on")
    if values["resample"] not in _FILTERS:
        raise CheckpointError(f"{FILE} has resample {values['resample']!r}; supported: 0 to 5")
    return values


def read_square(folder: Path, kind: object) -> Square:
    """The square of an image processor that makes one."""
    values = read_image_processor(folder, kind)
    edge, is_squashed = _resize(values["size"])
    crops = bool(values.get("do_center_crop"))
    if not (crops or is_squashed):
        raise CheckpointError(f"{FILE} has size {values['size']!r} and no crop; supported: what ends in a square")
    if kind == DINOV3 and (crops or values["resample"] not in (2, 3)):
        asked = f"do_center_crop {crops}, resample {values['resample']}"
        raise CheckpointError(f"{FILE} has {asked} of {DINOV3}; supported: false, and 2 or 3")
    side = _square(values.get("crop_size"), "crop_size") if crops else edge
    return Square(side, edge, is_squashed, values["resample"])


def _resize(size: object) -> tuple[int, bool]:
    """The length asked for, and whether of both sides. A number alone is of the shorter side."""
    if isinstance(size, int):
        return size, False
    if isinstance(size, dict) and set(size) == {"shortest_edge"}:
        return _square(size["shortest_edge"], "size"), False
    return _square(size, "size"), True


def _square(size: object, name: str) -> int:
    if type(size) is int and size > 0:
        return size
    if isinstance(size, dict) and set(size) == {"height", "width"} and size["height"] == size["width"]:
        return _square(size["height"], name)
    raise CheckpointError(f"{FILE} has {name} {size!r}; supported: shortest_edge, or equal height and width")


def processor_part(folder: Path, name: str) -> Mapping[str, Any]:
    """A part of processor_config.json, `image_processor` or `feature_extractor`; else the file of its own."""
    own = read_object(folder / WHOLE).get(name) if (folder / WHOLE).exists() else None
    return own if isinstance(own, dict) else read_object(folder / FILE)


def read_scaling(folder: Path, kind: object) -> Scaling:
    """The scaling of pixels."""
    values = read_image_processor(folder, kind)
    factor = values["rescale_factor"]
    if not isinstance(factor, int | float) or not factor > 0:
        raise CheckpointError(f"{FILE} has rescale_factor {factor!r}; a number above 0 is needed")
    return Scaling(factor, _channels(values, "image_mean"), _channels(values, "image_std"))


def _channels(values: Mapping[str, Any], name: str) -> tuple[float, ...]:
    numbers = values[name]
    is_right = isinstance(numbers, Sequence) and len(numbers) == 3
    if not is_right or not all(isinstance(number, int | float) for number in numbers):
        raise CheckpointError(f"{FILE} has {name} {numbers!r}; three numbers are needed")
    return tuple(numbers)
