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


def read_image_processor(folder: Path, model_type: object) -> Mapping[str, Any]:
    """The image processor's values, defaults filled in; null means absent.

    Raises:
        CheckpointError: there is no such file, it is damaged, or it asks for what is not supported.
    """
    own = read_object(folder / WHOLE).get("image_processor") if (folder / WHOLE).exists() else None
    found = own if isinstance(own, dict) else read_object(folder / FILE)
    given = {name: value for name, value in found.items() if value is not None}
    values = {**DEFAULTS[str(model_type)], **given}
    if not (values["do_resize"] and values["do_rescale"] and values["do_normalize"]):
        raise CheckpointError(f"{FILE} switches off do_resize, do_rescale or do_normalize; supported: all three on")
    if values["resample"] not in _FILTERS:
        raise CheckpointError(f"{FILE} has resample {values['resample']!r}; supported: 0 to 5")
    return values


def read_scaling(folder: Path, model_type: object) -> Scaling:
    """The scaling of pixels.

    Raises:
        CheckpointError: as `read_image_processor`; or they are no numbers for three channels.
    """
    values = read_image_processor(folder, model_type)
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
